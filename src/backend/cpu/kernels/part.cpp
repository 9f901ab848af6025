// Parts of a tensor: placed into a whole tensor that is zero elsewhere, or summed.
#include "backend/cpu/kernels/targets.h"  // before all of Highway

#include <hwy/targets.h>

#include <array>
#include <cstring>
#include <type_traits>

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

void sum_parts(std::int64_t parts, std::int64_t count, const float* x, float* y) {
    constexpr std::int64_t kGrain = 1 << 12;  // its sum stays in the first-level cache
    parallel_ranges(
        count,
        [=](std::int64_t begin, std::int64_t end) {
            std::copy(x + begin, x + end, y + begin);
            for (std::int64_t part = 1; part < parts; ++part) {
                const float* const summand = x + part * count;
                for (std::int64_t i = begin; i < end; ++i)
                    y[i] += summand[i];
            }
        },
        kGrain);
}

template <typename T>
void scaled_sum_of_parts(std::int64_t parts, std::int64_t count, const float* x, float factor, T* y) {
    constexpr std::int64_t kGrain = 64;
    parallel_ranges(
        count,
        [=](std::int64_t begin, std::int64_t end) {
            std::array<double, kGrain> totals{};
            for (std::int64_t part = 0; part < parts; ++part) {
                for (std::int64_t i = begin; i < end; ++i)
                    totals[static_cast<std::size_t>(i - begin)] += static_cast<double>(x[part * count + i]);
            }
            for (std::int64_t i = begin; i < end; ++i) {
                const auto sum = static_cast<float>(factor * totals[static_cast<std::size_t>(i - begin)]);
                if constexpr (std::is_same_v<T, float>) {
                    y[i] = sum;
                } else {
                    y[i] = to_bfloat16(sum);
                }
            }
        },
        kGrain);
}

template void scaled_sum_of_parts(std::int64_t, std::int64_t, const float*, float, float*);
template void scaled_sum_of_parts(std::int64_t, std::int64_t, const float*, float, BFloat16*);

void disable_avx512() {
    // Highway's bits of later instruction sets, which differ from version to version, are below the bit of AVX-512.
    hwy::DisableTargets(HWY_AVX3 | (HWY_AVX3 - 1));
}

}  // namespace cnntrain::cpu
