#include "data/images/resize.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "data/images/resize_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// Multiplications and additions are not fused (the build disables contraction), so that all targets give identical
// bits.

HWY_BEFORE_NAMESPACE();
namespace cnntrain::data::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::ScalableTag<float>;

#if HWY_TARGET == HWY_SCALAR

void interpolate(const std::uint8_t* source, const ResizeColumn* columns, std::size_t count, float* out) {
    for (std::size_t i = 0; i < count; ++i) {
        for (int c = 0; c < 3; ++c) {
            const auto low = static_cast<float>(source[columns[i].low + c]);
            const auto high = static_cast<float>(source[columns[i].high + c]);
            *out++ = low + (high - low) * columns[i].weight;
        }
    }
}

#else

/// One pixel: its three channels, and a fourth lane with arbitrary content.
HWY_INLINE auto load_pixel(const std::uint8_t* at) {
    const hn::FixedTag<std::uint8_t, 4> bytes;
    const hn::FixedTag<std::int32_t, 4> integers;
    const hn::FixedTag<float, 4> floats;
    return hn::ConvertTo(floats, hn::PromoteTo(integers, hn::LoadU(bytes, at)));
}

void interpolate(const std::uint8_t* source, const ResizeColumn* columns, std::size_t count, float* out) {
    const hn::FixedTag<float, 4> floats;
    for (std::size_t i = 0; i < count; ++i) {
        const auto low = load_pixel(source + columns[i].low);
        const auto high = load_pixel(source + columns[i].high);
        const auto weight = hn::Set(floats, columns[i].weight);
        hn::StoreU(hn::Add(low, hn::Mul(hn::Sub(high, low), weight)), floats, out + 3 * i);
    }
}

#endif

template <typename V> HWY_INLINE void store(V values, float* out) {
    hn::StoreU(values, Lanes(), out);
}

template <typename V> HWY_INLINE void store(V values, BFloat16* out) {
    const hn::RebindToUnsigned<Lanes> words;
    const hn::Rebind<std::uint16_t, Lanes> halves;
    const auto bits = hn::BitCast(words, values);
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1u));
    const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7fffu))));
    const auto narrow = hn::DemoteTo(halves, hn::BitCast(hn::RebindToSigned<Lanes>(), rounded));
    hn::StoreU(narrow, halves, reinterpret_cast<std::uint16_t*>(out));
}

template <typename V> HWY_INLINE void store(V values, std::uint8_t* out) {
    const hn::Rebind<std::uint8_t, Lanes> bytes;
    hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(hn::RebindToSigned<Lanes>(), values)), bytes, out);
}

template <typename T, bool kNormalise> HWY_INLINE void blend_at(const RowBlend& rows, std::size_t at, T* out) {
    const Lanes d;
    const auto top = hn::LoadU(d, rows.top + at);
    const auto bottom = hn::LoadU(d, rows.bottom + at);
    auto value = hn::Add(top, hn::Mul(hn::Sub(bottom, top), hn::Set(d, rows.weight)));
    if constexpr (kNormalise) {
        value = hn::Add(hn::Mul(value, hn::LoadU(d, rows.scale + at)), hn::LoadU(d, rows.shift + at));
    }
    store(value, out + at);
}

/// The last vector overlaps the previous one. Rows narrower than a vector use a padded copy.
template <typename T, bool kNormalise> void blend_all(const RowBlend& rows, T* out) {
    const std::size_t lanes = hn::Lanes(Lanes());
    if (rows.count < lanes) {
        HWY_ALIGN float padded[4][HWY_MAX_BYTES / sizeof(float)] = {};
        HWY_ALIGN T result[HWY_MAX_BYTES / sizeof(float)];
        std::copy_n(rows.top, rows.count, padded[0]);
        std::copy_n(rows.bottom, rows.count, padded[1]);
        if (kNormalise) {
            std::copy_n(rows.scale, rows.count, padded[2]);
            std::copy_n(rows.shift, rows.count, padded[3]);
        }
        blend_at<T, kNormalise>({padded[0], padded[1], rows.weight, padded[2], padded[3], lanes}, 0, result);
        std::memcpy(out, result, rows.count * sizeof(T));
        return;
    }
    for (std::size_t at = 0; at + lanes <= rows.count; at += lanes)
        blend_at<T, kNormalise>(rows, at, out);
    if (rows.count % lanes != 0) blend_at<T, kNormalise>(rows, rows.count - lanes, out);
}

template <typename T> void blend(const RowBlend& rows, T* out) {
    rows.scale == nullptr ? blend_all<T, false>(rows, out) : blend_all<T, true>(rows, out);
}

void blend_f32(const RowBlend& rows, float* out) {
    blend(rows, out);
}
void blend_bf16(const RowBlend& rows, BFloat16* out) {
    blend(rows, out);
}
void blend_u8(const RowBlend& rows, std::uint8_t* out) {
    blend(rows, out);
}

}  // namespace
}  // namespace cnntrain::data::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace cnntrain::data {
namespace {

HWY_EXPORT(interpolate);
HWY_EXPORT(blend_f32);
HWY_EXPORT(blend_bf16);
HWY_EXPORT(blend_u8);

}  // namespace

void interpolate_row(const std::uint8_t* source, const ResizeColumn* columns, std::size_t count, float* out) {
    HWY_DYNAMIC_DISPATCH(interpolate)(source, columns, count, out);
}

void blend_rows(const RowBlend& rows, float* out) {
    HWY_DYNAMIC_DISPATCH(blend_f32)(rows, out);
}
void blend_rows(const RowBlend& rows, BFloat16* out) {
    HWY_DYNAMIC_DISPATCH(blend_bf16)(rows, out);
}
void blend_rows(const RowBlend& rows, std::uint8_t* out) {
    HWY_DYNAMIC_DISPATCH(blend_u8)(rows, out);
}

}  // namespace cnntrain::data

#endif  // HWY_ONCE
