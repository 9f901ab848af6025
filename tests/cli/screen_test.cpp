// Output of a run as a person sees it on a terminal, and as programs read it from a pipe.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/pseudo_terminal.h"
#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "cnntrain/run/text_reports.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

using nlohmann::json;

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

class ScreenTest : public ::testing::Test {
protected:
    static void SetUpTestSuite() {
        folder_ = new test::TemporaryFolder();
        run("dataset cifar --train 512 --test 128 --output-dir " + (*folder_ / "data"));
    }
    static void TearDownTestSuite() {
        delete folder_;
        folder_ = nullptr;
    }

    /// `name`: of the run's folder.
    static std::string training(const std::string& name, const std::string& options = "--epochs 2") {
        return std::string(CNNTRAIN_PROGRAM) + " train --data-dir " + (*folder_ / "data") +
               " --model-size 8 --threads 1 --input-threads 1 --warmup-epochs 0 --abs-learning-rate 0.01 --seed 1 "
               "--logs-path " +
               (*folder_ / name) + " " + options;
    }
    static std::string log_of(const std::string& name) {
        return read_text(posix_files(), *folder_ / (name + "/log.txt"));
    }
    /// A training that lasts until it is stopped.
    static std::string endless(const std::string& name) {
        return training(name, "--epochs 100000 --ckpts-per-epoch 0 --no-validation");
    }

    static test::TemporaryFolder* folder_;
};
test::TemporaryFolder* ScreenTest::folder_ = nullptr;

/// The rows in front of the table of the training.
std::vector<std::string> introduction(const std::vector<std::string>& rows) {
    const auto end = std::ranges::find_if(rows, [](const std::string& row) { return row.starts_with("   epoch "); });
    EXPECT_NE(end, rows.end());
    return {rows.begin(), end};
}

TEST_F(ScreenTest, TheIntroductionFitsAScreen) {
    for (const int columns : {80, 200}) {
        const std::string name = "width" + std::to_string(columns);
        const TerminalRun seen = run_on_terminal(training(name), {.columns = columns});
        EXPECT_EQ(seen.exit_code, 0) << seen.output;
        const std::vector<std::string> rows = rows_of(seen.output, columns);
        EXPECT_LE(introduction(rows).size(), 24U) << seen.output;
        EXPECT_THAT(seen.output, AllOf(HasSubstr("75290 parameters"), HasSubstr("128 validation"),
                                       HasSubstr(*folder_ / name), HasSubstr(": accuracy "),
                                       Not(HasSubstr("Trainable Variables")), Not(HasSubstr("\"base_learning_rate"))));
        EXPECT_THAT(log_of(name), AllOf(HasSubstr("Trainable Variables:\n"), HasSubstr("\"abs_learning_rate\":0.01"),
                                        HasSubstr("\n Batch Size: 32\n")));
        for (const std::string& row : rows)
            EXPECT_THAT(row, Not(StartsWith("["))) << "what is left of a progress line";
    }
}

TEST_F(ScreenTest, TheProgressLineHasLossAccuracyRateAndTimeLeft) {
    const TerminalRun seen = run_on_terminal(training("progress"), {.columns = 120});
    EXPECT_THAT(seen.output,
                ContainsRegex("\\[ *[0-9.]+%\\] [0-9]+/32 iterations, loss [0-9.]+, accuracy [0-9.]+ %, [0-9.]+ "
                              "images/s, 0:00:0[0-9] left"));
}

TEST_F(ScreenTest, TheProgressLineNeverWraps) {
    const TerminalRun seen = run_on_terminal(training("narrow"), {.columns = 40});
    EXPECT_EQ(seen.exit_code, 0);
    std::size_t progress_lines = 0;
    for (std::size_t at = seen.output.find("\r\033[J["); at != std::string::npos;
         at = seen.output.find("\r\033[J[", at + 1)) {
        const std::size_t begin = at + 4;
        EXPECT_LT(seen.output.find('\r', begin) - begin, 40U) << seen.output.substr(begin, 120);
        ++progress_lines;
    }
    EXPECT_GT(progress_lines, 1U);
}

TEST_F(ScreenTest, AResizedTerminalGetsShorterLines) {
    const TerminalRun seen = run_on_terminal(endless("resized"), {.columns = 120,
                                                                  .awaited = "images/s",
                                                                  .then =
                                                                      [](int number) {
                                                                          usleep(700000);
                                                                          kill(number, SIGTERM);
                                                                      },
                                                                  .columns_then = 50});
    EXPECT_EQ(seen.exit_code, kInterruptedExitCode) << seen.output;
    const std::size_t last = seen.output.rfind("\r\033[J[");
    ASSERT_NE(last, std::string::npos);
    EXPECT_LT(seen.output.find('\r', last + 4) - last - 4, 50U) << seen.output.substr(last);
}

TEST_F(ScreenTest, SignalsLeaveACleanTerminal) {
    for (const int signal : {SIGTERM, SIGINT}) {
        const TerminalRun seen =
            run_on_terminal(endless("signal" + std::to_string(signal)),
                            {.awaited = "images/s", .then = [signal](int number) { kill(number, signal); }});
        EXPECT_EQ(seen.exit_code, kInterruptedExitCode) << seen.output;
        const std::vector<std::string> rows = rows_of(seen.output, 80);
        EXPECT_TRUE(rows.back().empty()) << rows.back();
        for (const std::string& row : rows)
            EXPECT_THAT(row, Not(StartsWith("["))) << signal;
        EXPECT_THAT(seen.output, HasSubstr("Stopped by a signal after iteration "));
    }
}

TEST_F(ScreenTest, AnErrorInTheMiddleLeavesACleanTerminal) {
    const TerminalRun seen = run_on_terminal(training("diverges", "--abs-learning-rate 1e30 --epochs 3"));
    EXPECT_EQ(seen.exit_code, exit_code(ErrorKind::diverged)) << seen.output;
    const std::vector<std::string> rows = rows_of(seen.output, 80);
    EXPECT_TRUE(std::ranges::any_of(rows, [](const std::string& row) { return row.starts_with("error: training"); }))
        << seen.output;
    for (const std::string& row : rows)
        EXPECT_THAT(row, Not(StartsWith("[")));
}

TEST_F(ScreenTest, ColoursAreOnlyWhereTheyAreWanted) {
    const std::string line = std::string(CNNTRAIN_PROGRAM) + " train --no-such-option";
    const std::string red = "\033[1;31merror:";
    EXPECT_THAT(run_on_terminal(line).output, HasSubstr(red));
    for (const char* variable : {"NO_COLOR=1", "CLICOLOR=0", "TERM=dumb"}) {
        EXPECT_THAT(run_on_terminal("env " + std::string(variable) + " " + line).output, Not(HasSubstr("\033")))
            << variable;
    }
    EXPECT_THAT(shell(line).text, Not(HasSubstr("\033")));
    const std::string bold = "\033[1mresnet 8";
    EXPECT_THAT(run_on_terminal(training("bold")).output, HasSubstr(bold));
    const TerminalRun plain = run_on_terminal("env NO_COLOR=1 " + training("plain"));
    EXPECT_THAT(plain.output, AllOf(HasSubstr("images/s"), Not(HasSubstr("\033[1m"))));
    const TerminalRun dumb = run_on_terminal("env TERM=dumb " + training("dumb"));
    EXPECT_THAT(dumb.output, AllOf(HasSubstr("resnet 8"), Not(HasSubstr("\033")), Not(HasSubstr("images/s, "))));
}

TEST_F(ScreenTest, VerboseShowsWhatAPipeGets) {
    const TerminalRun seen = run_on_terminal(training("verbose", "--epochs 1 --verbose"));
    EXPECT_THAT(seen.output, AllOf(HasSubstr("Command line: "), HasSubstr("Trainable Variables:"),
                                   HasSubstr("\"abs_learning_rate\":0.01"), HasSubstr("images/s")));
    expect_error("train --generated-data --dataset cifar-10 --verbose --quiet", ErrorKind::usage, {"--verbose"});
}

TEST_F(ScreenTest, QuietShowsResultsOnly) {
    const Outcome outcome = shell(training("quiet", "--epochs 2 --quiet"));
    EXPECT_EQ(outcome.exit_code, 0);
    const std::vector<std::string> lines = lines_of(outcome.text);
    ASSERT_EQ(lines.size(), 2U) << outcome.text;
    for (const std::string& line : lines)
        EXPECT_THAT(line, StartsWith("Validation top-1 accuracy: "));
    EXPECT_THAT(log_of("quiet"), AllOf(HasSubstr("Trainable Variables:"), HasSubstr("\nstep: ")));
    EXPECT_EQ(rows_of(run_on_terminal(training("quiet2", "--epochs 2 --quiet")).output, 400).size(), 3U);
}

/// The patterns of configs/benchmarks.yml find their numbers, and the lines of the original programs come in order.
TEST_F(ScreenTest, APipeGetsTheDocumentedLines) {
    const Outcome outcome = shell(training("pipe") + " 2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0);
    std::size_t at = 0;
    for (const std::string part : {"Command line: ", "\ncifar-10\n", "ResNet-8\n", "\n Batch Size: 32\n",
                                   "\n Saving to ", "\n{\"", "Trainable Variables:\n", "Total Parameters:75290\n\n",
                                   "Saved initial checkpoint to ", "\nstep: ", "Saved checkpoint to ",
                                   "Training loop completed in ", "Validation top-1 accuracy: ", "Time to train: "}) {
        const std::size_t found = outcome.text.find(part, at);
        EXPECT_NE(found, std::string::npos) << part << " is not behind the part in front of it:\n" << outcome.text;
        at = found == std::string::npos ? at : found;
    }
    for (const char* pattern : {"throughput: *[0-9.]+ samples/sec,", "accuracy: *[0-9.]+ %", "loss: *[0-9]*\\.[0-9]*",
                                "top-1 accuracy: *[0-9.]+ %", "iteration: *[0-9]+,", "Compilation time: [0-9.]+s\\."})
        EXPECT_THAT(outcome.text, ContainsRegex(pattern));
    EXPECT_THAT(outcome.text, AllOf(Not(HasSubstr("\033")), Not(HasSubstr("\r")), Not(HasSubstr("iterations, loss"))));
}

bool has_type(const json& value, metrics::JsonType type) {
    switch (type) {
        case metrics::JsonType::text:
            return value.is_string();
        case metrics::JsonType::integer:
            return value.is_number_integer();
        case metrics::JsonType::number:
            return value.is_number() || value.is_null();
        case metrics::JsonType::texts:
            return value.is_array() && std::ranges::all_of(value, [](const json& item) { return item.is_string(); });
        case metrics::JsonType::object:
            return value.is_object();
    }
    return false;
}

/// Each line is an event of the documented table, with its fields and types. Returns the names.
std::multiset<std::string> checked_events(const std::string& text) {
    std::multiset<std::string> names;
    for (const std::string& line : lines_of(text)) {
        const json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
        EXPECT_TRUE(object.is_object()) << line;
        if (!object.is_object()) continue;
        const std::string name = object.value("event", "");
        names.insert(name);
        EXPECT_TRUE(object.value("time", json()).is_number()) << line;
        const auto& events = metrics::json_events();
        const auto event = std::ranges::find(events, name, &metrics::JsonEvent::name);
        EXPECT_NE(event, events.end()) << line;
        if (event == events.end()) continue;
        for (const metrics::JsonField& field : event->fields) {
            const auto found = object.find(field.name);
            EXPECT_TRUE(found != object.end() && has_type(*found, field.type)) << field.name << " of " << line;
        }
        if (event->more.empty()) {
            EXPECT_EQ(object.size(), event->fields.size() + 2) << line;
        }
    }
    return names;
}

TEST_F(ScreenTest, JsonLinesAreTheDocumentedEvents) {
    const Outcome outcome = shell(training("json", "--epochs 2 --analyse-nans --lr 0.01 --log-format json"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::multiset<std::string> names = checked_events(outcome.text);
    for (const char* name : {"start", "plan", "variables"})
        EXPECT_EQ(names.count(name), 1U) << name;
    EXPECT_GE(names.count("progress"), 3U) << "the training and two validations";
    EXPECT_EQ(names.count("duration"), 3U);
    EXPECT_EQ(names.count("checkpoint"), 3U);
    EXPECT_EQ(names.count("validation"), 2U);
    EXPECT_EQ(names.count("nans"), 3U);
    EXPECT_GT(names.count("training"), 4U);
    EXPECT_THAT(log_of("json"), AllOf(HasSubstr("Trainable Variables:"), HasSubstr("\nstep: ")));
    const std::string quiet = shell(training("json2", "--epochs 2 --quiet --log-format json")).text;
    EXPECT_EQ(checked_events(quiet), (std::multiset<std::string>{"validation", "validation"}));
}

TEST_F(ScreenTest, ErrorsAreEventsToo) {
    const Outcome outcome =
        shell(training("json3", "--abs-learning-rate 1e30 --epochs 3 --log-format json") + " 2>&1 >/dev/null");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::diverged));
    const std::vector<std::string> lines = lines_of(outcome.text);
    ASSERT_FALSE(lines.empty());
    const json error = json::parse(lines.back());
    EXPECT_EQ(error["event"], "error");
    EXPECT_EQ(error["exit_code"], exit_code(ErrorKind::diverged));
    EXPECT_THAT(error["text"].get<std::string>(), HasSubstr("training diverged"));
    checked_events(outcome.text);
}

}  // namespace
}  // namespace cnntrain::cli
