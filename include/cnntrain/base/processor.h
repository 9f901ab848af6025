// Name and instruction sets of the processor.
#pragma once

#include <string>

namespace cnntrain {

/// An instruction set counts when the processor has it and the system keeps its registers.
struct Processor {
    std::string vendor = {};  // "GenuineIntel"
    std::string name = {};    // "AMD EPYC 9R14 Processor"
    int family = 0;
    int model = 0;
    bool avx2 = false;
    bool fma = false;
    bool avx512 = false;  // F, BW, DQ and VL
    bool avx512_bf16 = false;
    bool avx512_fp16 = false;
    bool amx_bf16 = false;
};

/// The processor that runs this process.
Processor this_processor();

/// "AMD EPYC 9R14 Processor (AuthenticAMD, family 25, model 17): AVX2, FMA, AVX-512, AVX512-BF16".
std::string to_string(const Processor& processor);

/// Error(unsupported) for a processor without AVX2 and FMA, which the kernels need.
void require_kernel_instructions(const Processor& processor);

/// A sentence about faster instructions that processors of this kind have and this machine masks, or "".
std::string hidden_instructions(const Processor& processor);

}  // namespace cnntrain
