#include "cnntrain/base/processor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>

#include "base/cpuid.h"
#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

/// Answers of CPUID by leaf and subleaf.
using Leaves = std::map<std::pair<std::uint32_t, std::uint32_t>, CpuidAnswer>;

constexpr std::uint64_t kEverythingSaved = 0x602e7;
constexpr std::uint64_t kNoAmxSaved = 0xe7;

Processor describe(const Leaves& leaves, std::uint64_t saved = kEverythingSaved) {
    const auto read = [&](std::uint32_t leaf, std::uint32_t subleaf) {
        const auto found = leaves.find({leaf, subleaf});
        return found == leaves.end() ? CpuidAnswer{} : found->second;
    };
    return describe_processor(read, [saved] { return saved; });
}

CpuidAnswer letters(const char (&text)[17]) {
    CpuidAnswer answer;
    std::memcpy(&answer, text, sizeof answer);
    return answer;
}

/// Sapphire Rapids.
Leaves xeon() {
    return {
        {{0, 0}, {.ebx = 0x756e6547, .ecx = 0x6c65746e, .edx = 0x49656e69}},  // GenuineIntel
        {{0x80000002, 0}, letters("  Intel(R) Xeon(")},
        {{0x80000003, 0}, letters("R) Platinum 8480")},
        {{0x80000004, 0}, letters("+  \0            ")},
        {{1, 0}, {.eax = 0x000806f8, .ecx = 1u << 12 | 1u << 27}},
        {{7, 0},
         {.eax = 2, .ebx = 1u << 5 | 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31, .edx = 1u << 22 | 1u << 23 | 1u << 24}},
        {{7, 1}, {.eax = 1u << 5}}};
}

/// The Core i7-2600, which has AVX and neither AVX2 nor FMA.
Leaves sandy_bridge() {
    Leaves leaves = xeon();
    leaves[{1, 0}] = {.eax = 0x000206a7, .ecx = 1u << 27 | 1u << 28};
    leaves[{7, 0}] = {};
    leaves[{7, 1}] = {};
    return leaves;
}

TEST(Processor, IsNamedWithItsFeatures) {
    EXPECT_EQ(to_string(describe(xeon())),
              "Intel(R) Xeon(R) Platinum 8480+ (GenuineIntel, family 6, model 143): AVX2, FMA, AVX-512, AVX512-BF16, "
              "AVX512-FP16, AMX-BF16");
    EXPECT_EQ(to_string(describe(sandy_bridge())),
              "Intel(R) Xeon(R) Platinum 8480+ (GenuineIntel, family 6, model 42): no AVX2");
    EXPECT_THAT(to_string(describe({}, 0)), HasSubstr("unnamed processor"));
}

TEST(Processor, AnInstructionSetCountsWhenItsRegistersAreSaved) {
    EXPECT_FALSE(describe(xeon(), kNoAmxSaved).amx_bf16);
    EXPECT_TRUE(describe(xeon(), kNoAmxSaved).avx512_bf16);
    EXPECT_FALSE(describe(xeon(), 0x7).avx512_bf16);
    EXPECT_TRUE(describe(xeon(), 0x7).avx2);
    EXPECT_FALSE(describe(xeon(), 0x3).avx2);
    Leaves cannot_tell = xeon();
    cannot_tell[{1, 0}].ecx &= ~(1u << 27);
    EXPECT_FALSE(describe(cannot_tell).avx2);
}

TEST(Processor, TheLeastIsAvx2AndFma) {
    EXPECT_NO_THROW(require_kernel_instructions(describe(xeon())));
    EXPECT_NO_THROW(require_kernel_instructions(this_processor()));
    Leaves no_fma = xeon();
    no_fma[{1, 0}].ecx &= ~(1u << 12);
    for (const Leaves& leaves : {sandy_bridge(), no_fma}) {
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { require_kernel_instructions(describe(leaves)); }),
                    AllOf(HasSubstr("AVX2"), HasSubstr("Platinum 8480+")));
    }
}

TEST(Processor, SaysWhatTheMachineHides) {
    EXPECT_EQ(hidden_instructions(describe(xeon())), "");
    EXPECT_EQ(hidden_instructions(describe(sandy_bridge())), "");
    EXPECT_THAT(hidden_instructions(describe(xeon(), kNoAmxSaved)), HasSubstr("AMX"));

    // A virtual machine that hides AMX and calls itself another model; AVX512-FP16 gives it away.
    Leaves disguised = xeon();
    disguised[{1, 0}].eax = 0x000a0671;
    disguised[{7, 0}].edx = 1u << 23;
    EXPECT_THAT(hidden_instructions(describe(disguised)), HasSubstr("AMX"));

    Processor zen4{.vendor = "AuthenticAMD", .family = 25, .model = 0x11, .avx2 = true, .fma = true};
    EXPECT_THAT(hidden_instructions(zen4), HasSubstr("AVX-512 is masked"));
    zen4.avx512 = true;
    EXPECT_EQ(hidden_instructions(zen4), "");
    const Processor zen3{.vendor = "AuthenticAMD", .family = 25, .model = 0x21, .avx2 = true, .fma = true};
    EXPECT_EQ(hidden_instructions(zen3), "");
}

}  // namespace
}  // namespace cnntrain
