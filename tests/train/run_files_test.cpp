#include "run/run_files.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/matchers.h"

namespace cnntrain::run {
namespace {

constexpr const char* kArguments = R"({"checkpoint_path": "run/ckpt", "epochs": 2.0, "seed_specified": true})";

/// A folder with files that runs write, and files that a user has put next to them.
MemoryFiles run_with_guests() {
    MemoryFiles files;
    for (const char* name :
         {"log.txt", "training.csv", "validation.csv", "predictions.csv", "time_split.csv", "ranks.csv",
          "sample_predictions.json", "arguments.1.json", "arguments_restore.json", "result_None.txt", "result_7.txt",
          "events.out.tfevents.1700000000.host", "event/events.out.tfevents.1700000000.host", "ckpt-0.safetensors",
          "ckpt-40.safetensors", "ckpt/weight_avg_N_5.safetensors", "ckpt/weight_avg_exp_0.97.safetensors"}) {
        write_text(files, std::string("run/") + name, "run");
    }
    for (const char* name :
         {"notes.txt", "best-ckpt-40.safetensors", "my-best.safetensors", "ckpt-040.safetensors",
          "ckpt/weight_avg_mine.safetensors", "ckpt/weight_avg_N_x.safetensors", "arguments.old.json", "result_.txt",
          "log.txt.gz", "training.csv.1", "event/notes.txt", "sub/ckpt-1.safetensors", "sub/training.csv"}) {
        write_text(files, std::string("run/") + name, "user");
    }
    write_text(files, "run/arguments.json", kArguments);
    return files;
}

TEST(RunFiles, RecordedOptionsAreThoseOfAnotherDrawOfTheSeed) {
    MemoryFiles files;
    write_text(files, "run/arguments.json", R"({"epochs": 2.0, "seed": 7, "seed_specified": false})");
    EXPECT_TRUE(records_options(files, "run", R"({"epochs": 2.0, "seed": 8})", true));
    EXPECT_FALSE(records_options(files, "run", R"({"epochs": 2.0, "seed": 8})", false));
    EXPECT_FALSE(records_options(files, "run", R"({"epochs": 3.0, "seed": 7})", true));
    write_text(files, "run/arguments.json", R"({"epochs": 2.0, "seed": 7, "seed_specified": true})");
    EXPECT_FALSE(records_options(files, "run", R"({"epochs": 2.0, "seed": 8})", true));
    EXPECT_FALSE(records_options(files, "elsewhere", "{}", true));
    write_text(files, "run/arguments.json", R"({"epochs": 2.0, "global_batch_size": 12})");
    EXPECT_TRUE(records_options(files, "run", R"({"epochs": 2.0, "global_batch_size": null})", false));
    EXPECT_FALSE(records_options(files, "run", R"({"epochs": 2.0, "global_batch_size": 24})", false));
}

TEST(RunFiles, AKilledRunHasRowsBeforeItsPlannedEndAndNothingElse) {
    const auto killed = [](const std::string& planned, const std::string& rows, const std::string& other = "") {
        MemoryFiles files;
        write_text(files, "run/arguments.json",
                   R"({"checkpoint_path": "run/ckpt", "seed_specified": true)" + planned + "}");
        write_text(files, "run/training.csv", "epoch,iteration,loss\n" + rows);
        if (!other.empty()) write_text(files, "run/" + other, "");
        return holds_killed_run(files, "run");
    };
    const std::string planned = R"(, "planned_iterations": 20)";
    EXPECT_TRUE(killed(planned, "0.5,10,2.3\n"));
    EXPECT_TRUE(killed(planned, "0.5,10,2.3\n1,20,2."));
    EXPECT_FALSE(killed(planned, "0.5,10,2.3\n1,20,2.1\n")) << "finished";
    EXPECT_FALSE(killed("", "0.5,10,2.3\n")) << "an earlier version does not record its end";
    EXPECT_FALSE(killed(planned, "0.5,10,2.3\n", "ckpt-0.safetensors"));
}

TEST(Results, AreWhatANewRunWouldMixItsOwnWith) {
    MemoryFiles files;
    EXPECT_THAT(results_in(files, "run"), IsEmpty());
    write_text(files, "run/arguments.json", kArguments);
    write_text(files, "run/log.txt", "");
    EXPECT_THAT(results_in(files, "run"), IsEmpty());  // compiled only, say
    write_text(files, "run/training.csv", "");
    EXPECT_THAT(results_in(files, "run/"), ElementsAre("training.csv"));
}

TEST(Results, OfARunAreNoPlaceForOtherTables) {
    MemoryFiles files;
    write_text(files, "run/arguments.json", kArguments);
    EXPECT_THROW(refuse_run_table(files, "--predictions", "run/training.csv"), Error);
    EXPECT_NO_THROW(refuse_run_table(files, "--predictions", "run/predictions.csv"));
    EXPECT_NO_THROW(refuse_run_table(files, "--predictions", "run/mine.csv"));
    EXPECT_NO_THROW(refuse_run_table(files, "--predictions", "training.csv"));
}

TEST(RemovedRun, LosesItsOwnFilesAndNoOthers) {
    MemoryFiles files = run_with_guests();
    remove_run(files, "run");
    EXPECT_THAT(files.list("run"), UnorderedElementsAre("notes.txt", "best-ckpt-40.safetensors", "my-best.safetensors",
                                                        "ckpt-040.safetensors", "ckpt", "arguments.old.json",
                                                        "result_.txt", "log.txt.gz", "training.csv.1", "event", "sub"));
    EXPECT_THAT(files.list("run/event"), ElementsAre("notes.txt"));
    EXPECT_THAT(files.list("run/ckpt"),
                UnorderedElementsAre("weight_avg_mine.safetensors", "weight_avg_N_x.safetensors"));
    EXPECT_THAT(files.list("run/sub"), UnorderedElementsAre("ckpt-1.safetensors", "training.csv"));
}

TEST(RemovedRun, MustBeOne) {
    for (const char* arguments : {"", "{}", R"({"model": "mine"})", R"({"checkpoint_path": "mine"})", "[1]"}) {
        MemoryFiles files;
        write_text(files, "run/training.csv", "of somebody else");
        if (*arguments != '\0') write_text(files, "run/arguments.json", arguments);
        EXPECT_THROW(remove_run(files, "run"), Error) << arguments;
        EXPECT_EQ(read_text(files, "run/training.csv"), "of somebody else");
    }
    MemoryFiles files;
    write_text(files, "run/log.txt", "of somebody else");
    remove_run(files, "run");
    EXPECT_TRUE(exists(files, "run/log.txt"));
}

/// `options` as arguments_json() writes them, and with what a run adds.
std::string recorded(const std::string& epochs, const std::string& extra) {
    return R"({"epochs": )" + epochs + extra + "}";
}

TEST(RecordedArguments, KeepTheirHistoryBeside) {
    MemoryFiles files;
    const auto record = [&](const std::string& epochs, const std::string& date, bool resumed) {
        record_arguments(files, "run", recorded(epochs, R"(, "datetime": )" + date), recorded(epochs, ""), resumed);
    };
    record("2", "1", false);
    record("2", "2", true);  // goes on as it was
    EXPECT_EQ(read_text(files, "run/arguments.json"), recorded("2", R"(, "datetime": 1)"));
    record("6", "3", true);
    EXPECT_EQ(read_text(files, "run/arguments.json"), recorded("6", R"(, "datetime": 3)"));
    EXPECT_EQ(read_text(files, "run/arguments.1.json"), recorded("2", R"(, "datetime": 1)"));
    record("8", "4", true);
    EXPECT_EQ(read_text(files, "run/arguments.2.json"), recorded("6", R"(, "datetime": 3)"));
    // A process that was killed when it had kept the history, and not yet replaced the file.
    write_text(files, "run/arguments.json", recorded("6", R"(, "datetime": 3)"));
    record("8", "5", true);
    EXPECT_FALSE(exists(files, "run/arguments.3.json"));
    EXPECT_EQ(read_text(files, "run/arguments.json"), recorded("8", R"(, "datetime": 5)"));
}

TEST(RecordedArguments, DoNotChangeWithTheFolder) {
    MemoryFiles files;
    record_arguments(files, "run", R"({"epochs": 2, "logs_path": "run"})", "{}", false);
    record_arguments(files, "run", "other", R"({"epochs": 2, "logs_path": null, "restore_path": "/a/run"})", true);
    EXPECT_EQ(read_text(files, "run/arguments.json"), R"({"epochs": 2, "logs_path": "run"})");
}

TEST(RecordedArguments, OfAnEvaluationStandBesideTheFirst) {
    MemoryFiles files;
    add_arguments(files, "run", "1");
    add_arguments(files, "run", "2");
    EXPECT_EQ(read_text(files, "run/arguments.json"), "1");
    EXPECT_EQ(read_text(files, "run/arguments_restore.json"), "2");
}

TEST(Rows, BeyondTheCheckpointAndHalfOnesGo) {
    MemoryFiles files;
    write_text(files, "run/training.csv", "step,iteration,epoch\r\n1,5,0.1\r\n2,10,0.2\r\n3,15,0.3\r\n4,2");
    write_text(files, "run/validation.csv",
               "name,iteration,epoch\r\nckpt-10,10,0.2\r\n\"a,\"\"40\"\"\",5,1\r\nckpt-15,15,0.3\r\nckpt-5,5");
    write_text(files, "run/time_split.csv", "updates,iteration,update_seconds\r\n10,10,1\r\n10,20,1\r\n");
    write_text(files, "run/ranks.csv", "rank,iteration\r\n0,20\r\n1,20\r\n");
    drop_rows_after(files, "run", 10);
    EXPECT_EQ(read_text(files, "run/time_split.csv"), "updates,iteration,update_seconds\r\n10,10,1\r\n");
    EXPECT_EQ(read_text(files, "run/ranks.csv"), "rank,iteration\r\n");
    EXPECT_EQ(read_text(files, "run/training.csv"), "step,iteration,epoch\r\n1,5,0.1\r\n2,10,0.2\r\n");
    EXPECT_EQ(read_text(files, "run/validation.csv"),
              "name,iteration,epoch\r\nckpt-10,10,0.2\r\n\"a,\"\"40\"\"\",5,1\r\n");
}

TEST(Rows, OfAveragesGoWithTheirFiles) {
    MemoryFiles files = run_with_guests();
    write_text(files, "run/validation.csv",
               "name,iteration\r\nckpt-40,40\r\nweight_avg_N_5,40\r\nweight_avg_mine,40\r\nweight_avg_exp_0.97,40\r\n");
    drop_averages(files, "run");
    EXPECT_EQ(read_text(files, "run/validation.csv"), "name,iteration\r\nckpt-40,40\r\nweight_avg_mine,40\r\n");
    EXPECT_THAT(files.list("run/ckpt"),
                UnorderedElementsAre("weight_avg_mine.safetensors", "weight_avg_N_x.safetensors"));
}

}  // namespace
}  // namespace cnntrain::run
