#include "config/table/habits.h"

namespace cnntrain::config {
namespace {

constexpr std::uint32_t kEvaluates = kV | kE;

constexpr std::string_view kNoDownloads =
    "weights are not downloaded; give the file of a checkpoint: cnntrain train --data-dir PHOTOS --init-path FILE";
constexpr std::string_view kNoGpu =
    "there is no GPU backend; leave the option out, or choose the processor: cnntrain train --data-dir PHOTOS "
    "--backend cpu";
constexpr std::string_view kOneFolder =
    "one folder holds both splits, as PHOTOS/train/<class>/ and PHOTOS/validation/<class>/ (or val/): cnntrain train "
    "--data-dir PHOTOS";
constexpr std::string_view kValidationCommand =
    "a run is evaluated by a command of its own: cnntrain validation --restore-path RUN";
constexpr std::string_view kSixteenBits =
    "16 bits are bfloat16 on a processor: --precision 16.32 (weights in 32 bits) or 16.16 (weights in 16 bits, too)";
constexpr std::string_view kSteps =
    "a rate that drops at positions of the run is --lr-schedule stepped --learning-rate-schedule 0.5,0.75";
constexpr std::string_view kHeadFollowsData =
    "the network has an output for each class of the data: cnntrain train --data-dir PHOTOS";
constexpr std::string_view kWhichRun = "name the folder of the run: cnntrain restore --restore-path RUN";
constexpr std::string_view kCheckpointFile =
    "--model is a family (resnet, resnext, efficientnet); weights come from a file: cnntrain train --data-dir PHOTOS "
    "--model resnet --model-size 50 --init-path FILE";
constexpr std::string_view kProcesses =
    "processes are started by poprun, or by mpirun: cnntrain poprun --num-instances 2 --num-replicas 2 train.py "
    "--data-dir PHOTOS";
constexpr std::string_view kWords = "options start with --: cnntrain train --data-dir PHOTOS --epochs 10";
constexpr std::string_view kWordsOfRun =
    "words are the run and its photos, options start with --: cnntrain inference RUN PHOTO.jpg --top-classes 3";
constexpr std::string_view kCutmix =
    "--cutmix-lambda is the share of an image that cutmix keeps: --cutmix-lambda 0.85 --cutmix-version 1";

constexpr std::string_view kRandAugment =
    "--rand-augment takes the number of operations and their magnitude: --rand-augment 2,9";
constexpr std::string_view kLastRate =
    "cosine ends at 0; a schedule with another end: --lr-schedule polynomial_decay_lr --abs-end-learning-rate 1e-5";
constexpr std::string_view kOneSize =
    "training and evaluation share --image-size; in evaluation, --crop-fraction is crop size / resized size: "
    "--image-size 224 --crop-fraction 0.875";
constexpr std::string_view kByItself =
    "the program chooses layouts, kernels and buffers by itself; leave the option out: cnntrain train --data-dir "
    "PHOTOS";
constexpr std::string_view kMeasures =
    "loss and accuracies are measured in every run, also by class; leave the option out: cnntrain train --data-dir "
    "PHOTOS";
constexpr std::string_view kLoss =
    "the loss is the cross-entropy; leave the option out, or change it by --label-smoothing 0.1 or --class-weights "
    "balanced";
constexpr std::string_view kDropPath =
    "EfficientNets leave out whole blocks, by the share that survives at the deepest one (1 - the rate of drop path): "
    "--model efficientnet --block-survival-prob 0.8; other networks have no such option";
constexpr std::string_view kClipping =
    "gradients are not clipped, but for BERT by --optimizer adamw; an optimiser that bounds each update by the "
    "weights' norm: --optimiser LAMB --abs-learning-rate 0.01";

constexpr Habit kHabits[] = {
    // Words without an option.
    {kNoFlag, "*=*", "", kWords, kT},
    {kNoFlag, "*", "--data-dir {}", {}, kT},
    {kNoFlag, kAny, "", kWords, kT},
    {kNoFlag, "*=*", "", kWordsOfRun, kE},
    {kNoFlag, "*", "--restore-path {}", {}, kV | kE | kR},
    {kNoFlag, "*", "--data-dir {}", {}, kE},
    {kNoFlag, kSeveral, "--restore-path {value} --photos {others}", {}, kE},
    {kNoFlag, kSeveral, "--photos {values}", {}, kE},
    {kNoFlag, kSeveral, "--restore-path {value} --data-dir {others}", {}, kE},
    {kNoFlag, kAny, "", kWordsOfRun, kE},
    {"--data-dir", kSeveral, "--photos {values}", {}, kE},
    // Learning rate and optimiser.
    {"--lr", "X", "--abs-learning-rate {}"},
    {"--lr", "X", "--base-learning-rate {}"},  // BERT's option for the rate itself
    {"--learning-rate", "X", "--abs-learning-rate {}"},
    {"--learning-rate", "X", "--base-learning-rate {}"},
    {"--lr0", "X", "--abs-learning-rate {}"},
    {"--wd", "X", "--weight-decay {}"},
    {"--wd", "X", "--weight-decay-rate {}"},
    {"--weight-decay", "X", "--weight-decay-rate {}"},
    {"--opt", "*", "--optimiser {}"},
    {"--optimizer", "*", "--optimiser {}"},
    {"--optimiser", "adam", "--optimiser AdamW --weight-decay 0"},  // without decay they are the same
    {"--sched", "*", "--lr-schedule {}"},
    {"--scheduler", "*", "--lr-schedule {}"},
    {"--lr-scheduler", "*", "--lr-schedule {}"},
    {"--lr-scheduler-type", "*", "--lr-schedule {}"},
    {"--lr-schedule", "cosine", "--lr-schedule cosine_decay"},
    {"--lr-schedule", "cosineannealing*", "--lr-schedule cosine"},
    {"--lr-schedule", "cosine-annealing", "--lr-schedule cosine"},
    {"--lr-schedule", "cosine_annealing", "--lr-schedule cosine"},
    {"--lr-schedule", "step", "", kSteps},
    {"--lr-schedule", "steplr", "", kSteps},
    {"--lr-schedule", "multistep", "", kSteps},
    {"--lr-schedule", "multisteplr", "", kSteps},
    {"--lr-step-size", kAny, "", kSteps},
    {"--lr-steps", kAny, "", kSteps},
    {"--milestones", kAny, "", kSteps},
    {"--decay-epochs", kAny, "", kSteps},
    {"--decay-milestones", kAny, "", kSteps},
    {"--lr-gamma", "X", "--learning-rate-decay {}"},
    {"--gamma", "X", "--learning-rate-decay {}"},
    {"--decay-rate", "X", "--learning-rate-decay {}"},
    {"--cos-lr", kNone, "--lr-schedule cosine"},
    {"--min-lr", kAny, "", kLastRate, kT},
    {"--warmup", "X", "--warmup-epochs {}"},
    {"--lr-warmup-epochs", "X", "--warmup-epochs {}"},
    {"--clip-grad", kAny, "", kClipping, kT},
    {"--clip-grad-norm", kAny, "", kClipping, kT},
    {"--max-grad-norm", kAny, "", kClipping, kT},
    {"--gradient-clip-val", kAny, "", kClipping, kT},
    {"--loss", kAny, "", kLoss, kT},
    {"--criterion", kAny, "", kLoss, kT},
    {"--metrics", kAny, "", kMeasures},
    // Augmentation.
    {"--aa", kAny, "", kRandAugment, kT},
    {"--auto-augment", kAny, "", kRandAugment, kT},
    {"--reprob", "X", "--random-erasing {}"},
    {"--random-erase", "X", "--random-erasing {}"},
    {"--cutmix", "*", "", kCutmix},
    {"--drop-path", kAny, "", kDropPath, kT},
    {"--drop-path-rate", kAny, "", kDropPath, kT},
    {"--drop-connect", kAny, "", kDropPath, kT},
    // Batches and length.
    {"-e", "X", "--epochs {}"},
    {"--batch", "#", "--micro-batch-size {}"},
    {"--bs", "#", "--micro-batch-size {}"},
    {"-b", "#", "--micro-batch-size {}"},
    {"--train-batch-size", "#", "--micro-batch-size {}"},
    {"--per-device-train-batch-size", "#", "--micro-batch-size {}"},
    {"--accum", "#", "--gradient-accumulation-count {}"},
    {"--grad-accum-steps", "#", "--gradient-accumulation-count {}"},
    {"--gradient-accumulation-steps", "#", "--gradient-accumulation-count {}"},
    {"--accumulate-grad-batches", "#", "--gradient-accumulation-count {}"},
    {"--max-epochs", "X", "--epochs {}"},
    {"--num-epochs", "X", "--epochs {}"},
    {"--num-train-epochs", "X", "--epochs {}"},
    {"--max-steps", "#", "--iterations {}"},
    {"--patience", "#", "--early-stop {}"},
    {"--early-stopping", "#", "--early-stop {}"},
    {"--early-stopping-patience", "#", "--early-stop {}"},
    {"--eval-every", "X", "--validate-every {}"},
    {"--val-every", "X", "--validate-every {}"},
    {"--val-interval", "X", "--validate-every {}"},
    {"--save-every", "X", "--epochs-per-ckpt {}"},
    {"--save-period", "X", "--epochs-per-ckpt {}"},
    {"--checkpoint-every", "X", "--epochs-per-ckpt {}"},
    {"--log-interval", "#", "--log-freq {}"},
    {"--print-freq", "#", "--log-freq {}"},
    {"--logging-steps", "#", "--log-freq {}"},
    {"--evaluation-strategy", "epoch", "--validate-every 1"},
    {"--evaluation-strategy", "no", "--no-validation"},
    {"--eval-strategy", "epoch", "--validate-every 1"},
    {"--eval-strategy", "no", "--no-validation"},
    {"--save-total-limit", "#", "--keep-ckpts {}"},
    {"--checkpoint-hist", "#", "--keep-ckpts {}"},
    {"--load-best-model-at-end", kNone, "--keep-best accuracy"},
    {"--save-best-only", kNone, "--keep-best accuracy"},
    {"--overwrite-output-dir", kNone, "--overwrite"},
    {"--model-ema", kNone, "", "the decay of the average is named: --ema-decay 0.999"},
    {"--model-ema-decay", "X", "--ema-decay {}"},
    // Networks and weights.
    {"--model", "resnet#", "--model resnet --model-size {}"},
    {"--model", "resnext#_32x4d", "--model resnext --model-size {} --convolution-groups 32 --group-dim 4"},
    {"--model", "resnext#", "--model resnext --model-size {}"},
    {"--model", "efficientnet_b#", "--model efficientnet --model-size B{}"},
    {"--model", "efficientnet-b#", "--model efficientnet --model-size B{}"},
    {"--model", "*.*", "", kCheckpointFile},  // a file, or the tag of weights in timm's names
    {"-m", "*", "--model {}"},
    {"--arch", "*", "--model {}"},
    {"-a", "*", "--model {}"},
    {"--depth", "#", "--model-size {}"},
    {"--num-classes", "#", "", kHeadFollowsData},
    {"--nb-classes", "#", "--num-classes {}"},
    {"--nb-classes", "#", "", kHeadFollowsData},
    {"--pretrained", kNone, "", kNoDownloads},
    {"--pretrained", "true", "", kNoDownloads},
    {"--pretrained", "*", "--init-path {}"},
    {"--weights", kNone, "", kNoDownloads},
    {"--weights", "default", "", kNoDownloads},
    {"--weights", "imagenet*", "", kNoDownloads},
    {"--weights", "*_weights.*", "", kNoDownloads},
    {"--weights", "*", "--restore-path {}", {}, kEvaluates},
    {"--weights", "*", "--init-path {}", {}, kT},
    {"--checkpoint", "*", "--restore-path {}", {}, kEvaluates},
    {"--checkpoint", "*", "--init-path {}", {}, kT},
    {"--ckpt", "*", "--restore-path {}", {}, kEvaluates},
    {"--ckpt-path", "last", "", kWhichRun},
    {"--ckpt-path", "*", "--restore-path {}"},
    {"--run", "*", "--restore-path {}", {}, kEvaluates | kR},
    {"-r", "*", "--restore-path {}", {}, kEvaluates | kR},
    {"--model-name-or-path", kAny, "", kCheckpointFile},
    {"--resume", kNone, "", kWhichRun},
    {"--resume", "*", "--restore-path {}"},
    {"--resume", "*", "--restore-dir {}"},
    // Data.
    {"--imgsz", "#", "--image-size {}"},
    {"--img", "#", "--image-size {}"},
    {"--img-size", "#", "--image-size {}"},
    {"--input-size", "#", "--image-size {}"},
    {"--size", "#", "--image-size {}"},
    {"--train-crop-size", "#", "--image-size {}"},
    {"--val-crop-size", kAny, "", kOneSize},
    {"--val-resize-size", kAny, "", kOneSize},
    {"--crop-pct", "X", "--crop-fraction {}"},
    {"-d", "*", "--data-dir {}"},
    {"--data", "*", "--data-dir {}"},
    {"--root", "*", "--data-dir {}"},
    {"--data-path", "*", "--data-dir {}"},
    {"--dataset", "cifar#", "--dataset cifar-{}"},
    {"--dataset", "imagefolder", "--dataset folder"},
    {"--dataset", "*/*", "--data-dir {value}"},
    {"--source", "*", "--data-dir {}", {}, kEvaluates},
    {"--input", "*", "--data-dir {}", {}, kEvaluates},
    {"--images", "*", "--data-dir {}", {}, kEvaluates},
    {"--train-dir", kAny, "", kOneFolder},
    {"--traindir", kAny, "", kOneFolder},
    {"--val-dir", "*", "--validation-file {}"},
    {"--val-dir", kAny, "", kOneFolder},
    {"--valdir", kAny, "", kOneFolder},
    {"--val-data", kAny, "", kOneFolder},
    {"--val-split", "X", "--validation-fraction {}"},
    {"--val-split", kAny, "", kOneFolder},
    {"--train-split", kAny, "", kOneFolder},
    {"--validation-split", "X", "--validation-fraction {}"},
    {"--valid-pct", "X", "--validation-fraction {}"},
    {"--test-size", "X", "--validation-fraction {}"},
    {"--eval", kAny, "", kValidationCommand, kT},
    {"--evaluate", kAny, "", kValidationCommand, kT},
    {"--test-only", kAny, "", kValidationCommand, kT},
    {"--eval-only", kAny, "", kValidationCommand, kT},
    {"--do-eval", kAny, "", kValidationCommand, kT},
    {"--do-predict", kAny, "",
     "classes are found by a command of its own: cnntrain inference --restore-path RUN "
     "--data-dir PHOTOS",
     kT},
    {"--do-train", kAny, "", "the command says it; leave the option out: cnntrain train --data-dir PHOTOS", kT},
    // The machine, precision, output.
    {"--workers", "#", "--input-threads {}"},
    {"--num-workers", "#", "--input-threads {}"},
    {"-j", "#", "--input-threads {}"},
    {"--device", "cpu", "--backend cpu"},
    {"--device", kAny, "", kNoGpu},
    {"--gpu", kAny, "", kNoGpu},
    {"--gpus", kAny, "", kNoGpu},
    {"--cuda", kAny, "", kNoGpu},
    {"--no-cuda", kNone, "--backend cpu"},
    {"--accelerator", "cpu", "--backend cpu"},
    {"--accelerator", kAny, "", kNoGpu},
    {"--devices", kAny, "", kProcesses},
    {"--channels-last", kNone, "", kByItself},
    {"--compile", kNone, "", kByItself},
    {"--torchcompile", kAny, "", kByItself},
    {"--torchscript", kNone, "", kByItself},
    {"--pin-mem", kNone, "", kByItself},
    {"--pin-memory", kNone, "", kByItself},
    {"--nproc", kAny, "", kProcesses},
    {"--nproc-per-node", kAny, "", kProcesses},
    {"--world-size", kAny, "", kProcesses},
    {"--amp", kNone, "--precision 16.32"},
    {"--bf16", kNone, "--precision 16.32"},
    {"--fp16", kAny, "", kSixteenBits},
    {"--half", kAny, "", kSixteenBits},
    {"--precision", "bf16", "--precision 16.32"},
    {"--precision", "bfloat16", "--precision 16.32"},
    {"--precision", "bf16-mixed", "--precision 16.32"},
    {"--precision", "bf16-true", "--precision 16.16"},
    {"--precision", "32", "--precision 32.32"},
    {"--precision", "fp32", "--precision 32.32"},
    {"--precision", "float32", "--precision 32.32"},
    {"--precision", "32-true", "--precision 32.32"},
    {"--precision", "16", "", kSixteenBits},
    {"--precision", "fp16", "", kSixteenBits},
    {"--precision", "float16", "", kSixteenBits},
    {"--precision", "half", "", kSixteenBits},
    {"--output", "*.csv", "--predictions {value}", {}, kE},
    {"--output", "*.jsonl", "--predictions {value}", {}, kE},
    {"--output", "*", "--logs-path {}"},
    {"-o", "*", "--logs-path {}"},
    {"--output-dir", "*", "--logs-path {}"},
    {"--save-dir", "*", "--logs-path {}"},
    {"--log-wandb", kNone, "--wandb"},
    {"-v", kNone, "--verbose"},
    {"--verbose", "0", "--quiet"},
    {"--verbose", "#", "--verbose"},
    {"-q", kNone, "--quiet"},
    {"--silent", kNone, "--quiet"},
    {"--topk", "#", "--top-classes {}"},
    {"--top-k", "#", "--top-classes {}"},
};

constexpr std::string_view kFilesOfRun =
    "a run reports in its folder: RUN/log.txt, RUN/training.csv and RUN/validation.csv; see cnntrain help run-folders";
constexpr std::string_view kPage =
    "a page about a run, with its curves, is written by cnntrain report RUN; cnntrain report RUN EARLIER_RUN compares "
    "them";
constexpr std::string_view kMachine =
    "the machine is described by cnntrain --version --verbose, data by cnntrain dataset inspect DIR";
constexpr std::string_view kNetworks =
    "networks are chosen by --model and --model-size: cnntrain train --data-dir PHOTOS --model resnet --model-size 50";
constexpr std::string_view kKindOfDataset =
    "it is a kind of dataset: cnntrain dataset inspect DIR; see cnntrain dataset";
constexpr std::string_view kCompletion =
    "a script that completes lines in a shell is printed by cnntrain help --completion bash (or fish, zsh)";
constexpr std::string_view kNoSearch =
    "rates are not searched; what a line leaves open follows from the number of photos: cnntrain train --data-dir "
    "PHOTOS "
    "--dry-run";
constexpr std::string_view kNoSetup =
    "nothing needs to be set up; a training makes its own folder: cnntrain train --data-dir PHOTOS --logs-path RUN";

constexpr CommandHabit kCommandHabits[] = {
    {"predict", "inference"},
    {"classify", "inference"},
    {"infer", "inference"},
    {"eval", "validation"},
    {"evaluate", "validation"},
    {"val", "validation"},
    {"validate", "validation"},
    {"fit", "train"},
    {"quickstart", "demo"},
    {"tutorial", "demo"},
    {"resume", "restore"},
    {"continue", "restore"},
    {"bench", "benchmark"},
    {"version", "--version"},
    {"-v", "--version"},
    {"run", "", "say what it does: cnntrain train --data-dir PHOTOS; several processes: cnntrain poprun"},
    {"status", "", kFilesOfRun},
    {"log", "", kFilesOfRun},
    {"logs", "", kFilesOfRun},
    {"show", "", kFilesOfRun},
    {"init", "", kNoSetup},
    {"new", "", kNoSetup},
    {"list", "", "cnntrain help lists commands and topics, cnntrain train --help options and networks"},
    {"ls", "", "cnntrain help lists commands and topics, cnntrain train --help options and networks"},
    {"models", "", kNetworks},
    {"list-models", "", kNetworks},
    {"--list-models", "", kNetworks},
    {"plot", "", kPage},
    {"summary", "", kPage},
    {"compare", "", kPage},
    {"diff", "", kPage},
    {"inspect", "", kKindOfDataset},
    {"verify", "", kKindOfDataset},
    {"suspects", "", kKindOfDataset},
    {"completion", "", kCompletion},
    {"completions", "", kCompletion},
    {"man", "", "a manual page is printed by cnntrain help --man PAGE, the names of all pages by cnntrain help --man"},
    {"tune", "", kNoSearch},
    {"lr-find", "", kNoSearch},
    {"lr_find", "", kNoSearch},
    {"configs", "", "a name that does not exist prints all names of configurations: cnntrain train --config list"},
    {"download", "", "nothing is downloaded; images to try with are made by: cnntrain dataset cifar --output-dir DIR"},
    {"info", "", kMachine},
    {"devices", "", kMachine},
    {"doctor", "", kMachine},
    {"checks", "", kMachine},
    {"config", "", "the values of a line, and who sets them: cnntrain train --data-dir PHOTOS --print-config"},
    {"stop", "", "a run stops, and saves its state, at Ctrl-C or SIGTERM: kill PID; it goes on with cnntrain restore"},
    {"serve", "",
     "there is no server; photos are classified by cnntrain inference --restore-path RUN --data-dir PHOTOS"},
    {"tensorboard", "", "the program tensorboard shows the curves of a run: tensorboard --logdir RUN"},
    {"test", "",
     "a run's checkpoints are evaluated by cnntrain validation --restore-path RUN, photos classified by cnntrain "
     "inference --restore-path RUN --data-dir PHOTOS"},
    {"finetune", "",
     "fine-tuning is training that starts from a checkpoint: cnntrain train --data-dir PHOTOS --init-path FILE"},
    {"export", "",
     "a network is written for other programs by cnntrain convert RUN --to onnx (or timm, torchvision, hf); "
     "checkpoints are safetensors files, which other programs read"},
};

}  // namespace

std::span<const Habit> habits() {
    return kHabits;
}

std::span<const CommandHabit> command_habits() {
    return kCommandHabits;
}

}  // namespace cnntrain::config
