// Measuring inference, its compiled-model file, and validation's latency.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/monitor.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

TEST(Latencies, PercentilesAreLinearBetweenNeighbours) {
    std::vector<double> times;
    for (int i = 101; i > 0; --i)
        times.push_back(i);
    const metrics::Latencies all = summarise(times);
    EXPECT_DOUBLE_EQ(all.mean, 51);
    EXPECT_DOUBLE_EQ(all.p99, 100);
    EXPECT_NEAR(all.p99_9, 100.9, 1e-9);
    EXPECT_DOUBLE_EQ(all.max, 101);
    const metrics::Latencies two = summarise({1, 3});
    EXPECT_DOUBLE_EQ(two.p99, 2.98);
    const metrics::Latencies one = summarise({7});
    EXPECT_DOUBLE_EQ(one.p99_9, 7);
}

/// A run of two iterations: ckpt-0 and ckpt-2.
class InferenceTest : public ::testing::Test {
protected:
    InferenceTest() { write_text(files_, kCheckpoint, read_text(trained_, kCheckpoint)); }

    Outcome measure(const std::string& options) { return infer(files_, "--iterations 5 --logs-path out " + options); }
    bool rebuilt(const Outcome& outcome) const {
        return outcome.console.find("Saved the compiled model to ") != std::string::npos;
    }

    static constexpr const char* kCheckpoint = "run/ckpt-2.safetensors";
    static constexpr const char* kModel = "model_resnet8_bs_8_bps_1000_ckpt-2_withlabels.cnntrain_exec";
    const MemoryFiles& trained_ =
        trained_once("--iterations 2 --epochs 0 --log-freq 2 --no-validation --no-tensorboard");
    MemoryFiles files_;
};

TEST_F(InferenceTest, PrintsThroughputAndLatencies) {
    const Outcome outcome = measure("--restore-path run/ckpt-2 --num-inference-thread 3 --repeat 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                ContainsRegex("\nlatency avg: +[0-9.]+ ms, latency 99p: +[0-9.]+ ms, latency 99p9: +[0-9.]+ ms, "
                              "latency max: +[0-9.]+ ms\n"
                              "Validation top-1 accuracy \\[ckpt-2\\] \\(iteration: +2, epoch: +0.10, throughput: "
                              "+[0-9.]+ samples/sec, time: [0-9.]+, latency avg: +[0-9.]+ ms: +[0-9.]+%\n"));
    const std::string rows = read_text(files_, "out/validation.csv");
    EXPECT_THAT(rows, AllOf(HasSubstr("name,iteration,epoch,val_acc,inference_time,num_processed_samples,img_per_sec,"),
                            ContainsRegex("\nckpt-2,2,0.1,[0-9.]+,[0-9.e-]+,120,")));  // 3 threads, 5 calls, 8 images
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);
    EXPECT_THAT(read_text(files_, "out/log.txt"),
                AllOf(HasSubstr("Validation top-1 accuracy [ckpt-2]"), Not(HasSubstr("latency 99p"))));
}

TEST_F(InferenceTest, ATableOfOtherColumnsIsNotContinued) {
    const std::string validations =
        "name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency\r\nckpt-2,2,0.1,9,9,1,20,20,-1\r\n";
    write_text(files_, "out/validation.csv", validations);
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { measure("--restore-path run/ckpt-2"); }),
                AllOf(HasSubstr("out/validation.csv"), HasSubstr("inference_time")));
    EXPECT_EQ(read_text(files_, "out/validation.csv"), validations);
}

TEST_F(InferenceTest, GeneratedImagesHaveNoAccuracy) {
    const Outcome outcome = measure("--generated-data --dataset cifar-10");
    EXPECT_THAT(outcome.console, ContainsRegex("top-1 accuracy \\[random\\] .* ms: -1.000%"));
    EXPECT_TRUE(exists(files_, "model_resnet8_bs_8_bps_1000_random_nolabels.cnntrain_exec"));
}

TEST_F(InferenceTest, TheSecondRunNeedsNoCheckpoint) {
    const Outcome first = measure("--restore-path run/ckpt-2");
    EXPECT_TRUE(rebuilt(first));
    const Outcome second = measure("--restore-path run/ckpt-2 --logs-path second");
    EXPECT_FALSE(rebuilt(second));
    EXPECT_THAT(second.console, HasSubstr(std::string("Using the compiled model ") + kModel + " (weights: ckpt-2)\n"));
    files_.remove(kCheckpoint);
    const Outcome third = measure("--restore-path run/ckpt-2 --logs-path third");
    EXPECT_THAT(third.console, HasSubstr("run/ckpt-2"));
    const auto accuracy = [](const Outcome& outcome) { return outcome.console.substr(outcome.console.rfind("ms: ")); };
    EXPECT_EQ(accuracy(first), accuracy(third));
    // The same name, but nobody's model.
    EXPECT_EQ(kind_of([&] { measure("--restore-path other/ckpt-2 --logs-path fourth"); }), ErrorKind::not_found);
}

TEST_F(InferenceTest, AMissingCheckpointIsToldBeforeAnythingIsWritten) {
    EXPECT_THAT(message_of(ErrorKind::not_found, [&] { measure("--restore-path run/ckpt-3"); }), HasSubstr("ckpt-2"));
    EXPECT_FALSE(exists(files_, "out/log.txt"));
}

TEST_F(InferenceTest, AModelOfOtherCircumstancesIsMadeAnew) {
    measure("--restore-path run/ckpt-2");
    int run = 0;
    for (const char* other : {"--precision 32.32", "--force-recompile", "--normalise-input --precision 16.32"}) {
        EXPECT_TRUE(rebuilt(measure("--restore-path run/ckpt-2 --logs-path o" + std::to_string(run++) + " " + other)))
            << other;
    }
    measure("--restore-path run/ckpt-2 --force-recompile --logs-path back");
    auto checkpoint = weights::load(files_, kCheckpoint);
    checkpoint.tensors.at("all/fc1/weight").set(0, 0.5);
    weights::save(files_, kCheckpoint, checkpoint);
    EXPECT_TRUE(rebuilt(measure("--restore-path run/ckpt-2 --logs-path changed")));
}

TEST_F(InferenceTest, ADamagedFileIsNotTrusted) {
    measure("--restore-path run/ckpt-2");
    const std::string good = read_text(files_, kModel);
    std::string flipped = good;
    flipped[good.size() - 5] = static_cast<char>(flipped[good.size() - 5] ^ 1);
    int run = 0;
    for (const std::string& bad : {good.substr(0, good.size() / 2), flipped}) {
        write_text(files_, kModel, bad);
        ::testing::internal::CaptureStderr();
        const Outcome outcome = measure("--restore-path run/ckpt-2 --logs-path d" + std::to_string(run++));
        EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr(kModel));
        EXPECT_TRUE(rebuilt(outcome)) << bad.size();
        EXPECT_EQ(read_text(files_, kModel), good);
    }
}

TEST_F(InferenceTest, SomebodysFileIsReplacedOnRequestOnly) {
    for (const std::string& others : {std::string("a text"), std::string(), read_text(trained_, kCheckpoint)}) {
        write_text(files_, kModel, others);
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { measure("--restore-path run/ckpt-2"); }),
                    AllOf(HasSubstr(std::string("the compiled model ") + kModel), HasSubstr("--force-recompile")));
        EXPECT_EQ(read_text(files_, kModel), others);
        EXPECT_FALSE(exists(files_, "out/log.txt"));
    }
    EXPECT_TRUE(rebuilt(measure("--restore-path run/ckpt-2 --force-recompile")));
}

TEST_F(InferenceTest, TemporaryModelsLeaveNothingBehind) {
    const Outcome outcome = measure("--restore-path run/ckpt-2 --tmp-execs");
    EXPECT_THAT(outcome.console, ContainsRegex("Saved the compiled model to model_resnet8_.*withlabels_[0-9]+\\."));
    const std::string name = outcome.console.substr(outcome.console.find("model_resnet8_"));
    EXPECT_FALSE(exists(files_, name.substr(0, name.find('\n'))));
    EXPECT_FALSE(exists(files_, kModel));
}

TEST_F(InferenceTest, OfSeveralCheckpointsTheBestOrTheNewestIsTaken) {
    write_text(files_, "run/ckpt-0.safetensors", read_text(trained_, "run/ckpt-0.safetensors"));
    ::testing::internal::CaptureStderr();
    const Outcome newest = measure("--restore-path run");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("run/ckpt-2.safetensors"));
    EXPECT_THAT(newest.console, HasSubstr("accuracy [ckpt-2]"));
    write_text(files_, "run/ckpt-best.safetensors", read_text(trained_, "run/ckpt-0.safetensors"));
    ::testing::internal::CaptureStderr();
    const Outcome best = measure("--restore-path run --logs-path best");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("run/ckpt-best.safetensors"));
    EXPECT_THAT(best.console, HasSubstr("accuracy [ckpt-best]"));
}

TEST_F(InferenceTest, TheTotalIsMeasuredAsFinelyAsTheCalls) {
    infer(files_, "--iterations 1 --generated-data --dataset cifar-10 --repeat 40 --logs-path fine");
    std::istringstream rows(read_text(files_, "fine/validation.csv"));
    double least_ms = 1e9;
    std::string line;
    std::getline(rows, line);  // name, iteration, epoch, val_acc, inference_time, samples, rate, latency
    while (std::getline(rows, line)) {
        std::vector<std::string> fields;
        std::istringstream row(line);
        for (std::string field; std::getline(row, field, ',');)
            fields.push_back(field);
        least_ms = std::min(least_ms, 1e3 * std::stod(fields.at(4)) - std::stod(fields.at(7)));
    }
    EXPECT_GE(least_ms, 0);
    EXPECT_LT(least_ms, 0.1);
}

TEST_F(InferenceTest, StopsAndOtherEnds) {
    EXPECT_EQ(infer(files_, "--iterations 100000 --generated-data --logs-path s", stop_after(3)).exit_code,
              kInterruptedExitCode);
    EXPECT_THAT(measure("--compile-only --generated-data --logs-path c").console, HasSubstr("Compilation successful"));
    EXPECT_THAT(infer(files_, "--dataset-benchmark --logs-path b").console, HasSubstr("mean throughput: "));
    for (const char* option : {"--num-inference-thread 2", "--tmp-execs", "--force-recompile", "--repeat 2"}) {
        const std::string flag = std::string(option).substr(0, std::string(option).find(' '));
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { infer(files_, std::string(option) + " --logs-path x"); }),
                    AllOf(HasSubstr(flag), HasSubstr("needs --iterations")));
    }
}

TEST_F(InferenceTest, ValidationMeasuresLatencyWhenAsked) {
    const auto latency = [&](const char* folder) {
        return last_number(read_text(files_, std::string(folder) + "/validation.csv"));
    };
    validate(files_, "--restore-path run/ckpt-2 --logs-path without");
    EXPECT_EQ(latency("without"), -1);
    validate(files_, "--restore-path run/ckpt-2 --logs-path with --latency --repeat 2");
    EXPECT_GT(latency("with"), 0);
    validate(files_, "--generated-data --logs-path generated --latency");
    EXPECT_GT(latency("generated"), 0);
    EXPECT_LT(latency("generated"), 60000);
}

}  // namespace
}  // namespace cnntrain::run::testing
