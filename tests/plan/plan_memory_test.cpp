// The memory that `plan` predicts for stages against that of the compiled stages.
#include <gtest/gtest.h>

#include "plan/planned_memory.h"
#include "train/fixtures.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

void expect_predicted(const std::string& line) {
    SCOPED_TRACE(line);
    expect_memory_as_compiled(parse(line));
}

class PlannedMemory : public ::testing::TestWithParam<const StagedNet*> {};

TEST_P(PlannedMemory, IsThatOfTheCompiledStages) {
    const StagedNet& net = *GetParam();
    const std::string common = net.options + "--generated-data --optimiser momentum --gradient-accumulation-count 8 ";
    for (const std::string& splits : {net.one_split, net.three_splits}) {
        for (const std::string schedule : {"Grouped", "Interleaved", "Sequential"}) {
            for (const std::string lanes : {"1", "2"}) {
                for (const std::string kept :
                     {"--precision 32.32", "--precision 16.16", "--precision 16.32 --group-norm --enable-recomputation",
                      "--precision 32.32 --batch-norm --enable-recomputation"}) {
                    expect_predicted(common + kept + " --pipeline --pipeline-splits " + splits +
                                     " --pipeline-schedule " + schedule + " --threads 2 --lanes " + lanes);
                }
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, PlannedMemory, ::testing::Values(&kResnet8, &kResnet50, &kEfficientNet));

TEST(PlannedMemoryOfALine, OfFullSizeImagesIsThatOfTheCompiledStages) {
    const std::string line =
        "--dataset imagenet --model-size 50 --micro-batch-size 2 --generated-data --pipeline --pipeline-splits " +
        kResnet50.three_splits + " --gradient-accumulation-count 8 --threads 2 ";
    expect_predicted(line);
    expect_predicted(line + "--precision 32.32 --enable-recomputation");
}

}  // namespace
}  // namespace cnntrain::run::testing
