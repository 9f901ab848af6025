// Trainings with --teacher.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

using Tensors = std::map<std::string, HostTensor>;

/// Images in the form of CIFAR-10, and a ResNet-8 with group norm that has seen them for an epoch.
class Teacher : public test::SuiteFolder<Teacher> {
public:
    static void prepare() {
        ASSERT_EQ(run("dataset cifar --train 1000 --test 200 --output-dir " + at("data")).exit_code, 0);
        const Outcome outcome = train("--epochs 1 --logs-path " + at("teacher"));
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
    }

protected:
    static Outcome train(const std::string& options) { return run(line(options)); }
    static std::string line(const std::string& options) {
        return "train --dataset cifar-10 --data-dir " + at("data") +
               " --model-size 8 --group-norm --precision 32.32 --micro-batch-size 32 --no-validation --threads 1 "
               "--label-smoothing 0 --seed 1 " +
               options;
    }
    static std::string at(const std::string& name) { return *folder_ / name; }
    static std::string newest() {
        return std::string(last_part(weights::best_or_latest(posix_files(), "", at("teacher")).path));
    }
    static Tensors tensors(const std::string& path) { return weights::load(posix_files(), at(path)).tensors; }
};

/// Its own answers teach a network nothing.
TEST_F(Teacher, ANetworkThatAnswersAsItsTeacherStaysAsItIs) {
    const auto trained = [](const std::string& name, const std::string& options) {
        const Outcome outcome = train("--iterations 4 --optimiser SGD --weight-decay 0 --init-path " + at("teacher") +
                                      " --teacher " + at("teacher") + " --logs-path " + at(name) +
                                      " --lr-schedule cosine --abs-learning-rate 0.1 --distill " + options);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        return tensors(name + "/ckpt-4.safetensors");
    };
    const auto farthest = [](const Tensors& all) {
        double distance = 0;
        for (const auto& [name, before] : tensors("teacher/" + newest())) {
            const auto after = all.find(name);
            if (after == all.end()) continue;
            for (std::int64_t i = 0; i < before.elements(); ++i)
                distance = std::max(distance, std::abs(before.at(i) - after->second.at(i)));
        }
        return distance;
    };
    EXPECT_LT(farthest(trained("alike", "1,2")), 1e-6);
    EXPECT_GT(farthest(trained("labels", "0.5,2")), 1e-5);
}

TEST_F(Teacher, ADryRunCountsTheTeachersMemory) {
    const auto input = [](const std::string& options) {
        const std::string text = train("--iterations 4 --dry-run " + options).text;
        std::smatch found;
        EXPECT_TRUE(std::regex_search(text, found, std::regex("input ([0-9.]+) MB"))) << text;
        return std::stod(found[1]);
    };
    EXPECT_GT(input("--teacher " + at("teacher")), input("") + 0.6) << "two copies of 78 000 weights";
}

TEST_F(Teacher, ARunIsResumedWithTheSameNumbers) {
    const std::string options =
        "--teacher " + at("teacher") + " --distill 0.7,3 --learning-rate-decay 1 --warmup-epochs 0 --log-freq 1 ";
    ASSERT_EQ(train(options + "--iterations 6 --logs-path " + at("whole")).exit_code, 0);
    ASSERT_EQ(train(options + "--iterations 3 --logs-path " + at("parts")).exit_code, 0);
    const Outcome rest = run("restore --restore-path " + at("parts") + " --iterations 6");
    ASSERT_EQ(rest.exit_code, 0) << rest.text;
    const Tensors whole = tensors("whole/ckpt-6.safetensors");
    for (const auto& [name, tensor] : tensors("parts/ckpt-6.safetensors"))
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), whole.at(name).bytes())) << name;
}

TEST_F(Teacher, ErrorsSayWhatDoesNotFit) {
    const std::string taught = "--iterations 1 --no-logs --teacher " + at("teacher") + " ";
    expect_error(line(taught + "--distill 1.5,2"), ErrorKind::usage, {"--distill", "0 to 1"});
    expect_error(line(taught + "--distill 0.5"), ErrorKind::usage, {"--distill", "two numbers"});
    expect_error(line(taught + "--mixup-alpha 0.2"), ErrorKind::usage, {"--teacher", "--mixup-alpha"});
    expect_error(line("--iterations 1 --no-logs --teacher " + at("nowhere")), ErrorKind::not_found,
                 {"--teacher", "nowhere"});
    ASSERT_EQ(run("dataset photos --output-dir " + at("photos")).exit_code, 0);
    expect_error("train --data-dir " + at("photos") + " --image-size 32 --no-logs --teacher " + at("teacher"),
                 ErrorKind::data, {"--teacher", "classes"});
    const std::string photos = "train --data-dir " + at("photos") + " --image-size 32 --model-size 18 --iterations 1 ";
    ASSERT_EQ(run(photos + "--no-validation --logs-path " + at("of_photos")).exit_code, 0);
    expect_error(
        photos + "--no-logs --normalise-mean 0.5,0.5,0.5 --normalise-std 0.5,0.5,0.5 --teacher " + at("of_photos"),
        ErrorKind::usage, {"--teacher", "normalisation"});
    EXPECT_EQ(run(photos + "--no-validation --no-logs --teacher " + at("of_photos")).exit_code, 0);
    write_text(posix_files(), at("texts.tsv"), "text\tlabel\na\tb\nb\ta\na\tb\nb\ta\n");
    write_text(posix_files(), at("vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    expect_error(
        "train --task text-classification --no-validation --no-logs --vocab-size 7 --hidden-size 8 "
        "--num-attention-heads 1 --num-hidden-layers 1 --intermediate-size 8 --data-dir " +
            at("texts.tsv") + " --vocab-file " + at("vocab.txt") + " --teacher " + at("teacher"),
        ErrorKind::usage, {"--teacher", "text-classification", "image-classification"});
    const Outcome idle = train("--iterations 1 --no-logs --distill 0.5,2");
    EXPECT_THAT(idle.text, HasSubstr("--distill changes nothing"));
}

TEST_F(Teacher, ADryRunNeedsNoMoreThanTheTeacher) {
    const Outcome outcome = train("--epochs 2 --dry-run --teacher " + at("teacher"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
}

}  // namespace
}  // namespace cnntrain::cli
