// poprun lines with real mpirun and small programs: what the instances see, how they end, and that nothing stays
// behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

constexpr const char* kAllowed = "export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; ";

/// Open MPI 5 puts a blank between a tag and what an instance prints.
std::string with_plain_tags(const std::string& text) {
    return std::regex_replace(text, std::regex(R"((\[1,\d+\]<std(out|err)>:) )"), "$1");
}

/// A line of shell in which "poprun" is the program's launcher.
Outcome script(const std::string& line) {
    Outcome outcome = shell(std::string(kAllowed) + "poprun() { " CNNTRAIN_PROGRAM " poprun \"$@\"; }; " + line);
    outcome.text = with_plain_tags(outcome.text);
    return outcome;
}

/// "--num-instances 2 --num-replicas 4 ".
std::string sized(int instances, int replicas) {
    return "--num-instances " + std::to_string(instances) + " --num-replicas " + std::to_string(replicas) + " ";
}

std::vector<std::string> sorted_lines(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        lines.push_back(text.substr(at, end - at));
        at = end + 1;
    }
    std::ranges::sort(lines);
    return lines;
}

constexpr const char* kWhoAmI =
    "sh -c 'echo $OMPI_COMM_WORLD_RANK/$OMPI_COMM_WORLD_SIZE $POPDIST_REPLICA_INDEX_OFFSET+$POPDIST_NUM_LOCAL_REPLICAS"
    " of $POPDIST_NUM_TOTAL_REPLICAS, $POPDIST_LOCAL_INSTANCE_INDEX here, $POPDIST_NUM_IPUS_PER_REPLICA'";

TEST(Poprun, InstancesKnowTheirReplicas) {
    EXPECT_THAT(sorted_lines(script("poprun " + sized(2, 4) + "--ipus-per-replica 3 " + kWhoAmI + " 2>/dev/null").text),
                ElementsAre("[1,0]<stdout>:0/2 0+2 of 4, 0 here, 3", "[1,1]<stdout>:1/2 2+2 of 4, 1 here, 3"));
    EXPECT_THAT(sorted_lines(script("poprun " + sized(4, 4) + kWhoAmI + " 2>/dev/null").text),
                ElementsAre("[1,0]<stdout>:0/4 0+1 of 4, 0 here, 1", "[1,1]<stdout>:1/4 1+1 of 4, 1 here, 1",
                            "[1,2]<stdout>:2/4 2+1 of 4, 2 here, 1", "[1,3]<stdout>:3/4 3+1 of 4, 3 here, 1"));
}

TEST(Poprun, IsAlsoALinkToTheProgram) {
    const std::string link = std::regex_replace(std::string(CNNTRAIN_PROGRAM), std::regex("cnntrain$"), "poprun");
    EXPECT_EQ(with_plain_tags(shell(kAllowed + link + " echo hello 2>/dev/null").text), "[1,0]<stdout>:hello\n");
    EXPECT_THAT(shell(link + " --help").text, StartsWith("usage: "));
    EXPECT_EQ(shell(link + " --version").text, run("--version").text);
}

TEST(Poprun, LocalHostsAreLeftOut) {
    const Outcome outcome = script("poprun --host localhost,127.0.0.1 " + sized(2, 2) + "echo hello");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("--host"), HasSubstr("[1,1]")));
}

TEST(Poprun, TheInputIsThatOfInstanceZero) {
    EXPECT_EQ(script("echo words | poprun " + sized(2, 2) + "cat 2>/dev/null").text, "[1,0]<stdout>:words\n");
}

TEST(Poprun, OutputThatCannotBeWrittenIsAnError) {
    const Outcome full = script("poprun " + sized(2, 2) + "echo hello >/dev/full");
    EXPECT_EQ(full.exit_code, 5);
    EXPECT_THAT(full.text, HasSubstr("the standard output could not be written"));
    EXPECT_EQ(script("poprun " + sized(2, 2) + "sh -c 'echo hello; exit 9' >/dev/full").exit_code, 9);
}

TEST(Poprun, TheExitCodeIsThatOfTheFirstThatFails) {
    EXPECT_EQ(script("poprun " + sized(2, 2) + "sh -c 'exit $((OMPI_COMM_WORLD_RANK * 5))'").exit_code, 5);
    EXPECT_EQ(
        script("poprun " + sized(2, 2) + "sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] && sleep 100; kill -KILL $$'").exit_code,
        137);
    EXPECT_EQ(script("poprun " + sized(2, 2) + "true").exit_code, 0);
}

TEST(Poprun, WhatCannotBeStartedIsSaidBefore) {
    const Outcome missing = script("poprun " + sized(2, 2) + "no-such-program");
    EXPECT_EQ(missing.exit_code, 127);
    EXPECT_THAT(missing.text, HasSubstr("error: poprun: no-such-program: there is no such program"));
    const Outcome crowd = script("poprun " + sized(100'000, 100'000) + "true");
    EXPECT_EQ(crowd.exit_code, 2);
    EXPECT_THAT(crowd.text, HasSubstr("100000 instances on"));
    expect_error("poprun --num-instances 3 --num-replicas 4 true", ErrorKind::usage, {"--num-replicas 4"});
    expect_error("poprun --host '$HOSTS' true", ErrorKind::usage, {"'$HOSTS'"});
}

TEST(Poprun, WithoutOpenMpiOneInstanceRuns) {
    const std::string bare =
        "mkdir -p bin && ln -sf $(command -v sh) bin/sh && ln -sf $(command -v env) bin/env && PATH=$PWD/bin ";
    const test::TemporaryFolder folder;
    const Outcome one = script("cd " + folder.path() + " && " + bare + CNNTRAIN_PROGRAM +
                               " poprun --num-replicas 4 sh -c 'echo $POPDIST_NUM_LOCAL_REPLICAS; exit 3'");
    EXPECT_EQ(one.exit_code, 3);
    EXPECT_THAT(one.text, HasSubstr("\n4\n"));
    const Outcome two =
        script("cd " + folder.path() + " && " + bare + CNNTRAIN_PROGRAM + " poprun " + sized(2, 2) + "sh");
    EXPECT_EQ(two.exit_code, 4);
    EXPECT_THAT(two.text, HasSubstr("openmpi-bin"));
}

TEST(Poprun, ShowsOneInstanceAndTheErrorsOfAnotherThatFails) {
    const std::string line = "poprun " + sized(2, 2) +
                             "--only-output-from-instance 0 sh -c "
                             "'echo out $OMPI_COMM_WORLD_RANK; echo err $OMPI_COMM_WORLD_RANK >&2; exit ";
    const Outcome good = script(line + "0'");
    EXPECT_THAT(good.text, HasSubstr("[1,0]"));
    EXPECT_THAT(good.text, Not(HasSubstr("[1,1]")));
    const Outcome bad = script(line + "$((OMPI_COMM_WORLD_RANK * 9))'");
    EXPECT_EQ(bad.exit_code, 9);
    EXPECT_THAT(bad.text, AllOf(ContainsRegex("of instance 1:\n ?err 1\n"), Not(HasSubstr("out 1"))));
}

TEST(Poprun, InstancesKeepArgumentsAndVariablesAsTheyAre) {
    EXPECT_EQ(script("poprun printf '<%s>' 'two  words' '' 'a\"b' 'c,d' '$HOME' '\\n' 2>/dev/null").text,
              "[1,0]<stdout>:<two  words><><a\"b><c,d><$HOME><\\n>");
    const Outcome variables =
        script("env with.dot=1 POPDIST_REPLICA_INDEX_OFFSET=7 " CNNTRAIN_PROGRAM " poprun env 2>/dev/null");
    EXPECT_THAT(variables.text, AllOf(HasSubstr("with.dot=1\n"), HasSubstr("POPDIST_REPLICA_INDEX_OFFSET=0\n")));
}

TEST(Poprun, AnInstanceNeedsItsRankAndItsProgram) {
    expect_error("poprun-instance true", ErrorKind::usage, {"POPDIST_NUM_LOCAL_REPLICAS"});
    expect_error("poprun-instance", ErrorKind::usage, {"expects"});
    const std::string rank =
        "POPDIST_NUM_LOCAL_REPLICAS=1 OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_LOCAL_RANK=0 " CNNTRAIN_PROGRAM
        " poprun-instance ";
    EXPECT_EQ(shell(rank + "no-such-program").exit_code, 127);
    const Outcome folder = shell(rank + "/");
    EXPECT_EQ(folder.exit_code, 126);
    EXPECT_THAT(folder.text, HasSubstr("error: poprun: / cannot be started here: "));
}

TEST(Poprun, SaysWhatItStarts) {
    EXPECT_THAT(
        script("poprun -v " + sized(2, 2) + "true").text,
        AllOf(ContainsRegex("[0-9][0-9]:[0-9][0-9]:[0-9][0-9]\\.[0-9][0-9][0-9] [0-9]+ POPRUN \\[I\\] Running command: "
                            "'mpirun' '--tag-output' '--bind-to' 'none' "),
              ContainsRegex("POPRUN \\[I\\] Waiting for mpirun \\(PID [0-9]+\\)\n"), Not(HasSubstr("topology"))));
    EXPECT_THAT(script("POPRUN_LOG_LEVEL=TRACE poprun " + sized(2, 2) + "true").text, HasSubstr("POPRUN"));
    EXPECT_THAT(script("poprun --print-topology 1 " + sized(2, 2) + "true").text, Not(HasSubstr("POPRUN [")));
}

TEST(Poprun, ADryRunStartsNothing) {
    const test::TemporaryFolder folder;
    const Outcome outcome =
        script("cd " + folder.path() + " && poprun --dry-run --export-config settings.yml " + sized(2, 2) +
               "--mpi-local-args '-x HOME' touch here 2>/dev/null; ls; poprun --import-config settings.yml touch here");
    EXPECT_THAT(outcome.text, ContainsRegex("\nmpirun --tag-output --bind-to none .*-np 2 "
                                            ".* poprun-instance touch here\nsettings.yml\n"));
    EXPECT_EQ(shell("ls " + folder.path()).text, "here\nsettings.yml\n");
}

TEST(Poprun, ADryRunOfTheProgramRunsOnceHere) {
    const std::string program = "python3 train.py --dataset cifar-10 --generated-data --model-size 8 --dry-run";
    const Outcome here = script("poprun " + sized(2, 4) + program);
    EXPECT_EQ(here.exit_code, 0);
    EXPECT_EQ(count_of("Dry run:", here.text), 1U);
    EXPECT_THAT(here.text, Not(HasSubstr("[1,0]<stdout>")));
    const Outcome elsewhere = script("poprun --host no-such-host-1,no-such-host-2 " + sized(2, 2) + program);
    EXPECT_EQ(elsewhere.exit_code, 0);
    EXPECT_THAT(elsewhere.text, AllOf(HasSubstr("1 (replicas) x 2 (processes)"), HasSubstr("no such host")));
    EXPECT_EQ(script("poprun " + sized(2, 2) + program + " --epochs x").exit_code, 2);
    EXPECT_EQ(count_of("[1,", script("poprun " + sized(2, 2) + "echo --dry-run").text), 2U);
}

TEST(Poprun, AValidationIsPrintedOnceAndByAllOnRequest) {
    const test::TemporaryFolder folder;
    const std::string model =
        "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 8 --threads 1 --input-threads 1 ";
    ASSERT_EQ(script("cd " + folder.path() + " && " CNNTRAIN_PROGRAM " train " + model +
                     "--iterations 2 --no-validation --logs-path run")
                  .exit_code,
              0);
    const std::string line = "cd " + folder.path() + " && poprun " + sized(2, 2) + "validation.py " + model +
                             "--iterations 2 --no-logs --restore-path run/ckpt-2 ";
    const Outcome once = script(line);
    EXPECT_EQ(once.exit_code, 0);
    EXPECT_EQ(count_of("Validation top-1 accuracy", once.text), 1U) << once.text;
    const Outcome all = script(line + "--log-all-instances true");
    EXPECT_EQ(count_of("[ckpt-2] (iteration:      2, epoch:", all.text), 2U) << all.text;
}

TEST(Poprun, AProfileCountsTheSamplesOfOneInstance) {
    const Outcome outcome = script("poprun " + sized(2, 2) + CNNTRAIN_PROGRAM +
                                   " profile train --dataset cifar-10 --generated-data --model-size 8 "
                                   "--micro-batch-size 4 --threads 1 --profile-steps 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, HasSubstr("2 steps of 4 images"));
}

TEST(Poprun, RequestsOfAllInstancesHaveOneResult) {
    const test::TemporaryFolder folder;
    const Outcome outcome = script("cd " + (folder / "") + " && poprun " + sized(2, 2) + CNNTRAIN_PROGRAM +
                                   " inference --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 "
                                   "--threads 1 --iterations 3 --repeat 2 --logs-path run");
    EXPECT_EQ(outcome.exit_code, 0);
    const std::regex result("Validation top-1 accuracy");
    EXPECT_EQ(std::distance(std::sregex_iterator(outcome.text.begin(), outcome.text.end(), result), {}), 2);
    const std::vector<std::string> rows = sorted_lines(data::read_file(folder / "run/validation.csv"));
    ASSERT_EQ(rows.size(), 3U);
    constexpr const char* kSamplesOfBoth = ",24,";
    EXPECT_THAT(rows[1], HasSubstr(kSamplesOfBoth));
    EXPECT_THAT(rows[2], HasSubstr(kSamplesOfBoth));
}

TEST(Poprun, QuestionsOfAllInstancesHaveOneThroughput) {
    const test::TemporaryFolder folder;
    const Outcome outcome =
        script("cd " + (folder / "") + " && poprun " + sized(2, 2) +
               CNNTRAIN_PROGRAM
               " run_squad_runtime.py --generated-data "
               "--num-synthetic-dataset-samples 8 --vocab-file " CNNTRAIN_SOURCE_DIR
               "/tests/data/bert/vocab.txt "
               "--vocab-size 512 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 --intermediate-size 32 "
               "--seq-length 32 --micro-batch-size 4 --threads 1 --num-iter 3 --logs-path run");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    const std::regex line("batch size:    4, latency avg: *[0-9.]+ ms, .*, throughput: *([0-9.]+) samples/sec, ");
    const std::sregex_iterator found(outcome.text.begin(), outcome.text.end(), line);
    ASSERT_EQ(std::distance(found, {}), 1);
    const std::vector<std::string> rows = sorted_lines(data::read_file(folder / "run/validation.csv"));
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_THAT(rows[0] + rows[1], HasSubstr(",48,"));  // of both instances with two threads each
}

TEST(Poprun, InstancesTakeTheirCores) {
    const auto lines = [](const std::string& options) {
        return script("poprun " + sized(2, 2) + options + CNNTRAIN_PROGRAM " train --dataset no-such").text;
    };
    EXPECT_THAT(lines(""), AnyOf(HasSubstr("0 of 2"), HasSubstr("1 of 2")));
    EXPECT_THAT(lines("--numa-aware no "),
                ContainsRegex("\\[info\\] instance [01] of 2: all cores, threads for [0-9]+ of them"));
    EXPECT_THAT(script("poprun " CNNTRAIN_PROGRAM " train --dataset no-such").text, Not(HasSubstr("instance 0 of 1")));
}

/// Lines of shell that wait for something, at most 20 seconds.
constexpr const char* kFunctions = R"(
until_there() { i=0; until [ -e "$1" ] || [ $i = 400 ]; do sleep 0.05; i=$((i+1)); done; }
until_gone() { i=0; while kill -0 $1 2>/dev/null && [ $i -lt 400 ]; do sleep 0.05; i=$((i+1)); done; }
all_gone() { for f in rank.*; do until_gone $(cat $f); kill -0 $(cat $f) 2>/dev/null && echo left; done; echo checked; }
started() { for r in 0 1; do until_there rank.$r; done; }
)";

/// An instance that writes its number into a file and stays, unless `on_stop` ends it.
std::string staying(const std::string& on_stop) {
    return "sh -c '" + on_stop +
           " echo $$ >tmp.$OMPI_COMM_WORLD_RANK; mv tmp.$OMPI_COMM_WORLD_RANK rank.$OMPI_COMM_WORLD_RANK; "
           "while true; do sleep 0.1; done'";
}

class PoprunEnds : public ::testing::Test {
protected:
    std::string ended(const std::string& instance, const std::string& how) {
        return script("cd " + folder_.path() + "; " + kFunctions + CNNTRAIN_PROGRAM " poprun " + sized(2, 2) +
                      instance + " >output 2>&1 & pid=$!; started; " + how +
                      "; wait $pid 2>/dev/null; echo code $?; all_gone")
            .text;
    }
    std::string output() const { return with_plain_tags(data::read_file(folder_ / "output")); }
    test::TemporaryFolder folder_;
};

TEST_F(PoprunEnds, AStopLeavesInstancesTimeToSave) {
    // mpirun itself gives them a second; that of Open MPI 5 ends the others at once when the first has ended.
    EXPECT_EQ(ended(staying("trap \"sleep 3; echo saved; exit 143\" TERM;"), "kill -TERM $pid"), "code 143\nchecked\n");
    const auto zero = HasSubstr("[1,0]<stdout>:saved");
    const auto one = HasSubstr("[1,1]<stdout>:saved");
    const bool all_may_end = shell("mpirun --version").text.find("(Open MPI) 4.") != std::string::npos;
    if (all_may_end) {
        EXPECT_THAT(output(), AllOf(zero, one));
    } else {
        EXPECT_THAT(output(), AnyOf(zero, one));
    }
}

TEST_F(PoprunEnds, InstancesThatIgnoreAStopAreKilled) {
    EXPECT_EQ(ended(staying("trap \"\" TERM;"), "kill -TERM $pid"), "code 143\nchecked\n");
}

TEST_F(PoprunEnds, NothingOutlivesALauncherThatIsKilled) {
    EXPECT_EQ(ended(staying(""), "kill -KILL $pid"), "code 137\nchecked\n");
}

TEST_F(PoprunEnds, NothingOutlivesAnMpirunThatIsKilled) {
    EXPECT_EQ(ended(staying(""), "kill -KILL $(ps -o ppid= -p $(cat rank.0))"), "code 137\nchecked\n");
}

TEST(Poprun, BackgroundProcessesOfInstancesThatEndedHoldNobodyUp) {
    const test::TemporaryFolder folder;
    // Instances that end at once, and ones that mpirun and its guard see for a while.
    for (const std::string stays : {"0", "1.5"}) {
        const Outcome outcome =
            script("cd " + folder.path() + "; " + kFunctions + "begin=$(date +%s); poprun " + sized(2, 2) +
                   "sh -c 'sleep 300 & echo $! >rank.$OMPI_COMM_WORLD_RANK; sleep " + stays +
                   "; exit $((OMPI_COMM_WORLD_RANK * 3))' >output 2>&1; echo code $?; all_gone; "
                   "[ $(($(date +%s) - begin)) -lt 60 ] && echo soon");
        EXPECT_EQ(outcome.text, "code 3\nchecked\nsoon\n") << data::read_file(folder / "output");
    }
}

/// Entries of a benchmarks.yml that start several processes.
TEST(PoprunBenchmarks, RunWithTheLaunchersOfTheSpec) {
    const test::TemporaryFolder folder;
    const std::string options =
        "--model-size 8 --dataset cifar-10 --generated-data --micro-batch-size 4 --iterations 2 --repeat 1 --no-logs "
        "--input-threads 1\n  data: {throughput: {regexp: 'throughput: *(.*?) samples.sec', skip: 0}}\n";
    data::write_file(
        folder / "spec.yml",
        "both_gen:\n  cmd: poprun -vv --num-instances 2 --num-replicas 2 python3 validation.py " + options +
            "each_gen:\n  cmd: mpirun --tag-output --np 2 --bind-to socket python3 validation.py " + options);
    const Outcome outcome =
        script("cd " + folder.path() + " && " CNNTRAIN_PROGRAM " benchmark --spec spec.yml --log-dir logs");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text << shell("cat " + (folder / "logs/output.log")).text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("PASSED both_gen"), HasSubstr("PASSED each_gen")));
    EXPECT_THAT(data::read_file(folder / "logs/output.log"), ContainsRegex("instance 1 of 2: core"));
}

}  // namespace
}  // namespace cnntrain::cli
