#include "cnntrain/base/processor.h"

#include <cpuid.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "base/cpuid.h"
#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

constexpr std::uint32_t kIdentity = 0, kVersion = 1, kFeatures = 7, kFirstName = 0x80000002, kLastName = 0x80000004;

constexpr std::uint64_t kAvxRegisters = 0x6;      // XMM and YMM
constexpr std::uint64_t kAvx512Registers = 0xe6;  // and opmask, upper ZMM, ZMM 16 to 31
constexpr std::uint64_t kAmxRegisters = 0x60000;  // tile configuration and data

bool bit(std::uint32_t word, int number) {
    return (word >> number & 1u) != 0;
}

bool all(std::uint64_t word, std::uint64_t bits) {
    return (word & bits) == bits;
}

std::string text_of(const CpuidAnswer& answer) {
    std::array<char, sizeof answer> letters{};
    std::memcpy(letters.data(), &answer, sizeof answer);
    return {letters.begin(), std::find(letters.begin(), letters.end(), '\0')};
}

std::string vendor_of(const ReadCpuid& cpuid) {
    const CpuidAnswer identity = cpuid(kIdentity, 0);
    return text_of({identity.ebx, identity.edx, identity.ecx, 0});
}

/// Returns the processor's name without the blanks that fill it up.
std::string name_of(const ReadCpuid& cpuid) {
    std::string name;
    for (std::uint32_t leaf = kFirstName; leaf <= kLastName; ++leaf)
        name += text_of(cpuid(leaf, 0));
    const std::size_t first = name.find_first_not_of(' ');
    if (first == std::string::npos) return "unnamed processor";
    return name.substr(first, name.find_last_not_of(' ') - first + 1);
}

void set_family_and_model(std::uint32_t version, Processor& processor) {
    const std::uint32_t family = version >> 8 & 0xf;
    const std::uint32_t model = version >> 4 & 0xf;
    const bool extended = family == 6 || family == 15;
    processor.family = static_cast<int>(family == 15 ? family + (version >> 20 & 0xff) : family);
    processor.model = static_cast<int>(extended ? model + (version >> 16 & 0xf) * 16 : model);
}

std::uint64_t saved_registers() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return std::uint64_t{high} << 32 | low;
}

CpuidAnswer ask_processor(std::uint32_t leaf, std::uint32_t subleaf) {
    CpuidAnswer answer;
    __get_cpuid_count(leaf, subleaf, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx);
    return answer;
}

bool is_one_of(int model, std::initializer_list<int> models) {
    return std::find(models.begin(), models.end(), model) != models.end();
}

/// Sapphire, Emerald and Granite Rapids, which all have AMX. A virtual machine may give itself another model, but
/// AVX512-FP16 came with them.
bool is_of_amx_generation(const Processor& processor) {
    if (processor.vendor != "GenuineIntel") return false;
    return processor.avx512_fp16 || (processor.family == 6 && is_one_of(processor.model, {0x8f, 0xcf, 0xad, 0xae}));
}

/// Zen 4 and later.
bool is_amd_with_avx512(const Processor& processor) {
    if (processor.vendor != "AuthenticAMD") return false;
    const int block = processor.model >> 4;
    return processor.family >= 26 || (processor.family == 25 && is_one_of(block, {0x1, 0x6, 0x7, 0xa}));
}

}  // namespace

Processor describe_processor(const ReadCpuid& cpuid, const std::function<std::uint64_t()>& saved) {
    Processor processor;
    processor.vendor = vendor_of(cpuid);
    processor.name = name_of(cpuid);
    const CpuidAnswer version = cpuid(kVersion, 0);
    set_family_and_model(version.eax, processor);
    const CpuidAnswer features = cpuid(kFeatures, 0);
    const CpuidAnswer more_features = features.eax >= 1 ? cpuid(kFeatures, 1) : CpuidAnswer{};
    const bool tells_saved = bit(version.ecx, 27);
    const std::uint64_t registers = tells_saved ? saved() : 0;

    const bool avx = all(registers, kAvxRegisters);
    processor.avx2 = avx && bit(features.ebx, 5);
    processor.fma = avx && bit(version.ecx, 12);
    processor.avx512 = all(registers, kAvx512Registers) && bit(features.ebx, 16) && bit(features.ebx, 17) &&
                       bit(features.ebx, 30) && bit(features.ebx, 31);
    processor.avx512_bf16 = processor.avx512 && bit(more_features.eax, 5);
    processor.avx512_fp16 = processor.avx512 && bit(features.edx, 23);
    processor.amx_bf16 = all(registers, kAmxRegisters) && bit(features.edx, 24) && bit(features.edx, 22);
    return processor;
}

Processor this_processor() {
    return describe_processor(ask_processor, saved_registers);
}

std::string to_string(const Processor& processor) {
    std::string features;
    const auto add = [&](bool has, const char* name) {
        if (has) features += (features.empty() ? "" : ", ") + std::string(name);
    };
    add(processor.avx2, "AVX2");
    add(processor.fma, "FMA");
    add(processor.avx512, "AVX-512");
    add(processor.avx512_bf16, "AVX512-BF16");
    add(processor.avx512_fp16, "AVX512-FP16");
    add(processor.amx_bf16, "AMX-BF16");
    return processor.name + " (" + processor.vendor + ", family " + std::to_string(processor.family) + ", model " +
           std::to_string(processor.model) + "): " + (features.empty() ? "no AVX2" : features);
}

void require_kernel_instructions(const Processor& processor) {
    if (processor.avx2 && processor.fma) return;
    throw Error(ErrorKind::unsupported,
                "cnntrain needs a processor with AVX2 and FMA (Intel since 2013, AMD since 2015); this one is " +
                    to_string(processor) +
                    "; a virtual machine may hide instructions: choose another CPU model for it");
}

std::string hidden_instructions(const Processor& processor) {
    if (is_of_amx_generation(processor) && !processor.amx_bf16) {
        return "AMX is masked on this machine: processors of this kind have it, and 16 bits are more than twice "
               "as fast with it.";
    }
    if ((is_of_amx_generation(processor) || is_amd_with_avx512(processor)) && !processor.avx512)
        return "AVX-512 is masked on this machine: processors of this kind have it.";
    return "";
}

}  // namespace cnntrain
