// `cnntrain average` and `cnntrain analyse` as a user runs them, on the checkpoints of a short run.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

const std::string kVariable = "all/fc1/weight";

/// Data and a run made once: 3 iterations of ResNet-8 with a checkpoint after each, ckpt-0 to ckpt-3.
class Checkpoints : public test::SuiteFolder<Checkpoints> {
public:
    static void prepare() {
        ASSERT_EQ(run("dataset cifar --output-dir " + *folder_ / "cifar" + " --train 24 --test 20").exit_code, 0);
        const Outcome outcome =
            run("train.py --data-dir " + *folder_ / "cifar" + model() +
                "--precision 32.32 --epochs 1 --ckpts-per-epoch 3 --logs-per-epoch 3 --warmup-epochs 0 "
                "--abs-learning-rate 0.1 --seed 3 --no-validation --logs-path " +
                run_folder());
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
        // One element of a copy of the last checkpoint is no number.
        weights::Checkpoint broken = load("run/ckpt-3");
        broken.iteration = 4;
        broken.tensors.at(kVariable).set(kElement, std::numeric_limits<double>::quiet_NaN());
        posix_files().make_directories(*folder_ / "broken");
        weights::save(posix_files(), *folder_ / "broken/ckpt-4.safetensors", broken);
        ASSERT_EQ(shell("cp " + run_folder() + "/ckpt-3.safetensors " + *folder_ / "broken").exit_code, 0);
    }

protected:
    static std::string run_folder() { return *folder_ / "run"; }
    static std::string broken() { return *folder_ / "broken"; }
    static std::string model() { return " --dataset cifar-10 --model-size 8 --micro-batch-size 8 --threads 1 "; }
    static weights::Checkpoint load(const std::string& name) {
        return weights::load(posix_files(), *folder_ / (name + ".safetensors"));
    }
    /// The element of that variable in ckpt-<iteration> of the run.
    static double value_at(std::int64_t iteration) {
        return load("run/ckpt-" + std::to_string(iteration)).tensors.at(kVariable).at(kElement);
    }
    static std::string average(const std::string& options) {
        return "average --restore-path " + run_folder() + " --filename " + *folder_ / "average " + options;
    }
    static double averaged() { return load("average").tensors.at(kVariable).at(kElement); }

    static constexpr std::int64_t kElement = 37;
};

TEST_F(Checkpoints, MeanOfAllOfTheLastAndWithoutTheLast) {
    const Outcome all = run(average("--mode mean"));
    EXPECT_EQ(all.exit_code, 0) << all.text;
    EXPECT_THAT(all.text, AllOf(HasSubstr("Checkpoints used: 4\n"), HasSubstr(*folder_ / "average.safetensors")));
    EXPECT_NEAR(averaged(), (value_at(0) + value_at(1) + value_at(2) + value_at(3)) / 4, 1e-7);
    ASSERT_EQ(run(average("--mode mean -N 2")).exit_code, 0);
    EXPECT_NEAR(averaged(), (value_at(2) + value_at(3)) / 2, 1e-7);
    const Outcome discarded = run("weight_avg.py" + average("--mode=mean -N 2 --discard 1").substr(7));
    EXPECT_THAT(discarded.text, HasSubstr("Checkpoints discarded: 1\n"));
    EXPECT_NEAR(averaged(), (value_at(1) + value_at(2)) / 2, 1e-7);
    EXPECT_THAT(run(average("--mode mean -N 9")).text, HasSubstr("Checkpoints used: 4\n"));
}

TEST_F(Checkpoints, AnAverageTakesTheDtypeOfCheckpoints) {
    ASSERT_EQ(run(average("--mode mean --checkpoint-dtype f32")).exit_code, 0);
    for (const auto& [name, tensor] : load("average").tensors)
        EXPECT_EQ(tensor.dtype(), DType::f32) << name;
    const Outcome refused = run(average("--mode mean --checkpoint-dtype f64"));
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.text, HasSubstr("--checkpoint-dtype"));
}

TEST_F(Checkpoints, ExponentialFollowsItsDecay) {
    const Outcome outcome = run(average("--mode exponential --decay 0.75 -N 3"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("0.75"));
    EXPECT_NEAR(averaged(), 0.75 * (0.75 * value_at(1) + 0.25 * value_at(2)) + 0.25 * value_at(3), 1e-7);
    EXPECT_THAT(run(average("--mode exponential")).text, HasSubstr("Decay: 0.99\n"));
}

TEST_F(Checkpoints, AnAverageIsValidatedAndTrainedFromLikeAnyOther) {
    ASSERT_EQ(run(average("--mode mean -N 2")).exit_code, 0);
    const std::string line = " --data-dir " + *folder_ / "cifar" + model() + "--precision 32.32 ";
    const Outcome validated = run("validation --no-logs" + line + "--restore-path " + *folder_ / "average");
    EXPECT_EQ(validated.exit_code, 0) << validated.text;
    EXPECT_THAT(validated.text, ContainsRegex("Validation top-1 accuracy: +[0-9.]+ % \\[average\\] "
                                              "\\(iteration: +3, epoch: +1.00, "));
    const Outcome trained = run("train --no-logs --no-validation --ckpts-per-epoch 0 --iterations 1" + line +
                                "--init-path " + *folder_ / "average");
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
    // A run that averages itself finds its average next to its checkpoints.
    ASSERT_EQ(run("average --mode mean --restore-path " + run_folder() + " --filename " + run_folder() +
                  "/ckpt/weight_avg_mine")
                  .exit_code,
              0);
    EXPECT_THAT(run("validation --no-logs" + line + "--restore-path " + run_folder()).text,
                AllOf(HasSubstr("[ckpt-3]"), HasSubstr("[weight_avg_mine]")));
}

TEST_F(Checkpoints, AnAverageTakesNoCheckpointsPlaceAndNoPartInTheNext) {
    for (const std::string name : {"/ckpt-3", "/ckpt-9.safetensors", "/../run/ckpt-0"}) {
        expect_error("average --mode mean --restore-path " + run_folder() + "/ --filename " + run_folder() + name,
                     ErrorKind::usage, {"choose"});
    }
    EXPECT_EQ(load("run/ckpt-3").iteration, 3);
    ASSERT_EQ(shell("cp -r " + run_folder() + " " + *folder_ / "again").exit_code, 0);
    const std::string again =
        "average --mode mean --restore-path " + *folder_ / "again" + " --filename " + *folder_ / "again/";
    for (const std::string name : {"ckpt/mean-of-ckpt-2", "mean-of-ckpt-2"}) {
        EXPECT_THAT(run(again + name).text, HasSubstr("Checkpoints found: 4\n")) << name;
    }
}

TEST_F(Checkpoints, AnAverageGoesIntoNoRunThatAnotherProcessWrites) {
    const auto other = lock_folder(posix_files(), run_folder(), "cnntrain elsewhere");
    for (const std::string name : {"/mine", "/ckpt/mine"}) {
        expect_error("average --mode mean --restore-path " + run_folder() + " --filename " + run_folder() + name,
                     ErrorKind::usage, {"process", "elsewhere"});
        EXPECT_FALSE(exists(posix_files(), run_folder() + name + ".safetensors"));
    }
    EXPECT_EQ(run(average("--mode mean")).exit_code, 0);  // reads the run only
}

TEST_F(Checkpoints, AveragingMistakesHaveTheirExitCodes) {
    expect_error(average("--mode median"), ErrorKind::usage, {"'median'"});
    expect_error(average(""), ErrorKind::usage, {"--mode"});
    expect_error(average("--mode exponential --decay 1.5"), ErrorKind::usage, {"--decay"});
    expect_error(average("--mode mean -N 0"), ErrorKind::usage, {"1 to"});
    expect_error(average("--mode mean --discard-last 4"), ErrorKind::usage, {"4 checkpoints"});
    expect_error(average("--mode mean --d 1"), ErrorKind::usage, {"--discard-last"});
    expect_error(average("--mode mean --discard-lest 1"), ErrorKind::usage, {"'--discard-last'"});
    expect_error("average --restore-path /no/such/run --filename x --mode mean", ErrorKind::not_found,
                 {"/no/such/run"});
    expect_error("average --mode mean --filename x", ErrorKind::usage, {"--restore-path"});
    expect_error("average --restore-path " + run_folder() + " --mode mean --filename " + run_folder() + "/log.txt/x",
                 ErrorKind::storage, {"/log.txt"});
    const std::string mixed = *folder_ / "mixed";
    ASSERT_EQ(shell("mkdir " + mixed + " && cd " + mixed + " && cp " + run_folder() +
                    "/ckpt-1.safetensors . && head -c 3000 ckpt-1.safetensors > ckpt-2.safetensors")
                  .exit_code,
              0);
    expect_error("average --restore-path " + mixed + " --filename " + mixed + "/x --mode mean", ErrorKind::data,
                 {"ckpt-2.safetensors"});
    EXPECT_FALSE(exists(posix_files(), mixed + "/x.safetensors"));
}

TEST_F(Checkpoints, NansAreFoundWhereTheyBegin) {
    const Outcome clean = run("analyse_checkpoints.py --find-nans --restore-path " + run_folder());
    EXPECT_EQ(clean.exit_code, 0) << clean.text;
    EXPECT_THAT(clean.text, AllOf(HasSubstr("ckpt-0"), HasSubstr("ckpt-3")));
    EXPECT_THAT(clean.text, Not(HasSubstr("first here")));

    const Outcome found = run("analyse --find-nans --restore-path " + broken());
    EXPECT_EQ(found.exit_code, 0) << found.text;
    EXPECT_THAT(found.text, AllOf(HasSubstr("ckpt-3"), HasSubstr(std::to_string(kElement))));
    const Outcome one = run("analyse --find-nans --restore-path " + broken() + "/ckpt-4");
    EXPECT_EQ(one.exit_code, 0);
    EXPECT_THAT(one.text, Not(HasSubstr("ckpt-3")));
}

TEST_F(Checkpoints, OneElementIsFollowedThroughTheRun) {
    const std::string line = "analyse --first-fail --restore-path " + broken() + " --first-fail-var " + kVariable;
    const Outcome bad = run(line + " --first-fail-index " + std::to_string(kElement));
    EXPECT_EQ(bad.exit_code, 0) << bad.text;
    EXPECT_THAT(bad.text, ContainsRegex("all/fc1/weight\\[37\\]\n  ckpt-3: -?[0-9.e-]+\n  ckpt-4: -?nan\n"
                                        "first not finite in ckpt-4\n"));
    EXPECT_THAT(run(line + " --first-fail-index 0").text, HasSubstr("finite in every checkpoint\n"));
    expect_error(line + " --first-fail-index 640", ErrorKind::usage, {"0 to"});
    expect_error(line, ErrorKind::usage, {"--first-fail-index"});
    expect_error("analyse --first-fail --restore-path " + broken() +
                     " --first-fail-var all/fc1/weigth "
                     "--first-fail-index 0",
                 ErrorKind::usage, {"'all/fc1/weight'"});
}

TEST_F(Checkpoints, AnalysingMistakesHaveTheirExitCodes) {
    expect_error("analyse --restore-path " + run_folder(), ErrorKind::usage, {"--first-fail"});
    expect_error("analyse --find-nans", ErrorKind::usage, {"--restore-path"});
    expect_error("analyse --find-nons --restore-path x", ErrorKind::usage, {"'--find-nans'"});
    expect_error("analyse --find-nans --restore-path /no/such/run", ErrorKind::not_found, {"/no/such/run"});
    expect_error("analyse --find-nans --restore-path " + *folder_ / "cifar", ErrorKind::not_found, {"iteration"});
    const std::string torn = *folder_ / "torn.safetensors";
    ASSERT_EQ(shell("head -c 5000 " + run_folder() + "/ckpt-3.safetensors > " + torn).exit_code, 0);
    expect_error("analyse --find-nans --restore-path " + torn, ErrorKind::data, {"torn.safetensors"});
}

}  // namespace
}  // namespace cnntrain::cli
