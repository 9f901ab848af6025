// One folder holds one run: nothing of another one is mixed into it, and nothing that does not belong any more stays.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

nlohmann::json arguments_in(const FileSystem& files, const std::string& path = "run/arguments.json") {
    return nlohmann::json::parse(read_text(files, path));
}

TEST(OneRun, ASecondOneInItsFolderIsRefused) {
    for (const char* options : {"--no-validation", "--ckpts-per-epoch 0"}) {
        MemoryFiles files;
        train(files, options);
        const std::string rows = read_text(files, "run/training.csv");
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, options); }), HasSubstr("--overwrite"));
        EXPECT_EQ(read_text(files, "run/training.csv"), rows);
    }
    MemoryFiles files;
    train(files, "--no-validation");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files); }), HasSubstr("--restore-path"));
}

TEST(OneRun, GivesWayWhenAsked) {
    MemoryFiles files;
    train(files, "--weight-avg-N 1");
    write_text(files, "run/notes.txt", "mine");
    EXPECT_EQ(train(files, "--overwrite --iterations 3 --epochs 0 --log-freq 3").exit_code, 0);
    EXPECT_EQ(loss_rows(files).size(), 2U);
    EXPECT_EQ(accuracy_rows(files).size(), 2U);
    EXPECT_FALSE(exists(files, "run/ckpt-40.safetensors"));
    EXPECT_FALSE(exists(files, "run/ckpt/weight_avg_N_1.safetensors"));
    EXPECT_EQ(read_text(files, "run/notes.txt"), "mine");
    EXPECT_EQ(arguments_in(files)["iterations"], 3);
}

TEST(OneRun, MayFollowAStartThatTrainedNothing) {
    MemoryFiles files;
    train(files, "--compile-only --model-size 14");
    EXPECT_EQ(train(files, "--no-validation").exit_code, 0);
    EXPECT_EQ(arguments_in(files)["model_size"], 8);
    EXPECT_EQ(arguments_in(files, "run/arguments.1.json")["model_size"], 14);
}

TEST(RefusedRun, LeavesNoFolder) {
    MemoryFiles files;
    write_text(files, "first.safetensors", "no checkpoint");
    message_of(ErrorKind::data, [&] { train(files, "--init-path first.safetensors"); });
    EXPECT_EQ(files.kind("run"), FileKind::absent);
    write_text(files, "run/notes.txt", "mine");
    message_of(ErrorKind::data, [&] { train(files, "--init-path first.safetensors"); });
    EXPECT_EQ(read_text(files, "run/notes.txt"), "mine") << "a folder that was there stays";
}

std::string restore_error(MemoryFiles& files) {
    return test::message_of(ErrorKind::not_found, [&] { restore(files); });
}

TEST(OneRun, ThatEndedBeforeItsFirstCheckpointIsBegunAnewByItsOwnLine) {
    MemoryFiles whole;
    train(whole);
    MemoryFiles files(100'000);  // too few for the first checkpoint
    EXPECT_THROW(train(files), Error);
    files.set_capacity_bytes(UINT64_MAX);
    ASSERT_TRUE(exists(files, "run/training.csv"));
    EXPECT_THAT(restore_error(files), HasSubstr("--logs-path"));
    files.append("run/training.csv", "9,45,2.2");  // half a row
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(train(files).exit_code, 0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("checkpoint"));
    EXPECT_EQ(loss_rows(files), loss_rows(whole));
    EXPECT_EQ(accuracy_rows(files), accuracy_rows(whole));
}

TEST(OneRun, ThatWasKilledWithRowsAndSavesNoCheckpointsIsBegunAnewByItsOwnLine) {
    const std::string line = "--no-validation --ckpts-per-epoch 0 ";
    MemoryFiles whole;
    train(whole, line);
    MemoryFiles files;
    train(files, line);
    const std::string table = read_text(files, "run/training.csv");
    const std::size_t last_row = table.rfind('\n', table.size() - 2) + 1;
    write_text(files, "run/training.csv", table.substr(0, last_row + 4));  // half of the last row, as a kill leaves it
    EXPECT_THAT(restore_error(files), HasSubstr("--logs-path"));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, line + "--model-size 14"); }),
                HasSubstr("--overwrite"));
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(train(files, line).exit_code, 0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("checkpoint"));
    EXPECT_EQ(loss_rows(files), loss_rows(whole));

    write_text(files, "run/training.csv", table.substr(0, last_row));
    write_text(files, "run/validation.csv", "name,iteration\nckpt-40,40\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, line); }), HasSubstr("--overwrite"))
        << "a run that has validated has had checkpoints";
}

TEST(OneRun, WithRowsOrOfOthersIsNotBegunAnew) {
    MemoryFiles files;
    train(files, "--ckpts-per-epoch 0");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, "--ckpts-per-epoch 0"); }), HasSubstr("--overwrite"));
    EXPECT_THAT(restore_error(files), HasSubstr("--logs-path"));
    EXPECT_EQ(train(files, "--overwrite").exit_code, 0);

    MemoryFiles others;
    write_text(others, "run/training.csv", "name,age\r\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(others); }), HasSubstr("training.csv"));
    EXPECT_EQ(read_text(others, "run/training.csv"), "name,age\r\n");
}

TEST(OneRun, IsWrittenByOneProcessAtATime) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(8));
    const auto other = lock_folder(files, "run", "cnntrain elsewhere");
    const std::string before = read_text(files, "run/log.txt");
    for (const auto& action : std::vector<std::function<void()>>{
             [&] { restore(files); }, [&] { train(files, "--restore-path run"); }, [&] { train(files, "--overwrite"); },
             [&] { validate(files, "--restore-path run --logs-path run"); },
             [&] { infer(files, "--restore-path run/ckpt-0 --logs-path run"); },
             [&] { infer(files, "--restore-path run/ckpt-0 --logs-path run --iterations 2"); }}) {
        EXPECT_THAT(message_of(ErrorKind::usage, action), Not(IsEmpty()));
    }
    EXPECT_EQ(read_text(files, "run/log.txt"), before);
    EXPECT_EQ(validate(files, "--restore-path run --log-dir logs").exit_code, 0);  // reads only
}

TEST(Evaluation, WritesFilesOnlyWhereItIsAsked) {
    MemoryFiles files;
    train(files, "--no-validation");
    const std::uint64_t before = files.used_bytes();
    EXPECT_EQ(validate(files, "--restore-path run").exit_code, 0);
    EXPECT_EQ(infer(files, "--restore-path run").exit_code, 0);
    EXPECT_EQ(infer(files, "--restore-path run --iterations 2 --tmp-execs").exit_code, 0);
    EXPECT_EQ(files.used_bytes(), before);
    for (const char* place : {"--logs-path logs", "--log-dir other"}) {
        const std::uint64_t without = files.used_bytes();
        EXPECT_EQ(validate(files, std::string("--restore-path run ") + place).exit_code, 0);
        EXPECT_GT(files.used_bytes(), without) << place;
    }
}

/// Somebody may have noted something in it.
TEST(Predictions, ThatAreThereAreReplacedOnRequest) {
    MemoryFiles files;
    train(files, "--no-validation");
    const std::string line = "--restore-path run --logs-path judged";
    EXPECT_EQ(infer(files, line).exit_code, 0);
    const std::string table = read_text(files, "judged/predictions.csv");
    write_text(files, "judged/predictions.csv", table + "mine\r\n");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { infer(files, line); }),
                AllOf(HasSubstr("judged/predictions.csv"), HasSubstr("--overwrite")));
    EXPECT_EQ(read_text(files, "judged/predictions.csv"), table + "mine\r\n");
    EXPECT_EQ(infer(files, line + " --overwrite").exit_code, 0);
    EXPECT_EQ(read_text(files, "judged/predictions.csv"), table);
}

TEST(OneRun, TakesResultsOfItsOwnCheckpointsOnly) {
    MemoryFiles files;
    train(files, "--no-validation");
    for (const std::string weights : {"", "--restore-path other/ckpt-40"}) {
        write_text(files, "other/ckpt-40.safetensors", read_text(files, "run/ckpt-40.safetensors"));
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { validate(files, "--logs-path run " + weights); }),
                    Not(IsEmpty()));
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
    EXPECT_FALSE(exists(files, "run/arguments.2.json"));
    EXPECT_EQ(loss_rows(files), loss_rows(whole));
    EXPECT_EQ(accuracy_rows(files), accuracy_rows(whole));
    EXPECT_EQ(weights(files, 80), weights(whole, 80));
}

TEST(ExtendedRun, MakesItsAveragesAnew) {
    MemoryFiles files;
    train(files, "--weight-avg-N 1 --weight-avg-exp 0.5");
    const std::string old = read_text(files, "run/ckpt/weight_avg_N_1.safetensors");
    train(files, "--restore-path run --epochs 4 --weight-avg-N 1");
    EXPECT_NE(read_text(files, "run/ckpt/weight_avg_N_1.safetensors"), old);
    EXPECT_FALSE(exists(files, "run/ckpt/weight_avg_exp_0.5.safetensors"));
    const auto rows = accuracy_rows(files);
    ASSERT_EQ(rows.size(), 6U);
    EXPECT_THAT(rows[5], StartsWith("weight_avg_N_1,80,4,"));
    EXPECT_THAT(read_text(files, "run/validation.csv"), Not(HasSubstr("weight_avg_exp")));
}

TEST(ExtendedRun, OfOtherCheckpointsMakesItsAveragesAnewToo) {
    MemoryFiles files;
    train(files, "--weight-avg-N 2");
    const auto before = accuracy_rows(files);
    restore(files);
    EXPECT_EQ(accuracy_rows(files), before);
    files.remove("run/ckpt-20.safetensors");
    restore(files);
    EXPECT_EQ(weights::load(files, "run/ckpt/weight_avg_N_2.safetensors").metadata.at("averaged"),
              "ckpt-40.safetensors");
    EXPECT_EQ(accuracy_rows(files).size(), before.size());
}

TEST(ExtendedRun, IsNotShortened) {
    MemoryFiles files;
    train(files, "--no-validation");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { train(files, "--restore-path run --epochs 1"); }),
                HasSubstr("40 iterations"));
    EXPECT_EQ(arguments_in(files)["epochs"], 2);
}

TEST(ResumedRun, ValidatesACheckpointOfWhichHalfARowIsThere) {
    MemoryFiles whole;
    train(whole);
    MemoryFiles files;
    train(files);
    const std::string rows = read_text(files, "run/validation.csv");
    write_text(files, "run/validation.csv", rows.substr(0, rows.size() - 9));
    restore(files);
    EXPECT_EQ(accuracy_rows(files), accuracy_rows(whole));
}

TEST(ResumedRun, IsToldWhenItsThreadsAreOthers) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(8));
    ::testing::internal::CaptureStderr();
    restore(files, "--threads 2");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("--threads 1"));
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
    EXPECT_FALSE(exists(files, "run/arguments.1.json"));
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
}  // namespace cnntrain::run::testing
