// Whole runs with proxy norm: what their checkpoints hold, and that both backends learn and score the same.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "cnntrain/base/rng.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/weights/checkpoint.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr const char* kProxy = "all/block2a/a/proxy";
constexpr const char* kMaster = "all/block2a/a/proxy/fp32";

/// Mean and inverse deviation of channel `c` from its other rows.
std::pair<double, double> statistics(const HostTensor& proxy, std::int64_t c) {
    const std::int64_t channels = proxy.shape().at(3);
    const auto row = [&](std::int64_t index) { return proxy.at(index * channels + c); };
    double sum = 0;
    double squares = 0;
    for (const double z : normal_quantiles(graph::kProxySamples)) {
        const double u = row(1) * ((1 + row(5)) * z + row(4)) + row(0);
        const double p = u / (1 + std::exp(-u));
        sum += p / graph::kProxySamples;
        squares += p * p / graph::kProxySamples;
    }
    return {sum, 1 / std::sqrt(squares - sum * sum + 0.03)};
}

struct Stored {
    std::string options;
    std::string variable;  // whose rows were computed in float32
    double tolerance;
};

class ProxyNormRun : public ::testing::TestWithParam<Stored> {};

TEST_P(ProxyNormRun, KeepsTheStatisticsOfTheLearntRows) {
    MemoryFiles files;
    ASSERT_EQ(train(files, kProxyNet + " --epochs 1 --no-validation " + GetParam().options).exit_code, 0);
    const auto first = weights::load(files, "run/ckpt-0.safetensors").tensors;
    const auto last = weights::load(files, "run/ckpt-20.safetensors").tensors;
    const HostTensor& proxy = last.at(GetParam().variable);
    const std::int64_t channels = proxy.shape().at(3);
    double moved = 0;
    for (std::int64_t c = 0; c < channels; ++c) {
        const auto [mean, inverse_deviation] = statistics(proxy, c);
        EXPECT_NEAR(proxy.at(2 * channels + c), mean, GetParam().tolerance);
        EXPECT_NEAR(proxy.at(3 * channels + c), inverse_deviation, 4 * GetParam().tolerance);
        for (const std::int64_t row : {0, 1, 2, 3, 4, 5}) {
            const std::int64_t i = row * channels + c;
            moved += std::abs(last.at(kProxy).at(i) - first.at(kProxy).at(i));
        }
    }
    EXPECT_GT(moved / static_cast<double>(6 * channels), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, ProxyNormRun,
                         ::testing::Values(Stored{"--precision 32.32 --group-norm", kProxy, 1e-5},
                                           Stored{"--precision 16.32 --batch-norm --optimiser momentum", kProxy, 1e-5},
                                           Stored{"--precision 16.16 --optimiser RMSprop --rmsprop-decay 0.9", kProxy,
                                                  4e-3},
                                           Stored{"--precision 16.16 --force-weight-to-fp32 proxy", kProxy, 1e-5},
                                           Stored{"--precision 16.16 --offload-fp32-weight-copy", kMaster, 1e-5}));

// The norms have moved into the convolutions on both backends; ref computes in float64.
TEST(ProxyNormCheckpoint, IsValidatedAsTheRunDid) {
    const std::string precision = " --batch-norm --precision 32.32";
    MemoryFiles files;
    train(files, kProxyNet + precision + " --epochs 1");
    const std::string row = accuracy_rows(files).back();
    const std::string accuracy = row.substr(row.rfind(',') + 1, 5);
    const std::string net = kProxyNet.substr(0, kProxyNet.find(" --abs-learning-rate"));
    for (const char* backend : {" --backend cpu", " --backend ref"}) {
        const Outcome outcome =
            validate(files, "--restore-path run/ckpt-20 --log-dir logs " + net + precision + backend);
        EXPECT_EQ(outcome.exit_code, 0);
        EXPECT_NE(outcome.console.find(accuracy), std::string::npos) << backend << ": " << outcome.console;
    }
}

TEST(ProxyNormBackends, LearnTheSame) {
    const auto losses = [](const std::string& backend) {
        MemoryFiles files;
        train(files, kProxyNet +
                         " --precision 32.32 --iterations 3 --epochs 0 --log-freq 1 --no-validation "
                         "--micro-batch-size 2 --block-survival-prob 1 --backend " +
                         backend);
        std::vector<double> result;
        const std::vector<std::string> rows = loss_rows(files);
        for (std::size_t i = 1; i < rows.size(); ++i) {  // the first is the header
            std::istringstream columns(rows[i]);
            std::string loss;
            for (int column = 0; column < 5; ++column)  // step, iteration, epoch, learning rate, loss
                std::getline(columns, loss, ',');
            result.push_back(std::stod(loss));
        }
        return result;
    };
    const std::vector<double> ref = losses("ref");
    const std::vector<double> cpu = losses("cpu");
    ASSERT_EQ(ref.size(), 3U);
    ASSERT_EQ(cpu.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
        EXPECT_NEAR(cpu[i], ref[i], 1e-4 * ref[i]);
}

}  // namespace
}  // namespace cnntrain::run::testing
