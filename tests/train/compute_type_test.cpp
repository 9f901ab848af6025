// Weights of 16 bits, computed with in bfloat16 and in f32: what is stored, what is learnt, and runs that move between
// the two.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/bf16_products.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kMomentum = "--optimiser momentum --no-validation ";

std::map<std::string, DType> types(const FileSystem& files) {
    std::map<std::string, DType> result;
    for (const auto& [name, tensor] : weights::load(files, "run/ckpt-40.safetensors").tensors)
        result[name] = tensor.dtype();
    return result;
}

/// The loss of the last row of training.csv.
double last_loss(const FileSystem& files) {
    const std::vector<std::string> rows = loss_rows(files);
    std::istringstream header(rows.front());
    std::istringstream last(rows.back());
    std::string name;
    std::string value;
    while (std::getline(header, name, ',') && std::getline(last, value, ',')) {
        if (name == "loss_batch") return std::stod(value);
    }
    throw std::runtime_error("no column loss_batch in " + rows.front());
}

using test::has_bf16_products;

TEST(ComputeType, F32KeepsWeightsIn16Bits) {
    MemoryFiles files;
    ASSERT_EQ(train(files, kMomentum + "--precision 16.16 --compute-type f32").exit_code, 0);
    for (const auto& [name, type] : types(files))
        EXPECT_EQ(type, DType::bf16) << name;
}

TEST(ComputeType, F32WithMastersIsThatOfFullPrecision) {
    MemoryFiles half;
    MemoryFiles full;
    ASSERT_EQ(train(half, kMomentum + "--precision 16.32 --compute-type f32").exit_code, 0);
    ASSERT_EQ(train(full, kMomentum + "--precision 32.32").exit_code, 0);
    EXPECT_EQ(loss_rows(half), loss_rows(full));
    EXPECT_EQ(weights(half, 40), weights(full, 40));
}

TEST(ComputeType, BothLearnAlike) {
    if (!has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    MemoryFiles in_f32;
    MemoryFiles in_bf16;
    const std::string options = kMomentum + "--precision 16.16 --no-stochastic-rounding --compute-type ";
    ASSERT_EQ(train(in_f32, options + "f32").exit_code, 0);
    ASSERT_EQ(train(in_bf16, options + "bf16").exit_code, 0);
    EXPECT_NE(loss_rows(in_f32), loss_rows(in_bf16));
    EXPECT_NEAR(last_loss(in_f32), last_loss(in_bf16), 0.1 * last_loss(in_bf16));
    EXPECT_EQ(types(in_f32), types(in_bf16));
}

TEST(ComputeType, ResumesExactly) {
    for (const std::string precision : {"16.16", "16.32"}) {
        const std::string options = kMomentum + "--compute-type f32 --precision " + precision;
        MemoryFiles whole;
        train(whole, options);
        MemoryFiles stopped;
        train(stopped, options, stop_after(13));
        const Outcome resumed = restore(stopped);
        EXPECT_EQ(resumed.exit_code, 0);
        EXPECT_EQ(loss_rows(stopped), loss_rows(whole)) << precision;
        EXPECT_EQ(weights(stopped, 40), weights(whole, 40)) << precision;
    }
}

TEST(ComputeType, OfACheckpointIsComparedWhenTheRunMoves) {
    if (!has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    MemoryFiles files;
    train(files, kMomentum + "--compute-type bf16", stop_after(13));
    EXPECT_EQ(weights::load(files, weights::latest(files, "run")->path).metadata.at("arithmetic"), "bf16");
    ::testing::internal::CaptureStderr();
    const Outcome moved = restore(files, "--compute-type f32");
    EXPECT_EQ(moved.exit_code, 0);
    EXPECT_THAT(moved.console + ::testing::internal::GetCapturedStderr(), HasSubstr("--compute-type"));
    EXPECT_EQ(weights::load(files, weights::latest(files, "run")->path).metadata.at("arithmetic"), "f32");
}

TEST(ComputeType, IsSaidAndRecorded) {
    MemoryFiles files;
    const Outcome outcome = train(files, kMomentum + "--compute-type f32");
    EXPECT_THAT(outcome.console, HasSubstr("--compute-type"));
    EXPECT_THAT(read_text(files, "run/arguments.json"), HasSubstr("\"arithmetic\": \"f32\""));
}

TEST(ComputeType, Bf16ContradictsFullPrecision) {
    MemoryFiles files;
    EXPECT_THAT(
        message_of(ErrorKind::usage, [&] { train(files, kMomentum + "--precision 32.32 --compute-type bf16"); }),
        HasSubstr("--compute-type"));
}

TEST(ComputeType, Bf16WithoutItsInstructionsSaysWhatToDo) {
    if (has_bf16_products()) GTEST_SKIP() << "this processor has AVX-512";
    MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { train(files, kMomentum + "--compute-type bf16"); }),
                HasSubstr("--compute-type"));
}

}  // namespace
}  // namespace cnntrain::run::testing
