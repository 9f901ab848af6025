// LARS with variables whose stored type is forced: what runs, and which types a checkpoint then holds.
#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kLars = "--optimiser LARS --lars-weight-decay 1e-4 --abs-learning-rate 0.5 --no-validation ";

struct Case {
    std::string options;
    std::string forced;  // variables whose name contains it
    DType forced_type;
    DType other_type;
};

class StoredTypes : public ::testing::TestWithParam<Case> {};

TEST_P(StoredTypes, OfVariablesAreThoseOfTheirSlots) {
    const Case& row = GetParam();
    MemoryFiles files;
    ASSERT_EQ(train(files, kLars + row.options).exit_code, 0);
    const auto before = weights::load(files, "run/ckpt-0.safetensors").tensors;
    const auto after = weights::load(files, "run/ckpt-40.safetensors").tensors;
    int forced = 0;
    int others = 0;
    int slots = 0;
    for (const auto& [name, tensor] : after) {
        const bool is_forced = name.find(row.forced) != std::string::npos;
        (is_forced ? forced : others) += 1;
        EXPECT_EQ(tensor.dtype(), is_forced ? row.forced_type : row.other_type) << name;
        EXPECT_FALSE(std::ranges::equal(tensor.bytes(), before.at(name).bytes())) << name << " has not changed";
        slots += name.ends_with(optim::kMomentumSlot) ? 1 : 0;
    }
    EXPECT_GT(forced, 0);
    EXPECT_GT(others, 0);
    EXPECT_EQ(slots, 23);  // one for each trainable variable of ResNet-8
}

INSTANTIATE_TEST_SUITE_P(
    All, StoredTypes,
    ::testing::Values(Case{"--precision 16.16 --force-weight-to-fp32 fc1", "fc1", DType::f32, DType::bf16},
                      Case{"--precision 16.16 --force-weight-to-fp32 batch_norm", "batch_norm", DType::f32,
                           DType::bf16},
                      Case{"--precision 16.32 --force-weight-to-fp16 stage1", "stage1", DType::bf16, DType::f32},
                      Case{"--precision 32.32 --force-weight-to-fp16 fc1", "fc1", DType::bf16, DType::f32}));

TEST(StoredTypesResume, IsExact) {
    const std::string options = kLars + "--precision 16.16 --force-weight-to-fp32 fc1";
    MemoryFiles whole;
    train(whole, options);
    MemoryFiles stopped;
    train(stopped, options, stop_after(13));
    EXPECT_EQ(restore(stopped).exit_code, 0);
    EXPECT_EQ(loss_rows(stopped), loss_rows(whole));
    EXPECT_EQ(weights(stopped, 40), weights(whole, 40));
}

TEST(StoredTypesInCheckpoints, AreWidenedOnRequestAndResumeExactly) {
    const std::string options = kLars + "--precision 16.16 --stochastic-rounding off";
    const std::string wide = options + " --checkpoint-dtype f32";
    MemoryFiles whole;
    train(whole, options);
    MemoryFiles stopped;
    train(stopped, wide, stop_after(13));
    EXPECT_EQ(restore(stopped).exit_code, 0);
    EXPECT_EQ(loss_rows(stopped), loss_rows(whole));
    const auto own = weights::load(whole, "run/ckpt-40.safetensors").tensors;
    const auto widened = weights::load(stopped, "run/ckpt-40.safetensors").tensors;
    ASSERT_EQ(own.size(), widened.size());
    for (const auto& [name, tensor] : own) {
        EXPECT_EQ(tensor.dtype(), DType::bf16) << name;
        EXPECT_EQ(widened.at(name).dtype(), DType::f32) << name;
        EXPECT_TRUE(std::ranges::equal(tensor.cast(DType::f32).bytes(), widened.at(name).bytes())) << name;
    }
}

TEST(StoredTypesFilters, ThatMatchNothingAreNamed) {
    MemoryFiles files;
    ::testing::internal::CaptureStderr();
    train(files, "--iterations 1 --epochs 0 --no-validation --force-weight-to-fp32 fc7 fc1");
    EXPECT_THAT(::testing::internal::GetCapturedStderr(),
                AllOf(HasSubstr("--force-weight-to-fp32"), Not(HasSubstr("fc1 changes"))));
}

TEST(StoredTypesFilters, ThatMeetInOneVariableAreRefused) {
    MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [&] { train(files, kLars + "--force-weight-to-fp32 fc1 --force-weight-to-fp16 weight"); }),
                AllOf(HasSubstr("all/fc1/weight"), HasSubstr("--force-weight-to-fp16 'weight'")));
}

}  // namespace
}  // namespace cnntrain::run::testing
