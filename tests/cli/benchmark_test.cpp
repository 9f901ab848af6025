// `cnntrain benchmark` as a program: its options, its mistakes, a real run of this program, a stop.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

using test::TemporaryFolder;

/// Two batch sizes of ResNet-8, a few iterations each.
const std::string kSpec =
    "resnet8_train_gen:\n"
    "  cmd: python3 train.py --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size {size} --threads 1\n"
    "    --iterations 6 --log-freq 2 --no-logs --no-validation --ckpts-per-epoch 0\n"
    "  parameters:\n    size: 2,4\n"
    "  data:\n    throughput: {regexp: 'throughput: *(.*?) samples\\/sec,', skip: 1}\n"
    "  output:\n    - [Batch size, size]\n    - [samples/sec, throughput]\n"
    "endless_gen:\n  cmd: sh -c 'echo started; sleep 1000'\n"
    "broken_gen:\n  cmd: python3 train.py --no-such-option\n";

class Benchmark : public ::testing::Test {
protected:
    Benchmark() { data::write_file(folder_ / "spec.yml", kSpec); }
    Outcome run(const std::string& arguments) {
        return shell("cd " + folder_.path() + " && " + CNNTRAIN_PROGRAM + " benchmark --spec spec.yml --log-dir log " +
                     arguments);
    }
    TemporaryFolder folder_;
};

TEST_F(Benchmark, MeasuresThisProgram) {
    const Outcome outcome = run("--bench resnet8_train_gen --set seed=1");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex("\n +2 +[0-9.]+ +0:0[0-9]:[0-9]+ +PASSED\n +4 +[0-9.]+ +0:0"));
    EXPECT_THAT(outcome.text, HasSubstr("--ckpts-per-epoch 0 --seed 1"));
    EXPECT_THAT(data::read_file(folder_ / "log/benchmark_results.csv"), HasSubstr("\"resnet8_train_gen_size_4\""));
}

TEST_F(Benchmark, AChildThatRefusesItsLineIsShown) {
    const Outcome outcome = run("--benchmark broken_gen");
    EXPECT_EQ(outcome.exit_code, 1);
    EXPECT_THAT(outcome.text, HasSubstr("--no-such-option"));
}

TEST_F(Benchmark, MistakesHaveTheirExitCodes) {
    const auto expect = [&](const std::string& arguments, int exit_code, const std::string& part) {
        const Outcome outcome = run(arguments);
        EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr(part)) << arguments;
    };
    expect("--benchmark resnet8_tain_gen", 2, "did you mean resnet8_train_gen?");
    expect("--spec none.yml", 3, "none.yml: no such file");
    expect("--tiemout 3", 2, "did you mean --timeout?");
    expect("--timeout soon", 2, "--timeout expects a number");
    expect("--timeout", 2, "--timeout needs a value");
    expect("--l", 2, "ambiguous option --l");
    expect("--logging LOUD", 2, "--logging expects DEBUG");
    expect("--set =3", 2, "--set expects NAME=VALUE");
    expect("--custom-metrics-files a.py", 4, "Python");
    expect("--submit-on-slurm", 4, "batch queue");
    expect("--list --gc-monitor --no-code-sync", 0, "without effect here: --gc-monitor --no-code-sync");
}

TEST_F(Benchmark, ListsPlansAndHelps) {
    EXPECT_THAT(run("--list").text, HasSubstr("resnet8_train_gen: 2 variants"));
    EXPECT_THAT(run("--dry-run").text, ContainsRegex("command: .*train.py --dataset cifar-10 .*--micro-batch-size 4"));
    const Outcome help = shell(std::string(CNNTRAIN_PROGRAM) + " examples_utils benchmark --help");
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.text, AllOf(HasSubstr("--set NAME=VALUE"), HasSubstr("--include-convergence")));
}

TEST_F(Benchmark, AStopEndsTheProgramAndKeepsWhatIsDone) {
    const Outcome outcome =
        shell("cd " + folder_.path() + " && { " + CNNTRAIN_PROGRAM +
              " benchmark --spec spec.yml --log-dir log --benchmark resnet8_train_gen endless_gen & pid=$!; "
              "while ! grep -q started log/output.log 2>/dev/null; do sleep 0.05; done; kill -TERM $pid; wait $pid; "
              "echo ended with $?; }");
    EXPECT_THAT(outcome.text, HasSubstr("143"));
    EXPECT_THAT(outcome.text, ContainsRegex("\n +4 +[0-9.]+ +0:0[0-9]:[0-9]+ +PASSED\n"));
    EXPECT_THAT(data::read_file(folder_ / "log/benchmark_results.json"), HasSubstr("\"resnet8_train_gen_size_4\""));
}

/// Starts a benchmark whose program has started two others, one in a session of its own, sends the runner that signal,
/// and returns what remains.
std::string after_signal(const TemporaryFolder& folder, const std::string& signal) {
    data::write_file(
        folder / "tree.yml",
        "tree_gen:\n  cmd: sh -c '(setsid sleep 1000 & echo escaped $!); sleep 1000 & echo child $! of $$; "
        "trap \"\" INT; wait'\n");
    return shell("cd " + folder.path() + " && { " + CNNTRAIN_PROGRAM +
                 " benchmark --spec tree.yml --log-dir log & pid=$!; while ! grep -q child log/output.log 2>/dev/null; "
                 "do sleep 0.05; done; set -- $(grep child log/output.log) $(grep escaped log/output.log); kill -" +
                 signal +
                 " $pid; wait $pid; echo ended with $?; for i in 1 2 3 4 5 6 7 8 9 10; do kill -0 $2 || kill -0 $4 || "
                 "kill -0 $6 || { echo all gone; break; }; sleep 1; done; }")
        .text;
}

TEST_F(Benchmark, NothingIsLeftBehindHoweverItIsEnded) {
    EXPECT_THAT(after_signal(folder_, "TERM"), HasSubstr("143"));
    ASSERT_EQ(shell("rm -r " + folder_ / "log").exit_code, 0);
    const std::string killed = after_signal(folder_, "KILL");
    EXPECT_THAT(killed, HasSubstr("137"));
}

TEST_F(Benchmark, MistakesInASpecAreNamedWithTheirPlace) {
    const std::vector<std::pair<std::string, std::string>> specs = {
        {"x_gen:\n  data:\n    a: {regexp: '(x)'}\n", "line 2: x_gen: the key 'cmd' is missing: what is to be run"},
        {"x_gen:\n  cmd: echo 1\n  data:\n    a: {skip: 1}\n", "metric a: line 4: the key 'regexp' is missing"},
        {"x_gen:\n  cmd: echo 1\n  data:\n    a: {regexp: 'x'}\n", "expected exactly one group in parentheses, has 0"},
        {"x_gen:\n  cmd: echo {size}\n", "cmd: the parameter {size} is not defined"},
        {"x_gen: 3\n", "line 1: expected an entry"},
        {"x_gen: &a {<<: *a}\n", "line 1: the value contains a reference to itself"},
        {"x_gen:\n  cmd: echo 1\n  output: {a: b}\n", "line 3: output: expected a list"},
        {"x_gen: [1\n", "wrong.yml: line 2"},
        {"", "expected a mapping of benchmark names and entries"},
    };
    for (const auto& [text, part] : specs) {
        data::write_file(folder_ / "wrong.yml", text);
        const Outcome outcome = run("--spec wrong.yml");
        EXPECT_EQ(outcome.exit_code, 3) << text << outcome.text;
        EXPECT_THAT(outcome.text, AllOf(HasSubstr("error: wrong.yml"), HasSubstr(part)));
    }
    EXPECT_THAT(run("--benchmark zzz").text, HasSubstr("spec.yml"));
}

}  // namespace
}  // namespace cnntrain::cli
