#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace cnntrain::nn {
namespace {

using Kind = graph::Initialiser::Kind;

graph::Value variable(const std::string& name, Shape shape, graph::Initialiser initialiser, DType type = DType::f32) {
    graph::Value value;
    value.desc = {type, std::move(shape)};
    value.role = graph::Role::parameter;
    value.name = name;
    value.initialiser = std::move(initialiser);
    return value;
}

struct Moments {
    double mean = 0;
    double deviation = 0;
    double largest = 0;  // absolute value
};

Moments moments(const HostTensor& tensor) {
    Moments m;
    const auto n = static_cast<double>(tensor.elements());
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        m.mean += tensor.at(i) / n;
        m.largest = std::max(m.largest, std::abs(tensor.at(i)));
    }
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        m.deviation += std::pow(tensor.at(i) - m.mean, 2) / n;
    m.deviation = std::sqrt(m.deviation);
    return m;
}

bool same(const HostTensor& a, const HostTensor& b) {
    return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

TEST(InitialValue, ConstantFillsTheTensor) {
    const HostTensor tensor = initial_value(variable("gamma", {5}, {Kind::constant, 1}), 7);
    for (std::int64_t i = 0; i < 5; ++i)
        EXPECT_EQ(tensor.at(i), 1.0);
}

TEST(InitialValue, TruncatedNormalHasTheVarianceOfItsFanAndIsCut) {
    const double cut = 2 / 0.87962566103423978;
    const Shape shape{3, 3, 64, 128};
    const Moments in = moments(initial_value(variable("w", shape, {Kind::truncated_normal_fan_in, 1}), 1));
    const double sigma_in = std::sqrt(1.0 / (9 * 64));
    EXPECT_NEAR(in.mean, 0, sigma_in * 0.02);
    EXPECT_NEAR(in.deviation, sigma_in, sigma_in * 0.02);
    EXPECT_LE(in.largest, cut * sigma_in * 1.000001);
    EXPECT_GT(in.largest, cut * sigma_in * 0.99);
    const Moments out = moments(initial_value(variable("w", shape, {Kind::truncated_normal_fan_out, 2}), 1));
    const double sigma_out = std::sqrt(2.0 / (9 * 128));
    EXPECT_NEAR(out.deviation, sigma_out, sigma_out * 0.02);
}

TEST(InitialValue, GlorotUniformFillsItsInterval) {
    const double limit = std::sqrt(6.0 / (512 + 100));
    const Moments m = moments(initial_value(variable("w", {512, 100}, {Kind::glorot_uniform, 0}), 1));
    EXPECT_NEAR(m.mean, 0, limit * 0.02);
    EXPECT_NEAR(m.deviation, limit / std::sqrt(3.0), limit * 0.02);
    EXPECT_LE(m.largest, limit * 1.000001);
    EXPECT_GT(m.largest, limit * 0.99);
}

TEST(InitialValue, RowsFillTheFirstAxis) {
    const graph::Initialiser start{.kind = Kind::rows, .rows = {2, -1}};
    const HostTensor tensor = initial_value(variable("proxy", {2, 1, 3}, start), 7);
    EXPECT_THAT(tensor.as<float>(), testing::ElementsAre(2, 2, 2, -1, -1, -1));
    EXPECT_THROW(initial_value(variable("proxy", {3, 1, 3}, start), 7), Error);
}

TEST(InitialValue, DependsOnNameAndSeedOnly) {
    const graph::Initialiser initialiser{Kind::truncated_normal_fan_in, 1};
    const auto draw = [&](const std::string& name, std::uint64_t seed) {
        return initial_value(variable(name, {3, 3, 4, 4}, initialiser), seed);
    };
    EXPECT_TRUE(same(draw("all/a/weight", 1), draw("all/a/weight", 1)));
    EXPECT_FALSE(same(draw("all/a/weight", 1), draw("all/b/weight", 1)));
    EXPECT_FALSE(same(draw("all/a/weight", 1), draw("all/a/weight", 2)));
}

TEST(InitialValue, NarrowTypeIsTheRoundedWideOne) {
    const graph::Initialiser initialiser{Kind::truncated_normal_fan_in, 1};
    const HostTensor wide = initial_value(variable("w", {1, 1, 8, 8}, initialiser), 3);
    const HostTensor narrow = initial_value(variable("w", {1, 1, 8, 8}, initialiser, DType::bf16), 3);
    EXPECT_EQ(narrow.dtype(), DType::bf16);
    for (std::int64_t i = 0; i < wide.elements(); ++i) {
        EXPECT_NEAR(narrow.at(i), wide.at(i), std::abs(wide.at(i)) / 250);
    }
}

}  // namespace
}  // namespace cnntrain::nn
