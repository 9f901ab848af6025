// The 32-bit masters of 16-bit weights.
#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/weights/checkpoint.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

TEST(Masters, SixteenBitVariablesAreTheirRoundedCopies) {
    MemoryFiles files;
    train(files, "--optimiser momentum --offload-fp32-weight-copy --no-validation");
    for (const char* point : {"run/ckpt-0.safetensors", "run/ckpt-40.safetensors"}) {
        const auto checkpoint = weights::load(files, point);
        const HostTensor& master = checkpoint.tensors.at("all/fc1/weight/fp32");
        const HostTensor& weight = checkpoint.tensors.at("all/fc1/weight");
        ASSERT_EQ(master.dtype(), DType::f32);
        ASSERT_EQ(weight.dtype(), DType::bf16);
        const HostTensor rounded = master.cast(DType::bf16);
        EXPECT_TRUE(std::ranges::equal(rounded.bytes(), weight.bytes())) << point;
        EXPECT_EQ(checkpoint.tensors.at("all/fc1/weight/Momentum").dtype(), DType::f32);
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
