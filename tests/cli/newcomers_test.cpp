// Lines that newcomers type from habit with timm, Keras, torchvision, Hugging Face and git, and the answers.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/shell.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

/// --dry-run resolves a line without training; CIFAR-10's counts are known without its files.
const std::string kDry = " --dry-run";
const std::string kImageNet = " --dataset imagenet --generated-data --dry-run";
const std::string kCifar = " --dataset cifar-10 --generated-data --dry-run";

struct Line {
    std::string typed;
    int exit_code;
    std::vector<std::string> parts;  // of the answer
};

const std::vector<Line>& lines() {
    static const std::vector<Line> table = {
        // Asking for help.
        {"-h", 0, {"usage: cnntrain"}},
        {"--help train", 0, {"usage: cnntrain train"}},
        {"help fit", 0, {"usage: cnntrain train"}},
        {"predict --help", 0, {"usage: cnntrain inference"}},
        {"version", 0, {"cnntrain "}},
        {"--verison", 2, {"did you mean --version?"}},
        {"--data-dir photos", 2, {"'--data-dir' is not a command", "cnntrain train --data-dir ..."}},
        // Commands of other programs.
        {"trian", 2, {"did you mean 'train'?"}},
        {"status", 2, {"RUN/log.txt"}},
        {"log", 2, {"RUN/training.csv"}},
        {"init", 2, {"nothing needs to be set up", "cnntrain train --data-dir PHOTOS"}},
        {"run train.py", 2, {"cnntrain train --data-dir PHOTOS"}},
        {"models", 2, {"--model resnet --model-size 50"}},
        {"download cifar10", 2, {"cnntrain dataset cifar --output-dir DIR"}},
        {"resume", 2, {"resume is read as restore", "restore needs --restore-path"}},
        {"resume no-such-run", 1, {"--restore-path no-such-run: no arguments.json there"}},
        {"predict no-such-photo.jpg", 2, {"--restore-path no-such-photo.jpg"}},
        {"eval --checkpoint best.pth --data photos", 2, {"--restore-path best.pth: there is no such run"}},
        // Training.
        {"fit", 2, {"no data: give --data-dir", "a folder of photos"}},
        {"train no-such-folder/", 2, {"the data folder 'no-such-folder/' does not exist"}},
        {"train data=photos epochs=5", 2, {"options start with --: cnntrain train --data-dir PHOTOS"}},
        {"train -m resnet50 -b 32 -e 5" + kImageNet,
         0,
         {"-m resnet50 is read as --model resnet --model-size 50", "-b 32 as --micro-batch-size 32",
          "-e 5 as --epochs 5"}},
        {"train -d photos -x 3", 2, {"unknown option -x; see --help"}},
        {"train --arch resnet18 --lr 0.1 --epochs 5 --workers 4" + kImageNet, 0, {"--abs-learning-rate 0.1"}},
        {"train --dataset CIFAR10 --generated-data" + kDry, 0, {"--dataset CIFAR10 is read as --dataset cifar-10"}},
        {"train --epcohs 5" + kCifar, 2, {"did you mean --epochs?"}},
        {"train --verbose 2" + kCifar, 0, {"--verbose 2 is read as --verbose"}},
        {"train -q" + kCifar, 0, {}},
        {"train --gpu 0" + kCifar, 2, {"there is no GPU backend"}},
        {"train --no-cuda" + kCifar, 0, {"--no-cuda is read as --backend cpu"}},
        {"train --pretrained --data-dir photos", 2, {"weights are not downloaded", "--init-path FILE"}},
        {"train --save-every 2" + kCifar, 0, {"--save-every 2 is read as --epochs-per-ckpt 2"}},
        {"train --do_train --output_dir out" + kCifar, 2, {"the command says it"}},
        {"train --num_train_epochs 3 --per_device_train_batch_size 8" + kCifar,
         0,
         {"--epochs 3", "--micro-batch-size 8"}},
        {"train --nproc-per-node 2" + kCifar, 2, {"cnntrain poprun --num-instances 2"}},
        {"quickstart --epochs 0", 2, {"quickstart is read as demo", "--epochs"}},
        {"/tmp", 2, {"'/tmp' is a file or folder", "cnntrain train /tmp"}},
        {"--list-models", 2, {"--model resnet --model-size 50"}},
        {"diff RUN1 RUN2", 2, {"cnntrain report RUN EARLIER_RUN compares"}},
        {"plot RUN", 2, {"cnntrain report RUN"}},
        {"ls", 2, {"cnntrain help lists commands"}},
        {"config", 2, {"--print-config"}},
        {"inspect photos", 2, {"cnntrain dataset inspect DIR"}},
        {"completion bash", 2, {"cnntrain help --completion bash"}},
        {"man", 2, {"cnntrain help --man PAGE"}},
        {"checks", 2, {"cnntrain --version --verbose"}},
        {"lr-find", 2, {"rates are not searched", "--dry-run"}},
        {"train --aa rand-m9-mstd0.5" + kCifar, 2, {"--rand-augment 2,9"}},
        {"train --auto-augment ta_wide" + kImageNet, 2, {"--rand-augment 2,9"}},
        {"train --reprob 0.25 --lr 0.1" + kImageNet, 0, {"--reprob 0.25 is read as --random-erasing 0.25"}},
        {"train --color-jitter 0.4" + kImageNet, 2, {"such as 0.4,0.4,0.4,0.1"}},
        {"train --lr-step-size 30 --lr-gamma 0.1" + kCifar, 2, {"--learning-rate-schedule 0.5,0.75"}},
        {"train --gamma 0.2" + kCifar, 0, {"--gamma 0.2 is read as --learning-rate-decay 0.2"}},
        {"train --cos-lr" + kCifar, 0, {"--cos-lr is read as --lr-schedule cosine"}},
        {"train --min-lr 1e-5" + kCifar, 2, {"--abs-end-learning-rate 1e-5"}},
        {"train --val-resize-size 256" + kImageNet, 2, {"--image-size 224 --crop-fraction 0.875"}},
        {"train --train-crop-size 176 --lr 0.1" + kImageNet, 0, {"--image-size 176"}},
        {"train --channels-last" + kCifar, 2, {"by itself"}},
        {"fit --loss categorical_crossentropy" + kCifar, 2, {"the loss is the cross-entropy"}},
        {"fit --metrics accuracy" + kCifar, 2, {"measured in every run"}},
        {"train --model_name_or_path microsoft/resnet-50" + kCifar, 2, {"--init-path FILE"}},
        {"train --evaluation_strategy epoch --save_total_limit 2" + kCifar,
         0,
         {"--validate-every 1", "--keep-ckpts 2"}},
        {"train --load_best_model_at_end --overwrite_output_dir --output_dir out" + kCifar,
         0,
         {"--keep-best accuracy", "--overwrite", "--logs-path out"}},
        {"train --accelerator gpu --devices 2" + kCifar, 2, {"there is no GPU backend"}},
        {"train --accelerator cpu --devices 2" + kCifar, 2, {"cnntrain poprun --num-instances 2"}},
        {"train --ckpt_path last" + kCifar, 2, {"cnntrain restore --restore-path RUN"}},
        {"train --log-wandb" + kCifar, 0, {"--log-wandb is read as --wandb"}},
        {"train --model vgg16" + kCifar, 2, {"expected one of resnet resnext efficientnet"}},
        {"train --drop-path 0.1" + kImageNet, 2, {"--model efficientnet --block-survival-prob"}},
        {"train --clip-grad 1.0" + kImageNet, 2, {"gradients are not clipped", "--optimiser LAMB"}},
        {"train --freeze 3" + kImageNet, 2, {"not a number of layers", "--head-only"}},
        {"inference --restore-path RUN a.jpg b.jpg", 2, {"--restore-path RUN"}},
        {"train --train-split train --val-split validation" + kCifar, 2, {"PHOTOS/train/<class>/"}},
    };
    return table;
}

TEST(Newcomers, GetAnAnswerThatLeadsOn) {
    for (const Line& line : lines()) {
        const Outcome outcome =
            shell("CNNTRAIN_DRY_RUN_ESTIMATE=off " + std::string(CNNTRAIN_PROGRAM) + " " + line.typed);
        EXPECT_EQ(outcome.exit_code, line.exit_code) << "cnntrain " << line.typed << "\n" << outcome.text;
        for (const std::string& part : line.parts)
            EXPECT_THAT(outcome.text, HasSubstr(part)) << "cnntrain " << line.typed;
    }
}

}  // namespace
}  // namespace cnntrain::cli
