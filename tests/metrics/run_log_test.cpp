#include "cnntrain/metrics/run_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {
namespace {

using testing::StartsWith;

const std::string kTrainingHeader = csv_header(record(TrainingRow())) + "\r\n";
const std::string kValidationHeader = csv_header(record(ValidationRow())) + "\r\n";

class RunLogTest : public testing::Test {
protected:
    RunLogTest() { files_.make_directories("/run"); }

    MemoryFiles files_;
    std::ostringstream console_;
};

TEST_F(RunLogTest, LinesGoToConsoleAndFile) {
    RunLog log(files_, console_, {.folder = "/run"});
    log.line("one");
    log.console_line("only seen");
    log.line("two\nthree");
    EXPECT_EQ(console_.str(), "one\nonly seen\ntwo\nthree\n");
    EXPECT_EQ(files_.read_text("/run/log.txt"), "one\ntwo\nthree\n");
}

TEST_F(RunLogTest, RowsArePrintedAndKept) {
    RunLog log(files_, console_, {.folder = "/run/"});
    TrainingRow row;
    row.iteration = 97;
    log.training(row);
    row.iteration = 194;
    log.training(row);
    log.validation({.name = "ckpt-194"});
    EXPECT_THAT(console_.str(), StartsWith("step:      0, iteration:     97, "));
    EXPECT_EQ(files_.read_text("/run/log.txt"), console_.str());
    EXPECT_EQ(files_.read_text("/run/training.csv"),
              kTrainingHeader + "0,97,0,0,0,0,0,0,0,0,0\r\n" + "0,194,0,0,0,0,0,0,0,0,0\r\n");
    EXPECT_EQ(files_.read_text("/run/validation.csv"), kValidationHeader + "ckpt-194,0,0,0,0,0,0,0,-1\r\n");
}

TEST_F(RunLogTest, AResumedRunAppendsWithoutAHeader) {
    for (int run = 0; run < 2; ++run) {
        RunLog log(files_, console_, {.folder = "/run"});
        log.line("line");
        log.validation({.name = "ckpt-1", .iteration = run});
    }
    EXPECT_EQ(files_.read_text("/run/validation.csv"),
              kValidationHeader + "ckpt-1,0,0,0,0,0,0,0,-1\r\n" + "ckpt-1,1,0,0,0,0,0,0,-1\r\n");
    EXPECT_THAT(files_.read_text("/run/log.txt"), StartsWith("line\nValidation"));
}

/// Notes what it gets.
class Notes final : public Sink {
public:
    explicit Notes(std::string& text) : text_(text) {}
    void add(const Record& record) override {
        text_ += std::string(record.table) + " " + std::to_string(record.iteration) + "\n";
    }
    void status(std::string_view key, std::string_view value) override {
        text_ += std::string(key) + "=" + std::string(value) + "\n";
    }

private:
    std::string& text_;
};

TEST_F(RunLogTest, SinksGetEveryRow) {
    std::string seen;
    RunLog log(files_, console_, {.folder = "/run"});
    log.training({});
    EXPECT_FALSE(log.has_sinks());
    log.add_sink(std::make_unique<Notes>(seen));
    log.training({.iteration = 1});
    log.nans({.iteration = 2});
    log.validation({.name = "ckpt-3", .iteration = 3});
    log.status("compilation_status", "compiled");
    EXPECT_EQ(seen, "training 1\nnans 2\nvalidation 3\ncompilation_status=compiled\n");
}

TEST_F(RunLogTest, InferenceIsKeptWithItsOwnColumns) {
    RunLog log(files_, console_, {.folder = "/run"});
    log.inference({.name = "random"});
    EXPECT_THAT(console_.str(), StartsWith("latency avg:   0.0000 ms, "));
    EXPECT_THAT(files_.read_text("/run/log.txt"), StartsWith("Validation top-1 accuracy [random] "));
    EXPECT_EQ(files_.read_text("/run/validation.csv"),
              csv_header(record(InferenceRow())) + "\r\nrandom,0,0,-1,0,0,0,0\r\n");
}

TEST_F(RunLogTest, WithoutAFolderOnlyTheConsoleIsWritten) {
    RunLog log(files_, console_, {});
    log.line("line");
    log.training({});
    log.validation({.name = "ckpt-1"});
    EXPECT_EQ(files_.used_bytes(), 0u);
    EXPECT_FALSE(log.has_validation("ckpt-1"));
    EXPECT_THAT(console_.str(), StartsWith("line\nstep: "));
}

TEST_F(RunLogTest, KnowsWhatIsValidated) {
    RunLog log(files_, console_, {.folder = "/run"});
    EXPECT_FALSE(log.has_validation("ckpt-10"));
    log.validation({.name = "ckpt-10"});
    EXPECT_TRUE(log.has_validation("ckpt-10"));
    EXPECT_FALSE(log.has_validation("ckpt-1"));
    EXPECT_FALSE(log.has_validation("kpt-10"));
    EXPECT_FALSE(log.has_validation("name"));
}

TEST_F(RunLogTest, AFullDiskIsAStorageError) {
    files_.set_capacity_bytes(3);
    RunLog log(files_, console_, {.folder = "/run"});
    EXPECT_THROW(log.line("more than three"), Error);
}

TEST_F(RunLogTest, ProgressIsErasedBeforeALine) {
    const Progress progress{.done = 1, .total = 4};
    const std::string text = progress_text(progress);
    const std::string erased = "\r" + std::string(text.size(), ' ') + "\r";
    {
        RunLog log(files_, console_, {.folder = "/run", .terminal = true});
        log.progress(progress);
        EXPECT_EQ(console_.str(), text);
        log.line("line");
        EXPECT_EQ(console_.str(), text + erased + "line\n");
        log.progress(progress);
        log.progress({.done = 2, .total = 4});  // too soon after the last
        EXPECT_EQ(console_.str(), text + erased + "line\n" + text);
    }
    EXPECT_EQ(console_.str(), text + erased + "line\n" + text + erased);
    EXPECT_EQ(files_.read_text("/run/log.txt"), "line\n");
}

TEST_F(RunLogTest, ProgressNeverWraps) {
    RunLog log(files_, console_, {.folder = "", .terminal = true, .terminal_width = 12});
    log.progress({.done = 1, .total = 4});
    EXPECT_EQ(console_.str(), "[ 25.0%] 1/");
}

TEST_F(RunLogTest, AFileGetsNoProgress) {
    RunLog log(files_, console_, {.folder = "/run"});
    log.progress({.done = 1, .total = 4});
    EXPECT_EQ(console_.str(), "");
}

}  // namespace
}  // namespace cnntrain::metrics
