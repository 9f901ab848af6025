// One folder holds one run: nothing of another one is mixed into it, and nothing that does not belong any more stays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/folder_lock.h"
#include "cnntrain/checkpoint/checkpoint.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

template <typename Action> std::string usage_error(Action action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        return error.what();
    }
    ADD_FAILURE() << "no error";
    return "";
}

nlohmann::json arguments_in(const FileSystem& files, const std::string& path = "run/arguments.json") {
    return nlohmann::json::parse(files.read_text(path));
}

TEST(OneRun, ASecondOneInItsFolderIsRefused) {
    for (const char* options : {"--no-validation", "--ckpts-per-epoch 0"}) {
        MemoryFiles files;
        train(files, options);
        const std::string rows = files.read_text("run/training.csv");
        EXPECT_THAT(usage_error([&] { train(files, options); }),
                    AllOf(HasSubstr("run: holds an earlier run ("), HasSubstr("--overwrite")));
        EXPECT_EQ(files.read_text("run/training.csv"), rows);
    }
    MemoryFiles files;
    train(files, "--no-validation");
    EXPECT_THAT(usage_error([&] { train(files); }),
                HasSubstr("continue that run from ckpt-40 with cnntrain restore --restore-path run"));
}

TEST(OneRun, GivesWayWhenAsked) {
    MemoryFiles files;
    train(files, "--weight-avg-N 1");
    files.write_text("run/notes.txt", "mine");
    EXPECT_EQ(train(files, "--overwrite --iterations 3 --epochs 0 --log-freq 3").exit_code, 0);
    EXPECT_EQ(loss_rows(files).size(), 2U);
    EXPECT_EQ(accuracy_rows(files).size(), 2U);
    EXPECT_FALSE(files.exists("run/ckpt-40.safetensors"));
    EXPECT_FALSE(files.exists("run/ckpt/weight_avg_N_1.safetensors"));
    EXPECT_EQ(files.read_text("run/notes.txt"), "mine");
    EXPECT_EQ(arguments_in(files)["iterations"], 3);
}

TEST(OneRun, MayFollowAStartThatTrainedNothing) {
    MemoryFiles files;
    train(files, "--compile-only --model-size 14");
    EXPECT_EQ(train(files, "--no-validation").exit_code, 0);
    EXPECT_EQ(arguments_in(files)["model_size"], 8);
    EXPECT_EQ(arguments_in(files, "run/arguments.1.json")["model_size"], 14);
}

TEST(OneRun, IsWrittenByOneProcessAtATime) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(8));
    const auto other = lock_folder(files, "run", "cnntrain elsewhere");
    const std::string before = files.read_text("run/log.txt");
    for (const auto& action : std::vector<std::function<void()>>{
             [&] { restore(files); }, [&] { train(files, "--restore-path run"); }, [&] { train(files, "--overwrite"); },
             [&] { validate(files, "--restore-path run --logs-path run"); },
             [&] { infer(files, "--restore-path run/ckpt-0 --logs-path run"); },
             [&] { infer(files, "--restore-path run/ckpt-0 --logs-path run --iterations 2"); }}) {
        EXPECT_THAT(usage_error(action), AllOf(HasSubstr("another process is writing there, process "),
                                               HasSubstr(": cnntrain elsewhere; wait")));
    }
    EXPECT_EQ(files.read_text("run/log.txt"), before);
    EXPECT_EQ(validate(files, "--restore-path run --log-dir logs").exit_code, 0);  // reads only
}

TEST(OneRun, TakesResultsOfItsOwnCheckpointsOnly) {
    MemoryFiles files;
    train(files, "--no-validation");
    for (const std::string weights : {"", "--restore-path other/ckpt-40"}) {
        files.write_text("other/ckpt-40.safetensors", files.read_text("run/ckpt-40.safetensors"));
        EXPECT_THAT(usage_error([&] { validate(files, "--logs-path run " + weights); }),
                    HasSubstr("results of its own checkpoints only"));
    }
    EXPECT_EQ(validate(files, "--logs-path run/ --restore-path run/ckpt-40").exit_code, 0);
    EXPECT_EQ(accuracy_rows(files).size(), 2U);
}

TEST(ExtendedRun, GoesOnWithItsNewOptionsAfterAStop) {
    MemoryFiles whole;
    train(whole, "--weight-avg-N 1");
    EXPECT_EQ(train(whole, "--restore-path run --epochs 4 --weight-avg-N 1").exit_code, 0);

    MemoryFiles files;
    train(files, "--weight-avg-N 1");
    const auto stopped = train(files, "--restore-path run --epochs 4 --weight-avg-N 1", stop_after(13));
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_EQ(arguments_in(files)["epochs"], 4);
    EXPECT_EQ(arguments_in(files, "run/arguments.1.json")["epochs"], 2);
    EXPECT_EQ(restore(files).exit_code, 0);
    EXPECT_FALSE(files.exists("run/arguments.2.json"));
    EXPECT_EQ(loss_rows(files), loss_rows(whole));
    EXPECT_EQ(accuracy_rows(files), accuracy_rows(whole));
    EXPECT_EQ(weights(files, 80), weights(whole, 80));
}

TEST(ExtendedRun, MakesItsAveragesAnew) {
    MemoryFiles files;
    train(files, "--weight-avg-N 1 --weight-avg-exp 0.5");
    const std::string old = files.read_text("run/ckpt/weight_avg_N_1.safetensors");
    train(files, "--restore-path run --epochs 4 --weight-avg-N 1");
    EXPECT_NE(files.read_text("run/ckpt/weight_avg_N_1.safetensors"), old);
    EXPECT_FALSE(files.exists("run/ckpt/weight_avg_exp_0.5.safetensors"));
    const auto rows = accuracy_rows(files);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_THAT(rows[5], StartsWith("weight_avg_N_1,80,4,"));
    EXPECT_THAT(files.read_text("run/validation.csv"), Not(HasSubstr("weight_avg_exp")));
}

TEST(ExtendedRun, OfOtherCheckpointsMakesItsAveragesAnewToo) {
    MemoryFiles files;
    train(files, "--weight-avg-N 2");
    const auto before = accuracy_rows(files);
    restore(files);
    EXPECT_EQ(accuracy_rows(files), before);
    files.remove("run/ckpt-20.safetensors");
    restore(files);
    EXPECT_EQ(checkpoint::load(files, "run/ckpt/weight_avg_N_2.safetensors").metadata.at("averaged"),
              "ckpt-40.safetensors");
    EXPECT_EQ(accuracy_rows(files).size(), before.size());
}

TEST(ExtendedRun, IsNotShortened) {
    MemoryFiles files;
    train(files, "--no-validation");
    EXPECT_THAT(usage_error([&] { train(files, "--restore-path run --epochs 1"); }),
                HasSubstr("has done 40 iterations, more than the 20 that are asked for"));
    EXPECT_EQ(arguments_in(files)["epochs"], 2);
}

TEST(ResumedRun, ValidatesACheckpointOfWhichHalfARowIsThere) {
    MemoryFiles whole;
    train(whole);
    MemoryFiles files;
    train(files);
    const std::string rows = files.read_text("run/validation.csv");
    files.write_text("run/validation.csv", rows.substr(0, rows.size() - 9));
    restore(files);
    EXPECT_EQ(accuracy_rows(files), accuracy_rows(whole));
}

TEST(ResumedRun, IsToldWhenItsThreadsAreOthers) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(8));
    ::testing::internal::CaptureStderr();
    restore(files, "--threads 2");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("with --threads 1 it does"));
}

TEST(StoppedRun, HasATableFromItsFirstUpdateOn) {
    MemoryFiles files;
    train(files, "", stop_after(1));
    EXPECT_EQ(loss_rows(files), std::vector<std::string>{"step,iteration,epoch,lr,loss_batch,loss_avg,train_acc_batch,"
                                                         "train_acc_avg"});
}

TEST(RecordedRun, IsFoundFromAnyFolder) {
    const std::filesystem::path here = std::filesystem::current_path();
    MemoryFiles files;
    std::filesystem::current_path(std::filesystem::path(small_cifar()).parent_path());
    const std::string relative = std::filesystem::path(small_cifar()).filename();
    train(files, "--data-dir " + relative, stop_after(8));
    std::filesystem::current_path(here);
    EXPECT_EQ(arguments_in(files)["data_dir"], small_cifar());
    EXPECT_EQ(restore(files).exit_code, 0);
    EXPECT_FALSE(files.exists("run/arguments.1.json"));
}

TEST(RecordedRun, OfAnEvaluationSaysHowLongItIs) {
    MemoryFiles files;
    for (const char* out : {"v", "i", "m"}) {
        const std::string line = std::string("--logs-path ") + out;
        if (*out == 'v') validate(files, line);
        if (*out == 'i') infer(files, line);
        if (*out == 'm') infer(files, line + " --iterations 2");
        const auto arguments = arguments_in(files, std::string(out) + "/arguments.json");
        EXPECT_EQ(arguments["validation_iterations"], 1) << out;
        EXPECT_EQ(arguments["validation_device_iterations"], 5) << out;  // 37 images in batches of 8
    }
}

}  // namespace
}  // namespace cnntrain::train::testing
