// --thread-independent: the same weights, bit for bit, with any number of compute threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cnntrain/weights/checkpoint.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

class ThreadIndependent : public ::testing::TestWithParam<std::string> {};

TEST_P(ThreadIndependent, RunsEndWithTheSameBits) {
    std::string expected;
    for (const int threads : {1, 2, 3}) {
        MemoryFiles files;
        const std::string options = GetParam() + " --no-validation --epochs 0.2 --thread-independent --threads ";
        ASSERT_EQ(train(files, options + std::to_string(threads)).exit_code, 0);
        const std::string now = weights(files, weights::latest(files, "run")->iteration);
        if (expected.empty()) expected = now;
        EXPECT_TRUE(now == expected) << threads << " threads";
    }
}

INSTANTIATE_TEST_SUITE_P(All, ThreadIndependent,
                         ::testing::Values("--precision 32.32 --optimiser momentum",
                                           "--precision 16.16 --optimiser momentum",
                                           "--precision 16.32 --group-norm --groups 8 --micro-batch-size 6",
                                           "--precision 32.32 --model resnext --model-size 11",
                                           "--precision 32.32 --micro-batch-size 1 --gradient-accumulation-count 8",
                                           "--precision 16.16 " + kProxyNet));

/// Threads that give way between updates divide no sum differently.
class ThreadsThatGiveWay : public ::testing::TestWithParam<std::string> {
protected:
    static std::string weights_after(const char* working) {
        setenv("CNNTRAIN_SHARE_PROCESSORS", working, /*replace=*/1);
        MemoryFiles files;
        const Outcome outcome = train(files, GetParam() + " --seed 3 --no-validation --epochs 0.3 --threads 4");
        setenv("CNNTRAIN_SHARE_PROCESSORS", "off", /*replace=*/1);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.console;
        return weights(files, weights::latest(files, "run")->iteration);
    }
};

TEST_P(ThreadsThatGiveWay, KeepTheBits) {
    const std::string expected = weights_after("off");
    EXPECT_TRUE(weights_after("4,3,1,4,2") == expected);
    EXPECT_TRUE(weights_after("1") == expected);
}

INSTANTIATE_TEST_SUITE_P(All, ThreadsThatGiveWay,
                         ::testing::Values("--precision 32.32 --optimiser momentum", "--precision 16.32",
                                           "--precision 16.16 --group-norm --groups 8",
                                           "--precision 32.32 --model resnext --model-size 11",
                                           "--precision 16.16 " + kProxyNet));

TEST(ThreadIndependentSums, AreThoseOfTheUsualWay) {
    MemoryFiles usual;
    MemoryFiles exact;
    const std::string options = "--precision 32.32 --no-validation --epochs 0.05 --abs-learning-rate 1e-3 ";
    ASSERT_EQ(train(usual, options).exit_code, 0);
    ASSERT_EQ(train(exact, options + "--thread-independent").exit_code, 0);
    const auto a = weights::load(usual, "run/ckpt-1.safetensors").tensors;
    for (const auto& [name, tensor] : weights::load(exact, "run/ckpt-1.safetensors").tensors) {
        const auto other = std::as_const(a.at(name)).as<float>();
        const auto own = tensor.as<float>();
        for (std::size_t i = 0; i < own.size(); ++i)
            ASSERT_NEAR(own[i], other[i], 1e-6) << name << " " << i;
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
