// `cnntrain plan` started by mpirun.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

const std::string kLine =
    "plan train.py --dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --no-measure ";

Outcome run_ranks(int ranks, const std::string& arguments) {
    return shell("OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 " CNNTRAIN_MPIEXEC
                 " --oversubscribe --bind-to none -np " +
                 std::to_string(ranks) + " " CNNTRAIN_PROGRAM " " + arguments);
}

TEST(PlanUnderMpirun, MeasuresTheNetworkBetweenNodes) {
    const Outcome outcome = run_ranks(2, kLine + "--processes 1...8 --network measure --ranks-per-node 1");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(ContainsRegex("\n +16777216 +[0-9.]+ "),
                                    HasSubstr("measured between 2 ranks, 1 on a node: between nodes latency "),
                                    Not(HasSubstr("inside a node latency"))));
    EXPECT_EQ(count_of("Flat sums, 32 bits", outcome.text), 1U) << "one rank prints";
}

TEST(PlanUnderMpirun, MeasuresTheNetworkInsideANode) {
    const Outcome outcome = run_ranks(2, kLine + "--processes 1,2 --network measure");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("measured between 2 ranks, 2 on a node: inside a node latency "),
                                    Not(HasSubstr("between nodes latency"))));
}

TEST(PlanUnderMpirun, SaysWhatCannotBeMeasured) {
    const Outcome outcome = run_ranks(2, kLine + "--processes 1...8 --network measure");
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::usage)) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("8 processes"));
}

TEST(PlanUnderMpirun, NeedsOneRankOnlyForAGivenNetwork) {
    const Outcome outcome = run_ranks(2, kLine + "--processes 1...8 --network 1Gbps,50us");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(count_of("Model:", outcome.text), 1U);
    const Outcome stages = run_ranks(2, kLine);
    EXPECT_EQ(stages.exit_code, 0) << stages.text;
    EXPECT_EQ(count_of("Best splits:", stages.text), 1U);
}

struct Buckets {
    double kilobytes = 0;
    int count = 0;
};

/// Reads a line like "Gradients: 303.1 kB in 6 buckets".
Buckets buckets_in(const std::string& text) {
    std::smatch found;
    if (!std::regex_search(text, found, std::regex("Gradients: +([0-9.]+) kB in ([0-9]+) buckets"))) {
        ADD_FAILURE() << "nothing of buckets in " << text;
        return {};
    }
    return {std::stod(found[1]), std::stoi(found[2])};
}

/// The training's gradients are padded, as layouts and cache lines ask.
TEST(PlanOfProcesses, HasTheBucketsOfTheTraining) {
    const std::string line =
        "--dataset cifar-10 --generated-data --model-size 8 --batch-norm --micro-batch-size 2 "
        "--max-cross-replica-buffer-size 50000 ";
    const Outcome trained =
        run_ranks(2, "train " + line +
                         "--iterations 1 --warmup-epochs 0 --no-validation --no-logs --threads 1 --input-threads 1");
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
    const Outcome planned = run("plan " + line + "--no-measure --processes 2 --network 1Gbps,50us");
    const Buckets expected = buckets_in(trained.text);
    EXPECT_EQ(buckets_in(planned.text).count, expected.count);
    EXPECT_LE(buckets_in(planned.text).kilobytes, expected.kilobytes);
    EXPECT_NEAR(buckets_in(planned.text).kilobytes, expected.kilobytes, 0.05 * expected.kilobytes);
}

}  // namespace
}  // namespace cnntrain::cli
