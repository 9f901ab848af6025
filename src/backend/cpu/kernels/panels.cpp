// Copies matrices into the layout that matrix products read fastest.
#include <algorithm>
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

/// A range of rows in all panels.
struct PanelRows {
    Panels shape;
    std::int64_t begin = 0, end = 0;
    bool past_cache = false;  // the copy is aligned and larger than the caches
    float* sums = nullptr;    // sums of these rows for each column are added to it; null: no sums
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

/// Stands for columns of a panel that the matrix does not have.
struct NoColumns {
    template <typename T> HWY_INLINE Floats load_from(const T* /*from*/) const { return hn::Zero(FloatTag()); }
    HWY_INLINE void store_to(Floats /*value*/, float* /*to*/) const {}
};

/// Number of rows copied before the next columns. With 64 or more, copying 4096 x 3072 bfloat16 from memory takes up to
/// twice as long (Xeon with AMX).
constexpr std::int64_t kRowsInTurn = 32;
constexpr std::int64_t kFetchedBytes = 128;

/// Calls body(extent, column, part) for all vectors of columns in all panels and for parts of the rows, all columns of
/// one part before the next part. `column` is the column in the matrix.
template <typename Body> HWY_INLINE void for_panel_columns(const PanelRows& rows, const Body& body) {
    const Panels& shape = rows.shape;
    PanelRows part = rows;
    for (part.begin = rows.begin; part.begin < rows.end; part.begin += kRowsInTurn) {
        part.end = std::min(rows.end, part.begin + kRowsInTurn);
        for (std::int64_t panel = 0; panel < shape.count(); ++panel) {
            const std::int64_t columns = shape.columns_of(panel);
            const std::int64_t first = panel * shape.panel_columns;
            for_vectors(columns, [&](auto extent, std::int64_t i) { body(extent, first + i, part); });
            for (std::int64_t i = (columns + kWidth - 1) / kWidth * kWidth; i < shape.panel_columns; i += kWidth)
                body(NoColumns{}, first + i, part);
        }
    }
}

/// The position of an element in the panels.
template <typename T> HWY_INLINE T* place_of(const Panels& shape, std::int64_t row, std::int64_t column, T* panels) {
    const std::int64_t panel = column / shape.panel_columns;
    return panels + (panel * shape.panel_rows + row) * shape.panel_columns + column % shape.panel_columns;
}

/// Loads some columns of a row, with zeros for columns that the matrix does not have.
template <typename T, typename Extent> HWY_INLINE Floats load_columns(const Panels& shape, const Extent& extent,
                                                                      const T* from, std::int64_t row,
                                                                      std::int64_t column) {
    if (row >= shape.rows) return hn::Zero(FloatTag());
    const T* const x = from + row * shape.columns + column;
    hwy::Prefetch(x + kFetchedBytes / static_cast<std::int64_t>(sizeof(T)));
    return extent.load_from(x);
}

void copy_rows_f32(const PanelRows& rows, const float* from, float* to) {
    for_panel_columns(rows, [&](auto extent, std::int64_t column, const PanelRows& part) {
        float* y = place_of(part.shape, part.begin, column, to);
        for (std::int64_t row = part.begin; row < part.end; ++row, y += part.shape.panel_columns)
            put(part, FloatTag(), load_columns(part.shape, extent, from, row, column), y);
    });
    if (rows.past_cache) hwy::FlushStream();
}

HWY_INLINE Bits as_bfloat16(Floats value, const float*) {
    return rounded_bits(value);
}
HWY_INLINE Bits as_bfloat16(Floats value, const BFloat16*) {
    return hn::BitCast(BitsTag(), value);
}

/// Copies two rows at a time, with the two elements of a column adjacent.
template <typename From> void copy_row_pairs(const PanelRows& rows, const From* from, BFloat16* to) {
    const BitsTag du;
    for_panel_columns(rows, [&](auto extent, std::int64_t column, const PanelRows& part) {
        const Panels& shape = part.shape;
        // The pairs of a vector occupy 32 consecutive elements.
        const std::int64_t in_panel = column % shape.panel_columns;
        BFloat16* y = place_of(shape, part.begin, column, to) + in_panel;
        Floats sum = hn::Zero(FloatTag());
        for (std::int64_t row = part.begin; row < part.end; row += 2, y += 2 * shape.panel_columns) {
            const Floats first = load_columns(shape, extent, from, row, column);
            const Floats second = load_columns(shape, extent, from, row + 1, column);
            const Bits low = hn::ShiftRight<16>(as_bfloat16(first, from));
            const Bits high = hn::And(as_bfloat16(second, from), hn::Set(du, 0xffff0000u));
            put(part, du, hn::Or(low, high), reinterpret_cast<std::uint32_t*>(y));
            if (part.sums != nullptr) sum = hn::Add(sum, hn::Add(first, second));
        }
        if (part.sums == nullptr) return;
        float* const sums = part.sums + column;
        extent.store_to(hn::Add(extent.load_from(sums), sum), sums);
    });
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
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(copy_rows_f32);
HWY_EXPORT(copy_rows_to_bf16);
HWY_EXPORT(copy_rows_bf16);

/// Number of rows per partial sum, independent of the number of threads.
constexpr std::int64_t kSummedRows = 128;

std::int64_t summed_parts(const Panels& shape) {
    return (shape.panel_rows + kSummedRows - 1) / kSummedRows;
}

template <typename To> bool is_past_cache(const Panels& shape, const To* to) {
    return goes_past_cache(
        static_cast<std::int64_t>(sizeof(To)) * shape.count() * shape.panel_rows * shape.panel_columns, to);
}

}  // namespace

template <typename From, typename To> void copy_to_panels(const Panels& shape, const From* from, To* to) {
    constexpr std::int64_t kRows = 16;
    const bool past_cache = is_past_cache(shape, to);
    parallel_ranges(
        shape.panel_rows,
        [&](std::int64_t begin, std::int64_t end) {
            const PanelRows part{shape, begin, end, past_cache, nullptr};
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

std::int64_t panel_sums_scratch_floats(const Panels& shape) {
    return summed_parts(shape) * shape.columns;
}

void copy_to_panels_and_sum(const Panels& shape, const BFloat16* from, BFloat16* to, float* sums,
                            std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= panel_sums_scratch_floats(shape),
                   "scratch is smaller than panel_sums_scratch_floats");
    const bool past_cache = is_past_cache(shape, to);
    parallel_tasks(summed_parts(shape), [&](std::int64_t part) {
        float* const own = scratch.data() + part * shape.columns;
        std::fill_n(own, shape.columns, 0.0F);
        const std::int64_t begin = part * kSummedRows;
        const PanelRows rows{shape, begin, std::min(begin + kSummedRows, shape.panel_rows), past_cache, own};
        HWY_DYNAMIC_DISPATCH(copy_rows_bf16)(rows, from, to);
    });
    sum_parts(summed_parts(shape), shape.columns, scratch.data(), sums);
}

}  // namespace cnntrain::cpu

#endif
