// Every network in every staging: minutes. pipeline_test.cpp has those that take seconds.
#include <gtest/gtest.h>

#include "train/staged.h"

namespace cnntrain::train::testing {
namespace {

struct Network {
    const StagedNet& net;
    std::string options;
};
void PrintTo(const Network& network, std::ostream* out) {
    *out << network.net.options << network.options;
}

class InStages : public ::testing::TestWithParam<std::tuple<Network, Staging>> {};

TEST_P(InStages, EqualsAccumulationBitForBit) {
    const auto& [network, how] = GetParam();
    const Trained& plain = accumulated(network.net, network.options, how);
    const Trained result = staged(network.net, network.options, how);
    expect_stages(result, plain, how);
    expect_same_numbers(plain, result);
}

INSTANTIATE_TEST_SUITE_P(
    All, InStages,
    ::testing::Combine(::testing::Values(Network{kResnet8, "--precision 32.32 --group-norm"},
                                         Network{kResnet8, "--precision 16.16"}, Network{kResnet8, "--precision 16.32"},
                                         Network{kResnext14, "--precision 32.32 --batch-norm"},
                                         Network{kResnext14, "--precision 32.32 --group-norm"},
                                         Network{kEfficientNet, "--precision 32.32 --batch-norm"},
                                         Network{kEfficientNet, "--precision 32.32 --group-norm"},
                                         Network{kEfficientNet, "--precision 16.16 --group-norm --proxy-norm"},
                                         Network{kResnet50, "--precision 32.32 --batch-norm"},
                                         Network{kResnet50, "--precision 32.32 --group-norm"},
                                         Network{kResnet50, "--precision 16.32 --batch-norm"}),
                       ::testing::ValuesIn(all_stagings())));

}  // namespace
}  // namespace cnntrain::train::testing
