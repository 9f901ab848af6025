// Copies of matrices into the layout that matrix products read fastest.
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/panels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_PANELS_ARGUMENTS_
#define CNNTRAIN_CPU_PANELS_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Rows of all panels.
struct PanelRows {
    Panels shape;
    std::int64_t begin = 0, end = 0;
    bool past_cache = false;  // the whole copy is aligned and larger than the caches
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T, typename D, typename V> HWY_INLINE void put(const PanelRows& rows, D d, V value, T* to) {
    if (rows.past_cache) {
        hn::Stream(value, d, to);
    } else {
        hn::StoreU(value, d, to);
    }
}

/// store(value, column) for a panel's columns, filled up with zeros; load(extent, column) gives the others.
template <typename Load, typename Store> HWY_INLINE void for_panel_columns(std::int64_t columns,
                                                                           std::int64_t panel_columns, const Load& load,
                                                                           const Store& store) {
    for_vectors(columns, [&](auto extent, std::int64_t column) { store(load(extent, column), column); });
    for (std::int64_t column = (columns + kWidth - 1) / kWidth * kWidth; column < panel_columns; column += kWidth)
        store(hn::Zero(FloatTag()), column);
}

void copy_rows_f32(const PanelRows& rows, const float* from, float* to) {
    const Panels& shape = rows.shape;
    for (std::int64_t panel = 0; panel < shape.count(); ++panel) {
        const std::int64_t first = panel * shape.panel_columns;
        for (std::int64_t row = rows.begin; row < rows.end; ++row) {
            const float* const x = from + row * shape.columns + first;
            float* const y = to + (panel * shape.panel_rows + row) * shape.panel_columns;
            for_panel_columns(
                row < shape.rows ? shape.columns_of(panel) : 0, shape.panel_columns,
                [&](auto extent, std::int64_t column) { return extent.load_from(x + column); },
                [&](Floats value, std::int64_t column) { put(rows, FloatTag(), value, y + column); });
        }
    }
    if (rows.past_cache) hwy::FlushStream();
}

HWY_INLINE Bits as_bfloat16(Floats value, const float*) {
    return rounded_bits(value);
}
HWY_INLINE Bits as_bfloat16(Floats value, const BFloat16*) {
    return hn::BitCast(BitsTag(), value);
}

/// Two rows at a time, elements of a column next to each other.
template <typename From> void copy_row_pairs(const PanelRows& rows, const From* from, BFloat16* to) {
    const Panels& shape = rows.shape;
    const BitsTag du;
    const auto upper_half = hn::Set(du, 0xffff0000u);
    for (std::int64_t panel = 0; panel < shape.count(); ++panel) {
        const std::int64_t first = panel * shape.panel_columns;
        for (std::int64_t row = rows.begin; row < rows.end; row += 2) {
            const From* const x = from + row * shape.columns + first;
            const bool is_last = row + 1 == shape.rows;
            BFloat16* const y = to + (panel * shape.panel_rows + row) * shape.panel_columns;
            for_panel_columns(
                row < shape.rows ? shape.columns_of(panel) : 0, shape.panel_columns,
                [&](auto extent, std::int64_t column) {
                    const Bits low = as_bfloat16(extent.load_from(x + column), x);
                    if (is_last) return hn::BitCast(FloatTag(), hn::ShiftRight<16>(low));
                    const Bits high = as_bfloat16(extent.load_from(x + shape.columns + column), x);
                    return hn::BitCast(FloatTag(), hn::Or(hn::ShiftRight<16>(low), hn::And(high, upper_half)));
                },
                [&](Floats pair, std::int64_t column) {
                    put(rows, du, hn::BitCast(du, pair), reinterpret_cast<std::uint32_t*>(y + 2 * column));
                });
        }
    }
    if (rows.past_cache) hwy::FlushStream();
}

void copy_rows_to_bf16(const PanelRows& rows, const float* from, BFloat16* to) {
    copy_row_pairs(rows, from, to);
}
void copy_rows_bf16(const PanelRows& rows, const BFloat16* from, BFloat16* to) {
    copy_row_pairs(rows, from, to);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <type_traits>

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(copy_rows_f32);
HWY_EXPORT(copy_rows_to_bf16);
HWY_EXPORT(copy_rows_bf16);

}  // namespace

template <typename From, typename To> void copy_to_panels(const Panels& shape, const From* from, To* to) {
    constexpr std::int64_t kRows = 16;
    const auto bytes = static_cast<std::int64_t>(sizeof(To)) * shape.count() * shape.panel_rows * shape.panel_columns;
    const bool past_cache = goes_past_cache(bytes, to);
    parallel_ranges(
        shape.panel_rows,
        [&](std::int64_t begin, std::int64_t end) {
            const PanelRows part{shape, begin, end, past_cache};
            if constexpr (std::is_same_v<To, float>) {
                HWY_DYNAMIC_DISPATCH(copy_rows_f32)(part, from, to);
            } else if constexpr (std::is_same_v<From, float>) {
                HWY_DYNAMIC_DISPATCH(copy_rows_to_bf16)(part, from, to);
            } else {
                HWY_DYNAMIC_DISPATCH(copy_rows_bf16)(part, from, to);
            }
        },
        kRows);
}

template void copy_to_panels(const Panels&, const float*, float*);
template void copy_to_panels(const Panels&, const float*, BFloat16*);
template void copy_to_panels(const Panels&, const BFloat16*, BFloat16*);

}  // namespace cnntrain::cpu

#endif
