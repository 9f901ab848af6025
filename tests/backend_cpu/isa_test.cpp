#include "backend/cpu/isa.h"

#include <gtest/gtest.h>

#include <hwy/targets.h>

#include "support/matchers.h"

namespace cnntrain::cpu {
namespace {

TEST(Arithmetic, IsBfloat16OnlyWhereItsProductsAreFaster) {
    struct Row {
        const char* processor;
        Isa isa;
        DType expected;
    };
    for (const Row& row : {
             Row{"AVX2 alone", {}, DType::f32},
             Row{"Zen 2 and 3", {.amd = true}, DType::f32},
             Row{"Skylake to Ice Lake servers", {.avx512 = true}, DType::f32},
             Row{"Sapphire Rapids with masked AMX", {.avx512 = true, .avx512_bf16 = true}, DType::f32},
             Row{"Zen 4 and 5", {.avx512 = true, .avx512_bf16 = true, .amd = true}, DType::bf16},
             Row{"Sapphire Rapids", {.avx512 = true, .avx512_bf16 = true, .amx = true}, DType::bf16},
         }) {
        const backend::Arithmetic chosen = fastest_arithmetic(row.isa);
        EXPECT_EQ(chosen.type, row.expected) << row.processor;
        EXPECT_FALSE(chosen.reason.empty()) << row.processor;
    }
    EXPECT_THAT(fastest_arithmetic({.avx512 = true, .avx512_bf16 = true}).reason, HasSubstr("without AMX"));
}

TEST(Isa, EveryLevelHoldsTheOnesBelow) {
    const Isa isa = effective_isa();
    EXPECT_TRUE(!isa.amx || isa.avx512_bf16);
    EXPECT_TRUE(!isa.avx512_bf16 || isa.avx512);
}

TEST(Isa, KernelsUseNoMoreThanOneDnn) {
    const Isa isa = effective_isa();
    limit_kernels(isa);
    EXPECT_EQ((hwy::SupportedTargets() & HWY_AVX3) != 0, isa.avx512);
}

}  // namespace
}  // namespace cnntrain::cpu
