// A processor's description from the answers of the instructions CPUID and XGETBV.
#pragma once

#include <cstdint>
#include <functional>

#include "cnntrain/base/processor.h"

namespace cnntrain {

struct CpuidAnswer {
    std::uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};
/// Zeros for a leaf that the processor does not have.
using ReadCpuid = std::function<CpuidAnswer(std::uint32_t leaf, std::uint32_t subleaf)>;

/// `saved` returns the set of registers that the system keeps (XCR0); called only where the processor can report it.
Processor describe_processor(const ReadCpuid& cpuid, const std::function<std::uint64_t()>& saved);

}  // namespace cnntrain
