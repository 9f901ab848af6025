// The transforms of Winograd's minimal filtering F(4x4, 3x3). Polynomials of degree 5 are multiplied by their values at
// 0, 5/8, -5/8, 3/2, -3/2 and infinity, in both directions of the image: the 36 "places" of a tile. Of all pairs of
// multiples of 1/8 up to 2, these round least: half as much as the usual ones, 1 and 2, and about twice as much as a
// direct convolution.
#if defined(CNNTRAIN_CPU_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_WINOGRAD_INL_H_
#undef CNNTRAIN_CPU_WINOGRAD_INL_H_
#else
#define CNNTRAIN_CPU_WINOGRAD_INL_H_
#endif

#include "backend/cpu/kernels/vector-inl.h"
#include "backend/cpu/kernels/winograd_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

constexpr float kNear = 0.625F, kFar = 1.5F;  // the points are 0, these, their negatives, and infinity
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;
constexpr float kProduct = kNear2 * kFar2, kSum = kNear2 + kFar2;
/// Products of the distances of a point from all others.
constexpr float kZeroNorm = 1 / kProduct;
constexpr float kNearNorm = 1 / (2 * kNear2 * (kNear2 - kFar2));
constexpr float kFarNorm = 1 / (2 * kFar2 * (kFar2 - kNear2));

HWY_INLINE Floats number(float value) {
    return hn::Set(FloatTag(), value);
}

/// [6] pixels of x -> [6] places. Row i of the matrix has the coefficients of the polynomial that is zero at all points
/// but point i.
struct InputTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kIn;
    static HWY_INLINE void run(const Floats* d, Floats* v) {
        const Floats near_even = hn::NegMulAdd(number(kFar2), d[2], d[4]);
        const Floats near_odd = hn::NegMulAdd(number(kFar2), d[1], d[3]);
        const Floats far_even = hn::NegMulAdd(number(kNear2), d[2], d[4]);
        const Floats far_odd = hn::NegMulAdd(number(kNear2), d[1], d[3]);
        v[0] = hn::MulAdd(number(kProduct), d[0], hn::NegMulAdd(number(kSum), d[2], d[4]));
        v[1] = hn::MulAdd(number(kNear), near_odd, near_even);
        v[2] = hn::NegMulAdd(number(kNear), near_odd, near_even);
        v[3] = hn::MulAdd(number(kFar), far_odd, far_even);
        v[4] = hn::NegMulAdd(number(kFar), far_odd, far_even);
        v[5] = hn::MulAdd(number(kProduct), d[1], hn::NegMulAdd(number(kSum), d[3], d[5]));
    }
};

/// [6] places -> [4] pixels of y: the powers of the points.
struct OutputTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kOut;
    static HWY_INLINE void run(const Floats* m, Floats* y) {
        const Floats near_even = hn::Add(m[1], m[2]);
        const Floats near_odd = hn::Mul(number(kNear), hn::Sub(m[1], m[2]));
        const Floats far_even = hn::Add(m[3], m[4]);
        const Floats far_odd = hn::Mul(number(kFar), hn::Sub(m[3], m[4]));
        y[0] = hn::Add(m[0], hn::Add(near_even, far_even));
        y[1] = hn::Add(near_odd, far_odd);
        y[2] = hn::MulAdd(number(kNear2), near_even, hn::Mul(number(kFar2), far_even));
        y[3] = hn::MulAdd(number(kNear2), near_odd, hn::MulAdd(number(kFar2), far_odd, m[5]));
    }
};

/// The transpose of OutputTransform: [4] pixels of dy -> [6] places.
struct GradientTransform {
    static constexpr std::int64_t kFrom = kOut, kTo = kIn;
    static HWY_INLINE void run(const Floats* dy, Floats* z) {
        const Floats near_even = hn::MulAdd(number(kNear2), dy[2], dy[0]);
        const Floats near_odd = hn::MulAdd(number(kNear2), dy[3], dy[1]);
        const Floats far_even = hn::MulAdd(number(kFar2), dy[2], dy[0]);
        const Floats far_odd = hn::MulAdd(number(kFar2), dy[3], dy[1]);
        z[0] = dy[0];
        z[1] = hn::MulAdd(number(kNear), near_odd, near_even);
        z[2] = hn::NegMulAdd(number(kNear), near_odd, near_even);
        z[3] = hn::MulAdd(number(kFar), far_odd, far_even);
        z[4] = hn::NegMulAdd(number(kFar), far_odd, far_even);
        z[5] = dy[3];
    }
};

/// [3] elements of a kernel -> [6] places.
struct KernelTransform {
    static constexpr std::int64_t kFrom = kTaps, kTo = kIn;
    static HWY_INLINE void run(const Floats* w, Floats* u) {
        const Floats near_even = hn::Mul(number(kNearNorm), hn::MulAdd(number(kNear2), w[2], w[0]));
        const Floats near_odd = hn::Mul(number(kNearNorm * kNear), w[1]);
        const Floats far_even = hn::Mul(number(kFarNorm), hn::MulAdd(number(kFar2), w[2], w[0]));
        const Floats far_odd = hn::Mul(number(kFarNorm * kFar), w[1]);
        u[0] = hn::Mul(number(kZeroNorm), w[0]);
        u[1] = hn::Add(near_even, near_odd);
        u[2] = hn::Sub(near_even, near_odd);
        u[3] = hn::Add(far_even, far_odd);
        u[4] = hn::Sub(far_even, far_odd);
        u[5] = w[2];
    }
};

/// The transpose of KernelTransform: [6] places -> [3] elements of a kernel's gradient.
struct KernelGradTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kTaps;
    static HWY_INLINE void run(const Floats* s, Floats* dw) {
        const Floats near_even = hn::Mul(number(kNearNorm), hn::Add(s[1], s[2]));
        const Floats far_even = hn::Mul(number(kFarNorm), hn::Add(s[3], s[4]));
        dw[0] = hn::MulAdd(number(kZeroNorm), s[0], hn::Add(near_even, far_even));
        dw[1] = hn::MulAdd(number(kNearNorm * kNear), hn::Sub(s[1], s[2]),
                           hn::Mul(number(kFarNorm * kFar), hn::Sub(s[3], s[4])));
        dw[2] = hn::MulAdd(number(kNear2), near_even, hn::MulAdd(number(kFar2), far_even, s[5]));
    }
};

/// Applies the transform to the columns and then to the rows of a square of vectors: get(row, column) gives, and
/// put(row, column, vector) takes one.
template <typename Transform, typename Get, typename Put>
HWY_INLINE void transform_square(const Get& get, const Put& put) {
    constexpr std::int64_t kFrom = Transform::kFrom, kTo = Transform::kTo;
    HWY_ALIGN float between[kTo * kFrom * kWidth];
    Floats from[kFrom], to[kTo];
#pragma GCC unroll 6
    for (std::int64_t column = 0; column < kFrom; ++column) {
#pragma GCC unroll 6
        for (std::int64_t row = 0; row < kFrom; ++row)
            from[row] = get(row, column);
        Transform::run(from, to);
#pragma GCC unroll 6
        for (std::int64_t row = 0; row < kTo; ++row)
            hn::Store(to[row], FloatTag(), between + (row * kFrom + column) * kWidth);
    }
#pragma GCC unroll 6
    for (std::int64_t row = 0; row < kTo; ++row) {
#pragma GCC unroll 6
        for (std::int64_t column = 0; column < kFrom; ++column)
            from[column] = hn::Load(FloatTag(), between + (row * kFrom + column) * kWidth);
        Transform::run(from, to);
#pragma GCC unroll 6
        for (std::int64_t column = 0; column < kTo; ++column)
            put(row, column, to[column]);
    }
}

/// Transforms one block of channels of `run` to the tiles of `to` from `index` on: first every column of pixels, once
/// for both tiles that read it, and then the rows of each tile.
template <typename Transform, typename T> HWY_INLINE void transform_run(const TiledPicture<const T>& from,
                                                                        const TileRange& run, std::int64_t block,
                                                                        const Transformed& to, std::int64_t index) {
    constexpr std::int64_t kFrom = Transform::kFrom;
    constexpr std::int64_t kMostColumns = (kMostTilesInRun - 1) * kOut + kFrom;
    static constexpr T kZeros[kBlock] = {};
    const std::int64_t columns = (run.count - 1) * kOut + kFrom;
    const TilePosition position = position_of(from, run.first, block, kFrom, columns);
    const Inside& inside = position.inside;
    const std::int64_t apart = to.place_floats();
    HWY_ALIGN float between[kIn * kMostColumns * kWidth];
    for (std::int64_t i = 0; i < kBlock; i += kWidth) {
        const T* rows[kFrom];
        std::int64_t step[kFrom];
        for (std::int64_t row = 0; row < kFrom; ++row) {
            const bool is_inside = row >= inside.top && row < inside.bottom;
            rows[row] = is_inside ? from.data + position.at(row, 0, i) : kZeros;
            step[row] = is_inside ? position.column_apart : 0;
        }
        const auto keep = [&](std::int64_t column, const Floats* values) HWY_ATTR {
#pragma GCC unroll 6
            for (std::int64_t row = 0; row < kIn; ++row)
                hn::Store(values[row], FloatTag(), between + (row * kMostColumns + column) * kWidth);
        };
        const Floats zeros[kIn] = {hn::Zero(FloatTag()), hn::Zero(FloatTag()), hn::Zero(FloatTag()),
                                   hn::Zero(FloatTag()), hn::Zero(FloatTag()), hn::Zero(FloatTag())};
        for (std::int64_t column = 0; column < inside.left; ++column)
            keep(column, zeros);
        for (std::int64_t column = inside.left; column < inside.right; ++column) {
            Floats pixels[kFrom], values[kIn];
#pragma GCC unroll 6
            for (std::int64_t row = 0; row < kFrom; ++row)
                pixels[row] = load(rows[row] + column * step[row]);
            Transform::run(pixels, values);
            keep(column, values);
        }
        for (std::int64_t column = inside.right; column < columns; ++column)
            keep(column, zeros);
        for (std::int64_t tile = 0; tile < run.count; ++tile) {
            float* const at = to.data + to.offset(block, index + tile) + i;
#pragma GCC unroll 6
            for (std::int64_t row = 0; row < kIn; ++row) {
                Floats values[kFrom], places[kIn];
#pragma GCC unroll 6
                for (std::int64_t column = 0; column < kFrom; ++column) {
                    const std::int64_t offset = row * kMostColumns + tile * kOut + column;
                    values[column] = hn::Load(FloatTag(), between + offset * kWidth);
                }
                Transform::run(values, places);
#pragma GCC unroll 6
                for (std::int64_t column = 0; column < kIn; ++column)
                    store(places[column], at + (row * kIn + column) * apart);
            }
        }
    }
}

/// Transforms all blocks of channels of some tiles to the tiles of `to` from `index` on.
template <typename Transform, typename T>
void transform_tiles(const TiledPicture<const T>& from, TileRange tiles, const Transformed& to, std::int64_t index) {
    for (std::int64_t block = 0; block < to.blocks; ++block) {
        for (std::int64_t done = 0; done < tiles.count;) {
            const std::int64_t first = tiles.first + done;
            const std::int64_t row_end = from.tile_columns - first % from.tile_columns;
            const TileRange run{first, std::min({row_end, kMostTilesInRun, tiles.count - done})};
            transform_run<Transform>(from, run, block, to, index + done);
            done += run.count;
        }
    }
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
