#include "backend/cpu/library.h"

#include <cstdlib>
#include <dnnl.hpp>

namespace cnntrain::cpu {
namespace {

/// As ONEDNN_MAX_CPU_ISA spells it.
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
