#include "backend/cpu/isa.h"

#include <cstdlib>

#include <dnnl.hpp>

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/base/processor.h"

namespace cnntrain::cpu {
namespace {

/// Each bit of the values is a set of instructions.
bool includes(dnnl::cpu_isa all, dnnl::cpu_isa part) {
    return (static_cast<unsigned>(all) & static_cast<unsigned>(part)) == static_cast<unsigned>(part);
}

Isa read_isa() {
    const dnnl::cpu_isa isa = dnnl::get_effective_cpu_isa();
    return {.avx512 = includes(isa, dnnl::cpu_isa::avx512_core),
            .avx512_bf16 = includes(isa, dnnl::cpu_isa::avx512_core_bf16),
            .amx = includes(isa, dnnl::cpu_isa::avx512_core_amx),
            .amd = this_processor().vendor == "AuthenticAMD"};
}

}  // namespace

Isa effective_isa() {
    static const Isa isa = read_isa();  // CPUID is slow on virtual machines
    return isa;
}

backend::Arithmetic fastest_arithmetic(const Isa& isa) {
    if (isa.amx) return {DType::bf16, "AMX multiplies bfloat16 in tiles"};
    if (isa.avx512_bf16 && isa.amd) return {DType::bf16, "AVX512-BF16 multiplies bfloat16 twice as fast as f32"};
    if (isa.avx512_bf16) return {DType::f32, "bfloat16 products are slower than f32 ones without AMX"};
    return {DType::f32, "there are no bfloat16 products here"};
}

bool multiplies_bytes() {
    switch (dnnl::get_effective_cpu_isa()) {
        case dnnl::cpu_isa::sse41:
        case dnnl::cpu_isa::avx:
        case dnnl::cpu_isa::avx2:
        case dnnl::cpu_isa::avx512_core:
            return false;
        default:
            return true;
    }
}

void limit_kernels(const Isa& isa) {
    if (!isa.avx512) disable_avx512();
}

namespace {

/// Returns oneDNN's instruction set as ONEDNN_MAX_CPU_ISA spells it.
std::string instruction_set() {
    switch (dnnl::get_effective_cpu_isa()) {
        case dnnl::cpu_isa::sse41:
            return "SSE41";
        case dnnl::cpu_isa::avx:
            return "AVX";
        case dnnl::cpu_isa::avx2:
            return "AVX2";
        case dnnl::cpu_isa::avx2_vnni:
            return "AVX2_VNNI";
        case dnnl::cpu_isa::avx512_core:
            return "AVX512_CORE";
        case dnnl::cpu_isa::avx512_core_vnni:
            return "AVX512_CORE_VNNI";
        case dnnl::cpu_isa::avx512_core_bf16:
            return "AVX512_CORE_BF16";
        case dnnl::cpu_isa::avx512_core_amx:
            return "AVX512_CORE_AMX";
        default:
            return "all instruction sets";
    }
}

}  // namespace

std::string library_text() {
    const dnnl::version_t* version = dnnl::version();
    std::string text = "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
                       std::to_string(version->patch) + " with " + instruction_set();
    for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"}) {
        if (std::getenv(variable) != nullptr) return text + ", limited by " + variable;
    }
    return text;
}

}  // namespace cnntrain::cpu
