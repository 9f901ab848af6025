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
        {"predict no-such-photo.jpg", 2, {"the data folder 'no-such-photo.jpg' does not exist"}},
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
        {"train --model vgg16" + kCifar, 2, {"expected one of resnet resnext efficientnet"}},
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
