// Every network in every staging: minutes. pipeline_test.cpp has those that take seconds.
#include <gtest/gtest.h>

#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

struct Network {
    const StagedNet& net;
    std::string options;
};
void PrintTo(const Network& network, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << network.net.options << network.options;
}

class EveryStaging : public ::testing::TestWithParam<Network> {};

TEST_P(EveryStaging, EqualsAccumulationBitForBit) {
    for (const Staging& how : all_stagings())
        expect_accumulation(GetParam().net, GetParam().options, how);
}

INSTANTIATE_TEST_SUITE_P(All, EveryStaging,
                         ::testing::Values(Network{kResnet8, "--precision 32.32 --group-norm"},
                                           Network{kResnet8, "--precision 16.16"},
                                           Network{kResnet8, "--precision 16.32"},
                                           Network{kResnext14, "--precision 32.32 --batch-norm"},
                                           Network{kResnext14, "--precision 16.32 --group-norm"},
                                           Network{kEfficientNet, "--precision 32.32 --batch-norm"},
                                           Network{kEfficientNet, "--precision 32.32 --group-norm"},
                                           Network{kEfficientNet, "--precision 16.16 --group-norm"},
                                           Network{kResnet50, "--precision 32.32 --batch-norm"},
                                           Network{kResnet50, "--precision 32.32 --group-norm"},
                                           Network{kResnet50, "--precision 16.32 --batch-norm"}));

}  // namespace
}  // namespace cnntrain::run::testing
