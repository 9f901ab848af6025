// Statistics of values that a kernel has in registers.
#if defined(CNNTRAIN_CPU_STATISTICS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_STATISTICS_INL_H_
#undef CNNTRAIN_CPU_STATISTICS_INL_H_
#else
#define CNNTRAIN_CPU_STATISTICS_INL_H_
#endif

#include <cstdint>

#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// Adds value(0) ... value(kCount - 1), vectors of channels, to the statistics of a part of the pixels
/// (PartStatistics): the pivots are at `to`, the sums and squares `apart` and 2 * apart floats further. With `is_first`
/// the part begins, and the mean of these values becomes the pivot. The values are summed before they are added to the
/// part, so that a float sum has kCount times fewer addends.
template <std::int64_t kCount, typename Extent, typename Value>
HWY_INLINE void add_statistics(const Extent& extent, float* to, std::int64_t apart, bool is_first, const Value& value) {
    const FloatTag d;
    Floats pivot;
    if (is_first) {
        pivot = value(0);
#pragma GCC unroll 16
        for (std::int64_t i = 1; i < kCount; ++i)
            pivot = hn::Add(pivot, value(i));
        pivot = hn::Mul(pivot, hn::Set(d, 1.0F / static_cast<float>(kCount)));
        extent.store_to(pivot, to);
    } else {
        pivot = extent.load_from(to);
    }
    Floats sum = hn::Sub(value(0), pivot);
    Floats square = hn::Mul(sum, sum);
#pragma GCC unroll 16
    for (std::int64_t i = 1; i < kCount; ++i) {
        const Floats difference = hn::Sub(value(i), pivot);
        sum = hn::Add(sum, difference);
        square = hn::MulAdd(difference, difference, square);
    }
    if (!is_first) {
        sum = hn::Add(sum, extent.load_from(to + apart));
        square = hn::Add(square, extent.load_from(to + 2 * apart));
    }
    extent.store_to(sum, to + apart);
    extent.store_to(square, to + 2 * apart);
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
