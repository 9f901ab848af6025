// `cnntrain benchmark` as a program: its options, its mistakes, a real run of this program, a stop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

#include "cli/shell.h"
#include "data/fixtures.h"

namespace cnntrain::cli {
namespace {

using data::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

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
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("exit code 2"), HasSubstr("unknown option --no-such-option")));
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
    EXPECT_THAT(outcome.text, HasSubstr("ended with 143"));
    EXPECT_THAT(outcome.text, ContainsRegex("\n +4 +[0-9.]+ +0:0[0-9]:[0-9]+ +PASSED\n"));
    EXPECT_THAT(data::read_file(folder_ / "log/benchmark_results.json"), HasSubstr("\"resnet8_train_gen_size_4\""));
}

}  // namespace
}  // namespace cnntrain::cli
