// Puts a part of a tensor into a whole that is zero elsewhere.
#include <cstring>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {

void place_part(const PartShape& shape, const std::byte* part, std::byte* whole) {
    const std::int64_t after = shape.whole - shape.before - shape.part;
    parallel_tasks(shape.runs, [&](std::int64_t run) {
        std::byte* to = whole + run * shape.whole;
        std::memset(to, 0, static_cast<std::size_t>(shape.before));
        std::memcpy(to + shape.before, part + run * shape.part, static_cast<std::size_t>(shape.part));
        std::memset(to + shape.before + shape.part, 0, static_cast<std::size_t>(after));
    });
}

}  // namespace cnntrain::cpu
