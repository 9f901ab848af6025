The help of the commands that write and inspect data sets.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain dataset
  usage: cnntrain dataset <kind> [options]
  
    cifar     write a small, learnable generated set in CIFAR-10's format
    photos    write small, learnable photos of shapes in class folders
    imagenet  write TFRecord files from folders of images (also imagenet_to_gcs.py)
    bert      write TFRecord files for BERT pretraining from text (also create_pretraining_data.py)
    inspect   show the contents of TFRecord or CIFAR files: records, keys, sizes, labels
    verify    check that a data set is complete and undamaged: checksums, missing files, images
    suspects  list samples of a run's data that look wrongly labelled, and near-duplicates across splits
  
  cnntrain dataset <kind> --help lists the options.
  $ cnntrain dataset --help
  usage: cnntrain dataset <kind> [options]
  
    cifar     write a small, learnable generated set in CIFAR-10's format
    photos    write small, learnable photos of shapes in class folders
    imagenet  write TFRecord files from folders of images (also imagenet_to_gcs.py)
    bert      write TFRecord files for BERT pretraining from text (also create_pretraining_data.py)
    inspect   show the contents of TFRecord or CIFAR files: records, keys, sizes, labels
    verify    check that a data set is complete and undamaged: checksums, missing files, images
    suspects  list samples of a run's data that look wrongly labelled, and near-duplicates across splits
  
  cnntrain dataset <kind> --help lists the options.
  $ cnntrain dataset cifar --help
  usage: cnntrain dataset cifar [options]
  
    --output-dir VALUE            folder to write cifar-10-batches-bin into
    --train N                     training images (default 10000)
    --test N                      test images (default 2000)
    --classes N                   classes, 2 to 10 (default 10)
    --seed N                      of the images (default 0)
    --overwrite                   replace files that this command did not write, or that were changed
  $ cnntrain dataset photos --help
  usage: cnntrain dataset photos [options]
  
    --output-dir VALUE            folder to write train/<class>/ and validation/<class>/ into
    --train N                     training photos (default 1200)
    --validation N                validation photos (default 240)
    --seed N                      of the photos (default 0)
    --overwrite                   replace photos that were generated with other options
  $ cnntrain dataset imagenet --help
  usage: cnntrain dataset imagenet [options]
  
    --raw-data-dir VALUE          images: in its folders train and validation (or val); without these,
                                  all images are for training
    --validation-dir VALUE        images of the validation split, if they are elsewhere
    --output-dir VALUE            folder to write the TFRecord files into (also --local_scratch_dir)
    --labels VALUE                file with a training image and its class per line, instead of class
                                  folders
    --validation-labels VALUE     the same for validation, or the class of each image in sorted order
                                  (default: synset_labels.txt)
    --classes VALUE               file with one class per line, in label order (default: all classes,
                                  sorted)
    --synset-names VALUE          file with a class and its name in words per line
    --bounding-boxes VALUE        CSV file (name, xmin, ymin, xmax, ymax) or folder of Pascal VOC XML
                                  files
    --validation-fraction N       share of the training images to hold out if there is no validation
                                  folder (default 0)
    --train-shards VALUE          files of the training split (default: 1 for each 1251 images, at
                                  most 1024)
    --validation-shards VALUE     files of the validation split (default: 1 for each 390 images, at
                                  most 128)
    --seed N                      seed of the order of the images (default 0)
    --threads N                   threads that convert images; 0: one per core (default 0)
    --max-skipped VALUE           maximum number of damaged images (default: 1 % of the images, but at
                                  least 10)
    --overwrite                   remove the files of another conversion from the output folder,
                                  replace changed ones
  $ cnntrain dataset bert --help
  usage: cnntrain dataset bert [options]
  
    --input-file VALUE            text files (names or patterns, separated by commas): one sentence
                                  per line, blank lines between documents
    --output-file VALUE           TFRecord files to write (separated by commas), filled in turn
    --vocab-file VALUE            WordPiece vocabulary: one piece per line, or a tokenizer.json
    --do-lower-case               convert to lower case and strip accents, for uncased vocabularies
    --sequence-length N           tokens per sequence (default 128)
    --mask-tokens N               maximum number of masked tokens per sequence (default 20)
    --seed N                      seed of all random choices; the reference program makes the same
                                  records from it (default 1984)
    --duplication-factor N        times that each document is used, with new cuts and masks each time
                                  (default 6)
    --mlm-prob X                  share of the tokens that are masked (default 0.15)
    --short-seq-prob X            share of the documents that are cut to shorter sequences (default
                                  0.1)
    --pad-position-value N        position of padding in records made with --remask (default 384)
    --remask                      masked tokens in front, as --static-mask reads them
    --packed                      as many sequences in a record as fit into --sequence-length, for
                                  cnntrain pretrain --packed
    --max-samples N               no effect, as in the script (default -1)
    --threads N                   0: one per core (default 0)
    --overwrite                   replace output files of another conversion, and changed ones
  $ cnntrain dataset inspect --help
  usage: cnntrain dataset inspect PATH [options]
  
    PATH                          a TFRecord or CIFAR file, or a folder of them
    --records VALUE               number of records to read from each file (default: all)
    --labels                      list every label with its number of records
    --json                        print JSON, always with all labels
    --threads N                   files read in parallel; 0: one per core (default 0)
  $ cnntrain dataset verify --help
  usage: cnntrain dataset verify PATH [options]
  
    PATH                          a folder of TFRecord or CIFAR files, or one file
    --decode                      decode every image, too; a warning counts as an error
    --threads N                   files read in parallel; 0: one per core (default 0)
  $ cnntrain dataset suspects --help
  usage: cnntrain dataset suspects RUN [options]
  
    RUN                           folder of a run, whose latest checkpoint is taken, or one of its
                                  checkpoints
    --data-dir VALUE              where the data are now; without it, where the run had them
    --csv VALUE                   write the scores of all samples to this file
    --duplicates-csv VALUE        write the near-duplicates to this file
    --overwrite                   replace files that are no such tables
    --most N                      lines of each list; 0: all (default 50)
    --neighbours N                nearest training samples whose labels are compared (default 10)
    --least-similarity X          of near-duplicates: cosine of centred features (default 0.999)
    --threads N                   threads that compute; 0: one per core (default 0)
  
  See cnntrain help features.
