// Messages of the program about the machine, and the behaviour of its waiting threads.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

/// Returns the spin counts that libgomp prints, one for each time that it is loaded.
std::vector<std::int64_t> spin_counts(const std::string& environment) {
    const std::string line = "env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " + environment +
                             " OMP_DISPLAY_ENV=verbose " CNNTRAIN_PROGRAM " --version";
    const std::string text = shell(line).text;
    const std::string key = "GOMP_SPINCOUNT = '";
    std::vector<std::int64_t> counts;
    for (std::size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1))
        counts.push_back(std::stoll(text.substr(at + key.size())));
    return counts;
}

TEST(Spinning, IsBriefUnlessTheEnvironmentSaysHowThreadsWait) {
    const std::vector<std::int64_t> by_itself = spin_counts("");
    ASSERT_EQ(by_itself.size(), 2U);  // the program starts itself once more
    EXPECT_GT(by_itself.back(), 0);
    EXPECT_LT(by_itself.back(), by_itself.front());
    EXPECT_THAT(spin_counts("GOMP_SPINCOUNT=77"), ElementsAre(77));
    EXPECT_EQ(spin_counts("OMP_WAIT_POLICY=passive").size(), 1U);
}

TEST(Spinning, TheProgramRunsWhereItCannotStartItself) {
    const Outcome outcome = shell("/lib64/ld-linux-x86-64.so.2 " CNNTRAIN_PROGRAM " --version");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, MatchesRegex("cnntrain [0-9.]+\n"));
}

TEST(Spinning, NameArgumentsAndChildrenStayAsTheyWere) {
    const test::TemporaryFolder folder;
    data::write_file(folder / "look.sh", "cat /proc/$PPID/comm; env");
    data::write_file(folder / "spec.yml", "look_gen:\n  cmd: sh look.sh\n");
    const Outcome outcome = shell("cd " + folder.path() +
                                  " && env -u GOMP_SPINCOUNT -u OMP_WAIT_POLICY " CNNTRAIN_PROGRAM
                                  " benchmark --spec spec.yml --benchmark look_gen --log-dir 'a log'");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    const Outcome output =
        shell("cat '" + (folder / "a log") + "'/*/output.log '" + (folder / "a log") + "'/output.log 2>/dev/null");
    EXPECT_THAT(output.text, ContainsRegex("cnntrain\n"));
    EXPECT_THAT(output.text, AllOf(HasSubstr("PATH="), Not(HasSubstr("SPINCOUNT")), Not(HasSubstr("STARTED_AGAIN"))));
}

TEST(Version, SaysWithWhatTheMachineComputes) {
    EXPECT_THAT(run("--version").text, MatchesRegex("cnntrain [0-9.]+\n"));
    EXPECT_THAT(run("--version --verbose").text,
                ContainsRegex("^cnntrain [0-9.]+\n"
                              "Processor: .* \\(.*, family [0-9]+, model [0-9]+\\): AVX2, FMA.*\n"
                              "Cores: [0-9]+ cores?.*; threads: [0-9]+ compute, [0-9]+ prepare input\n"
                              "Backend: cpu, oneDNN [0-9.]+ with [A-Z0-9_]+"));
    EXPECT_THAT(shell("ONEDNN_MAX_CPU_ISA=AVX2 " CNNTRAIN_PROGRAM " --version --verbose").text,
                HasSubstr("ONEDNN_MAX_CPU_ISA"));
    expect_error("--version 3", ErrorKind::usage, {"--version"});
}

TEST(Version, StandsInEveryLog) {
    const test::TemporaryFolder folder;
    const std::string line =
        "train --dataset cifar-10 --synthetic-data --model-size 8 --micro-batch-size 2 --threads 1 "
        "--iterations 1 --no-validation --logs-path " +
        (folder / "run");
    const Outcome outcome = run(line);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    for (const std::string& log : {outcome.text, data::read_file(folder / "run/log.txt")})
        EXPECT_THAT(log, ContainsRegex("\nProcessor: .*\nCores: .*; threads: 1 compute, .*\nBackend: cpu, oneDNN "));
}

}  // namespace
}  // namespace cnntrain::cli
