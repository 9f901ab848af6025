#include "options/table/habits.h"

namespace cnntrain::options {
namespace {

constexpr std::uint32_t kEvaluates = kV | kE;

constexpr Habit kHabits[] = {
    // Words without an option.
    {kNoFlag, "*", "--data-dir {}", kT},
    {kNoFlag, "*", "--restore-path {}", kV | kE | kR},
    {kNoFlag, "*", "--data-dir {}", kE},
    {kNoFlag, kSeveral, "--restore-path {value} --photos {others}", kE},
    {kNoFlag, kSeveral, "--photos {values}", kE},
    {kNoFlag, kSeveral, "--restore-path {value} --data-dir {others}", kE},
    {"--data-dir", kSeveral, "--photos {values}", kE},
    // Learning rate and optimiser.
    {"--lr --learning-rate --lr0", "X", "--abs-learning-rate {}"},
    {"--lr --learning-rate", "X", "--base-learning-rate {}"},  // BERT's option for the rate itself
    {"--wd", "X", "--weight-decay {}"},
    {"--wd --weight-decay", "X", "--weight-decay-rate {}"},
    {"--opt --optimizer", "*", "--optimiser {}"},
    {"--optimiser", "adam", "--optimiser AdamW --weight-decay 0"},  // without decay they are the same
    {"--sched --scheduler --lr-scheduler --lr-scheduler-type", "*", "--lr-schedule {}"},
    {"--lr-schedule", "cosine", "--lr-schedule cosine_decay"},
    {"--lr-schedule", "cosineannealing*", "--lr-schedule cosine"},
    {"--lr-schedule", "cosine-annealing", "--lr-schedule cosine"},
    {"--lr-schedule", "cosine_annealing", "--lr-schedule cosine"},
    {"--lr-gamma --gamma --decay-rate", "X", "--learning-rate-decay {}"},
    {"--cos-lr", kNone, "--lr-schedule cosine"},
    {"--warmup --lr-warmup-epochs", "X", "--warmup-epochs {}"},
    // Augmentation.
    {"--reprob --random-erase", "X", "--random-erasing {}"},
    // Batches and length.
    {"-e --max-epochs --num-epochs --num-train-epochs", "X", "--epochs {}"},
    {"--batch --bs -b --train-batch-size --per-device-train-batch-size", "#", "--micro-batch-size {}"},
    {"--accum --grad-accum-steps --gradient-accumulation-steps --accumulate-grad-batches", "#",
     "--gradient-accumulation-count {}"},
    {"--max-steps", "#", "--iterations {}"},
    {"--patience --early-stopping --early-stopping-patience", "#", "--early-stop {}"},
    {"--eval-every --val-every --val-interval", "X", "--validate-every {}"},
    {"--save-every --save-period --checkpoint-every", "X", "--epochs-per-ckpt {}"},
    {"--log-interval --print-freq --logging-steps", "#", "--log-freq {}"},
    {"--evaluation-strategy --eval-strategy", "epoch", "--validate-every 1"},
    {"--evaluation-strategy --eval-strategy", "no", "--no-validation"},
    {"--save-total-limit --checkpoint-hist", "#", "--keep-ckpts {}"},
    {"--load-best-model-at-end --save-best-only", kNone, "--keep-best accuracy"},
    {"--overwrite-output-dir", kNone, "--overwrite"},
    {"--model-ema-decay", "X", "--ema-decay {}"},
    // Networks and weights.
    {"--model", "*.*", "--init-path {value}", kT},
    {"--model", "*.*", "--restore-path {value}", kEvaluates},
    {"--model", "resnet#", "--model resnet --model-size {}"},
    {"--model", "resnext#_32x4d", "--model resnext --model-size {} --convolution-groups 32 --group-dim 4"},
    {"--model", "resnext#", "--model resnext --model-size {}"},
    {"--model", "efficientnet_b#", "--model efficientnet --model-size B{}"},
    {"--model", "efficientnet-b#", "--model efficientnet --model-size B{}"},
    {"--model", "efficientnet_lite#", "--model efficientnet --model-size Lite{}"},
    {"--model", "efficientnet-lite#", "--model efficientnet --model-size Lite{}"},
    {"--model", "efficientnetv2_*", "--model efficientnet --model-size V2-{}"},
    {"--model", "efficientnet_v2_*", "--model efficientnet --model-size V2-{}"},
    {"-m --arch -a", "*", "--model {}"},
    {"--depth", "#", "--model-size {}"},
    {"--nb-classes", "#", "--num-classes {}"},
    {"--pretrained", kNone, "--init-path (default)", kT},
    {"--pretrained", kNone, "--restore-path (default)", kEvaluates},
    {"--pretrained", "*", "--init-path {}"},
    {"--weights --checkpoint --ckpt", "*", "--restore-path {}", kEvaluates},
    {"--weights --checkpoint", "*", "--init-path {}", kT},
    {"--ckpt-path --resume", "*", "--restore-path {}"},
    {"--run -r", "*", "--restore-path {}", kEvaluates | kR},
    {"--resume", "*", "--restore-dir {}"},
    // Data.
    {"--imgsz --img --img-size --input-size --size --train-crop-size", "#", "--image-size {}"},
    {"--crop-pct", "X", "--crop-fraction {}"},
    {"-d --data --root --data-path", "*", "--data-dir {}"},
    {"--dataset", "cifar#", "--dataset cifar-{}"},
    {"--dataset", "imagefolder", "--dataset folder"},
    {"--dataset", "*/*", "--data-dir {value}"},
    {"--source --input --images", "*", "--data-dir {}", kEvaluates},
    {"--val-dir", "*", "--validation-file {}"},
    {"--val-split --validation-split --valid-pct --test-size", "X", "--validation-fraction {}"},
    // The machine, precision, output.
    {"--workers --num-workers -j", "#", "--input-threads {}"},
    {"--device --accelerator", "cpu", "--backend cpu"},
    {"--no-cuda", kNone, "--backend cpu"},
    {"--amp --bf16", kNone, "--precision 16.32"},
    {"--precision", "bf16", "--precision 16.32"},
    {"--precision", "bfloat16", "--precision 16.32"},
    {"--precision", "bf16-mixed", "--precision 16.32"},
    {"--precision", "bf16-true", "--precision 16.16"},
    {"--precision", "32", "--precision 32.32"},
    {"--precision", "fp32", "--precision 32.32"},
    {"--precision", "float32", "--precision 32.32"},
    {"--precision", "32-true", "--precision 32.32"},
    {"--output", "*.csv", "--predictions {value}", kE},
    {"--output", "*.jsonl", "--predictions {value}", kE},
    {"--output -o --output-dir --save-dir", "*", "--logs-path {}"},
    {"--log-wandb", kNone, "--wandb"},
    {"-v", kNone, "--verbose"},
    {"--verbose", "0", "--quiet"},
    {"--verbose", "#", "--verbose"},
    {"-q --silent", kNone, "--quiet"},
    {"--topk --top-k", "#", "--top-classes {}"},
};

constexpr CommandHabit kCommandHabits[] = {
    {"predict", "inference"},   {"classify", "inference"}, {"infer", "inference"},     {"eval", "validation"},
    {"evaluate", "validation"}, {"val", "validation"},     {"validate", "validation"}, {"fit", "train"},
    {"quickstart", "demo"},     {"tutorial", "demo"},      {"resume", "restore"},      {"continue", "restore"},
    {"download", "weights"},    {"models", "weights"},     {"bench", "benchmark"},     {"version", "--version"},
    {"-v", "--version"},
};

}  // namespace

std::span<const Habit> habits() {
    return kHabits;
}

std::span<const CommandHabit> command_habits() {
    return kCommandHabits;
}

}  // namespace cnntrain::options
