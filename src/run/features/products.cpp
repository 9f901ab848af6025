#include "run/features/neighbours.h"

#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "run/features/products.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace cnntrain::run::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

/// A tile of R x C dot products, whose sums stay in registers.
template <int R, int C>
HWY_INLINE void dot_tile(const float* a, const float* b, std::int64_t width, float* out, std::int64_t out_stride) {
    const Lanes lanes;
    const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
    Vector sums[R][C];
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c)
            sums[r][c] = hn::Zero(lanes);
    }
    std::int64_t k = 0;
    for (; k + step <= width; k += step) {
        Vector columns[C];
        for (int c = 0; c < C; ++c)
            columns[c] = hn::LoadU(lanes, b + c * width + k);
        for (int r = 0; r < R; ++r) {
            const Vector row = hn::LoadU(lanes, a + r * width + k);
            for (int c = 0; c < C; ++c)
                sums[r][c] = hn::MulAdd(row, columns[c], sums[r][c]);
        }
    }
    for (int r = 0; r < R; ++r) {
        for (int c = 0; c < C; ++c) {
            float sum = hn::GetLane(hn::SumOfLanes(lanes, sums[r][c]));
            for (std::int64_t rest = k; rest < width; ++rest)
                sum += a[r * width + rest] * b[c * width + rest];
            out[r * out_stride + c] = sum;
        }
    }
}

template <int R>
HWY_INLINE void dot_columns(const float* a, const float* b, std::int64_t columns, std::int64_t width, float* out) {
    std::int64_t c = 0;
    for (; c + 3 <= columns; c += 3)
        dot_tile<R, 3>(a, b + c * width, width, out + c, columns);
    for (; c < columns; ++c)
        dot_tile<R, 1>(a, b + c * width, width, out + c, columns);
}

void dots(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out) {
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        dot_columns<4>(a + r * width, b, columns, width, out + r * columns);
    for (; r < rows; ++r)
        dot_columns<1>(a + r * width, b, columns, width, out + r * columns);
}

/// Adds R rows to C sums.
template <int R, int C> HWY_INLINE void add_tile(const float* factors, std::int64_t factor_stride, const float* a,
                                                 std::int64_t width, float* sums) {
    const Lanes lanes;
    const auto step = static_cast<std::int64_t>(hn::Lanes(lanes));
    std::int64_t k = 0;
    for (; k + step <= width; k += step) {
        Vector rows[R];
        for (int r = 0; r < R; ++r)
            rows[r] = hn::LoadU(lanes, a + r * width + k);
        for (int c = 0; c < C; ++c) {
            Vector sum = hn::LoadU(lanes, sums + c * width + k);
            for (int r = 0; r < R; ++r)
                sum = hn::MulAdd(hn::Set(lanes, factors[r * factor_stride + c]), rows[r], sum);
            hn::StoreU(sum, lanes, sums + c * width + k);
        }
    }
    for (; k < width; ++k) {
        for (int c = 0; c < C; ++c) {
            for (int r = 0; r < R; ++r)
                sums[c * width + k] += factors[r * factor_stride + c] * a[r * width + k];
        }
    }
}

template <int R>
HWY_INLINE void add_rows(const float* factors, const float* a, std::int64_t columns, std::int64_t width, float* sums) {
    std::int64_t c = 0;
    for (; c + 2 <= columns; c += 2)
        add_tile<R, 2>(factors + c, columns, a, width, sums + c * width);
    for (; c < columns; ++c)
        add_tile<R, 1>(factors + c, columns, a, width, sums + c * width);
}

void weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns, std::int64_t width,
                   float* sums) {
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4)
        add_rows<4>(factors + r * columns, a + r * width, columns, width, sums);
    for (; r < rows; ++r)
        add_rows<1>(factors + r * columns, a + r * width, columns, width, sums);
}

}  // namespace
}  // namespace cnntrain::run::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cnntrain::run {
namespace {

HWY_EXPORT(dots);
HWY_EXPORT(weighted_rows);

}  // namespace

void dot_rows(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out) {
    HWY_DYNAMIC_DISPATCH(dots)(a, rows, b, columns, width, out);
}

void add_weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, float* sums) {
    HWY_DYNAMIC_DISPATCH(weighted_rows)(factors, a, rows, columns, width, sums);
}

}  // namespace cnntrain::run

#endif  // HWY_ONCE
