// Gradients that are too small for half: the factor on the loss saves them, and changes nothing in float.
#include <gtest/gtest.h>

#include <string>

#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr double kSmall = 1.0 / 16384;  // of the last layer's weights: what reaches the layers before it underflows
constexpr double kFactor = 32768;

std::string one_with(const CompiledNet& net, graph::Role role, const std::string& part) {
    for (const graph::ValueId id : net.graph().values_with_role(role)) {
        if (net.graph().value(id).name.find(part) != std::string::npos) return net.graph().value(id).name;
    }
    ADD_FAILURE() << "no variable has the name " << part;
    return "";
}

/// The gradient of the first convolution's weights, without the factor.
HostTensor first_gradient(const std::string& precision, double factor) {
    CompiledNet net(
        Line{"--backend ipu --dataset cifar-10 --model-size 8 --micro-batch-size 2 --stochastic-rounding "
             "OFF --precision " +
             precision + ""});
    const std::string last = one_with(net, graph::Role::parameter, "fc");
    HostTensor weights = net.executable().store(last);
    for (std::int64_t i = 0; i < weights.elements(); ++i)
        weights.set(i, weights.at(i) * kSmall);
    net.executable().load(last, std::move(weights));
    EXPECT_TRUE(net.executable().train_step(net.source(), {0.01, 0, factor}).counts);
    const HostTensor scaled = net.executable().gradient(one_with(net, graph::Role::parameter, "conv"));
    HostTensor gradient(TensorDesc{DType::f32, scaled.desc().shape});
    for (std::int64_t i = 0; i < scaled.elements(); ++i)
        gradient.set(i, scaled.at(i) / factor);
    return gradient;
}

double apart(const HostTensor& exact, const HostTensor& other) {
    return distance({{"gradient", exact}}, {{"gradient", other}});
}

TEST(IpuLossScaling, SavesGradientsInHalf) {
    const HostTensor exact = first_gradient("32.32", 1);
    const double without = apart(exact, first_gradient("16.16", 1));
    const double with = apart(exact, first_gradient("16.16", kFactor));
    EXPECT_GT(without, 0.5);
    EXPECT_LT(with, 0.1);
}

TEST(IpuLossScaling, ChangesNothingInFloat) {
    EXPECT_LT(apart(first_gradient("32.32", 1), first_gradient("32.32", kFactor)), 1e-6);
}

}  // namespace
}  // namespace cnntrain::run::testing
