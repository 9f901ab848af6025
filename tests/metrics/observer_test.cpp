#include "cnntrain/run/observer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/run/text_reports.h"
#include "run/metrics/csv_files.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::metrics {
namespace {

/// Rows with two columns.
Record row(std::string_view table, const std::string& name, std::int64_t iteration = 0) {
    Record record{table, iteration, {{"name", name}, {"iteration", iteration}}};
    record.text = std::string(table) + " of " + name;
    return record;
}

/// A terminal that rewrites lines.
Terminal terminal(int columns) {
    return {.columns = [columns] { return columns; }, .rewrites = true};
}

const std::string kHeader = "name,iteration\r\n";

/// The reports of a run on console and files.
class ReportTest : public testing::Test {
protected:
    ReportTest() { files_.make_directories("/run"); }

    Observers reports(const std::string& folder = "/run", Console::Settings settings = {}) {
        Observers observers;
        observers.add(std::make_unique<Console>(console_, std::move(settings)));
        observers.add(std::make_unique<LogFile>(files_, folder));
        observers.add(std::make_unique<CsvFiles>(files_, folder));
        return observers;
    }

    MemoryFiles files_;
    std::ostringstream console_;
};

TEST_F(ReportTest, LinesGoToConsoleAndFile) {
    Observers observers = reports();
    observers.line("one");
    observers.on(Line{"only seen", Line::To::console});
    observers.line("two\nthree");
    EXPECT_EQ(console_.str(), "one\nonly seen\ntwo\nthree\n");
    EXPECT_EQ(read_text(files_, "/run/log.txt"), "one\ntwo\nthree\n");
}

TEST_F(ReportTest, RatesOfAnEmulatedDeviceSaySo) {
    Observers observers;
    auto console = std::make_unique<Console>(console_, Console::Settings{terminal(80)});
    auto log = std::make_unique<LogFile>(files_, "/run");
    console->mark_rates_as_emulated();
    log->mark_rates_as_emulated();
    observers.add(std::move(console));
    observers.add(std::move(log));
    observers.line("throughput:   3.25 samples/sec, throughput: 4 samples/sec; 5 samples");
    const std::string marked =
        "throughput:   3.25 emulated samples/sec, throughput: 4 emulated samples/sec; 5 samples\n";
    EXPECT_EQ(console_.str(), marked);
    EXPECT_EQ(read_text(files_, "/run/log.txt"), marked);
    observers.on(Progress{.done = 1, .total = 4, .rate = 25, .unit = "iterations", .rate_unit = "images"});
    EXPECT_THAT(console_.str(), ::testing::HasSubstr("25.0 emulated images/s"));
}

TEST_F(ReportTest, LinesMayHaveAPrefix) {
    Observers observers;
    observers.add(
        std::make_unique<Console>(console_, Console::Settings{{}, Extent::all, [] { return std::string("now: "); }}));
    observers.add(std::make_unique<LogFile>(files_, "/run", [] { return std::string("then: "); }));
    observers.line("\none\n\ntwo\n");
    observers.on(Row{row(kTraining, "a", 97)});
    EXPECT_EQ(console_.str(), "\nnow: one\n\nnow: two\n\nnow: training of a\n");
    EXPECT_EQ(read_text(files_, "/run/log.txt"), "\nthen: one\n\nthen: two\n\nthen: training of a\n");
}

TEST(DatedPrefix, HasMillisecondsInSixDigits) {
    EXPECT_THAT(dated_prefix(), testing::MatchesRegex("20[0-9][0-9]-[01][0-9]-[0-3][0-9] [0-2][0-9]:[0-5][0-9]:"
                                                      "[0-6][0-9]\\.000[0-9][0-9][0-9]: I "));
}

TEST_F(ReportTest, RowsArePrintedAndKept) {
    Observers observers = reports("/run/");
    observers.on(Row{row(kTraining, "a", 97)});
    observers.on(Row{row(kTraining, "b", 194)});
    observers.on(Row{row(kValidation, "ckpt-194")});
    EXPECT_EQ(console_.str(), "training of a\ntraining of b\nvalidation of ckpt-194\n");
    EXPECT_EQ(read_text(files_, "/run/log.txt"), console_.str());
    EXPECT_EQ(read_text(files_, "/run/training.csv"), kHeader + "a,97\r\nb,194\r\n");
    EXPECT_EQ(read_text(files_, "/run/validation.csv"), kHeader + "ckpt-194,0\r\n");
}

TEST_F(ReportTest, CountsOfNansAreForOthers) {
    Observers observers = reports();
    observers.on(Row{record(NanRow{.iteration = 2})});
    EXPECT_EQ(console_.str(), "");
    EXPECT_EQ(files_.used_bytes(), 0U);
}

TEST_F(ReportTest, AResumedRunAppendsWithoutAHeader) {
    for (int run = 0; run < 2; ++run) {
        Observers observers = reports();
        observers.line("line");
        observers.on(Row{row(kValidation, "ckpt-1", run)});
    }
    EXPECT_EQ(read_text(files_, "/run/validation.csv"), kHeader + "ckpt-1,0\r\nckpt-1,1\r\n");
    EXPECT_THAT(read_text(files_, "/run/log.txt"), StartsWith("line\nvalidation"));
}

TEST_F(ReportTest, InferenceStandsInValidationCsvAndNotBesideOtherColumns) {
    Observers observers = reports();
    observers.on(Row{row(kInference, "random")});
    EXPECT_EQ(read_text(files_, "/run/validation.csv"), kHeader + "random,0\r\n");
    const Record other{kValidation, 0, {{"name", std::string("x")}}};
    for (const Row::Use use : {Row::Use::announced, Row::Use::logged})
        EXPECT_EQ(kind_of([&] { observers.on(Row{other, use}); }), ErrorKind::usage);
    EXPECT_NO_THROW(observers.on(Row{row(kValidation, "y"), Row::Use::announced}));
    EXPECT_EQ(read_text(files_, "/run/validation.csv"), kHeader + "random,0\r\n");
}

TEST_F(ReportTest, AFileOfAnEarlierVersionGoesOnWithItsOwnColumns) {
    Record longer = row(kValidation, "ckpt-2", 2);
    longer.fields.push_back({"top5", 92.5});
    longer.later_fields = 1;
    reports().on(Row{row(kValidation, "ckpt-1", 1)});
    reports().on(Row{longer});
    EXPECT_EQ(read_text(files_, "/run/validation.csv"), kHeader + "ckpt-1,1\r\nckpt-2,2\r\n");

    files_.make_directories("/new");
    reports("/new").on(Row{longer});
    EXPECT_EQ(read_text(files_, "/new/validation.csv"), "name,iteration,top5\r\nckpt-2,2,92.5\r\n");
    longer.later_fields = 0;
    EXPECT_THROW(reports().on(Row{longer, Row::Use::announced}), Error);
}

TEST_F(ReportTest, AShorterRowLeavesKnownColumnsEmpty) {
    Record longer = row(kValidation, "ckpt-1", 1);
    longer.fields.push_back({"loss", 2.5});
    longer.fields.push_back({"balanced", 50.0});
    reports().on(Row{longer});
    Record shorter = row(kValidation, "ckpt-2", 2);
    EXPECT_THROW(reports().on(Row{shorter}), Error);
    shorter.more_columns = {"loss"};
    EXPECT_THROW(reports().on(Row{shorter}), Error);
    shorter.more_columns = {"balanced", "loss"};
    reports().on(Row{shorter});
    EXPECT_EQ(read_text(files_, "/run/validation.csv"),
              "name,iteration,loss,balanced\r\nckpt-1,1,2.5,50\r\nckpt-2,2,,\r\n");
}

TEST_F(ReportTest, KnowsWhatIsValidated) {
    EXPECT_FALSE(is_validated(files_, "/run", "ckpt-10"));
    reports().on(Row{row(kValidation, "ckpt-10")});
    EXPECT_TRUE(is_validated(files_, "/run", "ckpt-10"));
    EXPECT_FALSE(is_validated(files_, "/run", "ckpt-1"));
    EXPECT_FALSE(is_validated(files_, "/run", "kpt-10"));
    EXPECT_FALSE(is_validated(files_, "/run", "name"));
}

TEST_F(ReportTest, TheInitialCheckpointIsForTheConsoleOnly) {
    Observers observers = reports();
    observers.on(SavedCheckpoint{0, "/run/ckpt-0", 0.25});
    observers.on(SavedCheckpoint{9, "/run/ckpt-9", 0.25});
    EXPECT_EQ(console_.str(), "Saved initial checkpoint to /run/ckpt-0\nSaved checkpoint to /run/ckpt-9 in 0.250s\n");
    EXPECT_EQ(read_text(files_, "/run/log.txt"), "Saved checkpoint to /run/ckpt-9 in 0.250s\n");
}

TEST_F(ReportTest, AFullDiskIsAStorageError) {
    files_.set_capacity_bytes(3);
    Observers observers = reports();
    EXPECT_THROW(observers.line("more than three"), Error);
}

TEST_F(ReportTest, ProgressIsErasedBeforeALine) {
    const Progress progress{.done = 1, .total = 4};
    const std::string erased = "\r\033[J";
    const std::string text = erased + progress_text(progress) + "\r";
    {
        Observers observers = reports("/run", {terminal(80)});
        observers.on(progress);
        EXPECT_EQ(console_.str(), text);
        observers.line("line");
        EXPECT_EQ(console_.str(), text + erased + "line\n");
        observers.on(progress);
        observers.on(Progress{.done = 2, .total = 4});  // too soon after the last
        EXPECT_EQ(console_.str(), text + erased + "line\n" + text);
    }
    EXPECT_EQ(console_.str(), text + erased + "line\n" + text + erased);
    EXPECT_EQ(read_text(files_, "/run/log.txt"), "line\n");
}

TEST_F(ReportTest, ProgressNeverWraps) {
    Observers observers = reports("/run", {terminal(12)});
    observers.on(Progress{.done = 1, .total = 4});
    EXPECT_EQ(console_.str(), "\r\033[J[ 25.0%]\r");
}

TEST_F(ReportTest, DiagnosticsRemoveTheProgressLine) {
    Observers observers = reports("/run", {terminal(80)});
    observers.on(Progress{.done = 1, .total = 4});
    ::testing::internal::CaptureStderr();
    log::warning("a warning");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[warning] a warning\n");
    EXPECT_THAT(console_.str(), ::testing::EndsWith("\r\033[J"));
}

const RunDescription kRun{.version = "1",
                          .name = "RN",
                          .folder = "/run",
                          .command_line = "cnntrain train",
                          .machine = {"Processor: P"},
                          .io_line = "16 bits",
                          .title = "resnet 8, batch norm",
                          .topics = {{"Data", "10 images of a set with a name that is long"}},
                          .summary = "\nsummary\n",
                          .settings = R"({"a":1})"};

void tell_all(Observers& observers) {
    observers.on(kRun);
    observers.on(VariableList{"variables\n", 12});
    observers.detail("detail");
    observers.on(Duration{kCompilation, 2, "compiled"});
    observers.on(Row{row(kTraining, "a", 97)});
    observers.on(Result{"result", "prediction", R"({"image": "a"})"});
    observers.on(Row{row(kValidation, "ckpt")});
    observers.on(SavedCheckpoint{9, "ckpt-9", 0.25});
}

const std::string kAllLines =
    "Command line: cnntrain train\nProcessor: P\n16 bits\n\nsummary\n\n{\"a\":1}\nvariables\n\ndetail\ncompiled\n"
    "training of a\nresult\nvalidation of ckpt\nSaved checkpoint to ckpt-9 in 0.250s\n";

TEST_F(ReportTest, AScreenShowsSettingsInFewLines) {
    Observers observers = reports("/run", {terminal(40), Extent::brief});
    tell_all(observers);
    EXPECT_EQ(console_.str(),
              "resnet 8, batch norm\nData:          10 images of a set with\n               a name that is long\n"
              "compiled\ntraining of a\nresult\nvalidation of ckpt\nSaved checkpoint to ckpt-9 in 0.250s\n");
    std::string in_file = kAllLines;
    in_file.erase(in_file.find("16 bits\n"), 8);
    EXPECT_EQ(read_text(files_, "/run/log.txt"), in_file);
}

/// The columns of an image network: loss and accuracy.
Columns columns_of_images() {
    return {.unit = {"image", "images", "img"},
            .training = {{.name = "loss", .output = "loss", .label = "loss"}},
            .validation = {{.name = "val_acc", .output = "correct", .scale = 100, .label = "accuracy"},
                           {.name = "val_loss", .output = "loss", .at_end = true, .label = "loss"}}};
}

void tell_epoch(Observers& observers, double epoch, double accuracy) {
    const Columns columns = columns_of_images();
    const std::int64_t iteration = std::llround(10 * epoch);
    const TrainingRow training{.iteration = iteration, .epoch = epoch, .results = {{2.5, 2.25}}};
    observers.on(
        Progress{.done = iteration, .total = 30, .rate = 812, .elapsed_seconds = 10.0 * epoch, .rate_unit = "images"});
    Record row = record(training, columns);
    row.text = "a log line";
    observers.on(Row{row});
    if (accuracy > 0) {
        observers.on(Progress{.done = 4, .total = 4, .rate = 90, .elapsed_seconds = 1, .is_silent = true});
        Record validation = record(ValidationRow{.name = "ckpt", .epoch = epoch, .results = {accuracy, 1.5}}, columns);
        validation.text = "a validation line";
        observers.on(Row{validation});
        observers.on(ValidationCompared{accuracy > 50});
    }
    observers.on(HostStepEnded{iteration});
}

TEST_F(ReportTest, AScreenShowsARowAnEpoch) {
    const auto quiet = terminal(0);
    {
        Observers observers = reports("/run", {quiet, Extent::brief});
        observers.on(TrainingSize{.iterations = 30, .epochs = 3});
        tell_epoch(observers, 1, 40);
        tell_epoch(observers, 2, 60.25);
        tell_epoch(observers, 3, 0);
        observers.on(TrainingFinished{});
    }
    EXPECT_EQ(console_.str(),
              "   epoch  train loss  val loss  accuracy  images/s      left\n"
              "    1.00      2.2500    1.5000   40.00 %     812.0   0:00:20\n"
              "    2.00      2.2500    1.5000   60.25 %     812.0   0:00:10  best\n"
              "    3.00      2.2500                         812.0   0:00:00\n");
    EXPECT_EQ(read_text(files_, "/run/log.txt"),
              "a log line\na validation line\na log line\na validation line\na log line\n");
}

/// Epochs of a pretraining end between log lines.
TEST_F(ReportTest, AScreenShowsTheLastPartOfAnEpoch) {
    Observers observers = reports("/run", {terminal(0), Extent::brief});
    observers.on(TrainingSize{.iterations = 30, .epochs = 3});
    tell_epoch(observers, 1.5, 0);
    tell_epoch(observers, 2.25, 0);
    observers.on(TrainingFinished{});
    EXPECT_EQ(console_.str(),
              "   epoch  train loss  images/s      left\n"
              "    1.50      2.2500     812.0   0:00:15\n"
              "    2.25      2.2500     812.0   0:00:07\n");
}

TEST_F(ReportTest, AScreenShowsNewColumnsUnderANewHead) {
    Observers observers = reports("/run", {terminal(0), Extent::brief});
    observers.on(TrainingSize{.iterations = 30, .epochs = 3});
    tell_epoch(observers, 1, 0);
    tell_epoch(observers, 2, 40);
    EXPECT_EQ(console_.str(),
              "   epoch  train loss  images/s      left\n"
              "    1.00      2.2500     812.0   0:00:20\n"
              "   epoch  train loss  val loss  accuracy  images/s      left\n"
              "    2.00      2.2500    1.5000   40.00 %     812.0   0:00:10\n");
}

TEST_F(ReportTest, AScreenShowsNoLatencyThatWasNotMeasured) {
    const Columns columns = columns_of_images();
    ValidationRow row{.name = "ckpt-9", .epoch = 1, .results = {40, 1.5}, .samples_per_second = 100};
    Observers observers = reports("/run", {terminal(80), Extent::brief});
    for (const double latency : {kNotMeasured, 12.0}) {
        row.latency = latency;
        Record validation = record(row, columns);
        validation.text = "documented line";
        observers.on(Row{validation});
    }
    EXPECT_EQ(console_.str(), "ckpt-9 (epoch 1.00): accuracy 40.00 %, loss 1.5000, 100.0 img/s\ndocumented line\n");
}

TEST_F(ReportTest, WithoutATerminalAllIsShown) {
    Observers observers = reports();
    tell_all(observers);
    EXPECT_EQ(console_.str(), kAllLines);
}

TEST_F(ReportTest, WhereOnlyResultsAreWantedNothingElseIsShown) {
    Observers observers = reports("/run", {terminal(80), Extent::results});
    tell_all(observers);
    observers.on(Progress{.done = 1, .total = 4});
    observers.on(Status{kCompilationStatus, kCompiling});
    EXPECT_EQ(console_.str(), "result\nvalidation of ckpt\n");
}

TEST(JsonReport, HasAnObjectForEachEvent) {
    std::ostringstream out;
    Observers observers;
    observers.add(std::make_unique<JsonLines>(out, Extent::all));
    tell_all(observers);
    observers.on(Progress{.done = 1, .total = 4, .readings = {{"loss", std::nan(""), false}}});
    observers.on(Progress{.done = 2, .total = 4});  // too soon after the last
    std::vector<nlohmann::json> events;
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
        events.push_back(nlohmann::json::parse(line));
    std::vector<std::string> names;
    for (const nlohmann::json& event : events)
        names.push_back(event.at("event"));
    EXPECT_THAT(names, ::testing::ElementsAre("start", "variables", "message", "duration", "training", "prediction",
                                              "validation", "checkpoint", "progress"));
    EXPECT_EQ(events.at(0).at("settings").at("a"), 1);
    EXPECT_EQ(events.at(4).at("iteration"), 97);
    EXPECT_EQ(events.at(5).at("image"), "a");
    EXPECT_TRUE(events.at(8).at("readings").at("loss").is_null());
    EXPECT_TRUE(events.at(8).at("seconds_left").is_null());
}

TEST_F(ReportTest, AFileGetsNoProgress) {
    reports().on(Progress{.done = 1, .total = 4});
    EXPECT_EQ(console_.str(), "");
}

TEST_F(ReportTest, AFileGetsALineAMinuteOfSilentWork) {
    Observers observers = reports();
    const Progress progress{.done = 30,
                            .total = 120,
                            .rate = 2,
                            .elapsed_seconds = 60,
                            .unit = "batches",
                            .rate_unit = "images",
                            .is_silent = true};
    observers.on(progress);
    observers.on(progress);
    EXPECT_EQ(console_.str(), "[ 25.0%] 30/120 batches, 2.0 images/s, 0:03:00 left\n");
    EXPECT_FALSE(exists(files_, "/run/log.txt"));
}

/// Notes every event, after its own name.
class Notes final : public Handles<Notes> {
public:
    Notes(std::string name, std::string& text) : name_(std::move(name)), text_(text) {}

    void handle(const Line& line) {
        note((line.to == Line::To::console ? "console_line " : "line ") + std::string(line.text));
    }
    void handle(const Status& status) { note(std::string(status.key) + "=" + std::string(status.value)); }
    void handle(const Row& row) { note((row.use == Row::Use::announced ? "expect " : "row ") + row.record.text); }
    void handle(const Progress& progress) { note("progress " + std::to_string(progress.done)); }
    void handle(const TrainingSize& size) { note("planned " + std::to_string(size.iterations)); }
    void handle(const WeightsInitialised& weights) { note(weights.parameters.at(0)); }
    void handle(const TrainingBegan& begin) { note("began " + std::to_string(begin.iteration)); }
    void handle(const SavedCheckpoint& checkpoint) { note("saved " + checkpoint.prefix); }
    void handle(const HostStepEnded& step) { note("step " + std::to_string(step.iteration)); }
    void handle(const TrainingFinished& /*end*/) { note("finished"); }
    void handle(const ValidationBegan& /*begin*/) { note("validation"); }
    void handle(const EvaluationBegan& evaluation) {
        note("evaluation " + std::to_string(static_cast<int>(evaluation.epoch)));
    }
    void handle(const ValidationEnded& /*end*/) { note("validated"); }
    void handle(const RunEnded& /*end*/) { note("ended"); }

private:
    void note(const std::string& what) { text_ += name_ + ":" + what + ";"; }

    std::string name_;
    std::string& text_;
};

TEST(Observers, EachEventGoesToAllInTheirOrder) {
    std::string seen;
    Observers observers;
    observers.add(std::make_unique<Notes>("a", seen));
    observers.add(std::make_unique<Notes>("b", seen));
    observers.line("x");
    observers.on(Line{"y", Line::To::console});
    observers.on(Status{"k", "v"});
    observers.on(Row{row(kValidation, "n"), Row::Use::announced});
    observers.on(Row{row(kTraining, "n")});
    observers.on(Progress{.done = 3});
    observers.on(TrainingSize{.iterations = 4});
    observers.on(WeightsInitialised{{"w"}});
    observers.on(TrainingBegan{5});
    observers.on(SavedCheckpoint{6, "p", 0});
    observers.on(HostStepEnded{7});
    observers.on(TrainingFinished{});
    observers.on(ValidationBegan{});
    observers.on(EvaluationBegan{8});
    observers.on(ValidationEnded{});
    observers.on(RunEnded{});
    std::string expected;
    for (const std::string event :
         {"line x", "console_line y", "k=v", "expect validation of n", "row training of n", "progress 3", "planned 4",
          "w", "began 5", "saved p", "step 7", "finished", "validation", "evaluation 8", "validated", "ended"}) {
        expected += "a:" + event + ";b:" + event + ";";
    }
    EXPECT_EQ(seen, expected);
}

}  // namespace
}  // namespace cnntrain::metrics
