// Rows selected by number: embeddings, gathered tokens, and their gradients.
#include <cstdint>

#include "backend/cpu/kernels/targets.h"
#include "backend/cpu/kernels/tokens.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/rows.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename In, typename Out> void convert(std::int64_t count, const In* x, Out* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(extent.load_from(x + i), y + i); });
}

template <typename T> void add_to(std::int64_t count, const T* x, float* sum) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(extent.load_from(sum + i), extent.load_from(x + i)), sum + i);
    });
}

void widen_row(std::int64_t count, const BFloat16* x, float* y) {
    convert(count, x, y);
}
void narrow_row(std::int64_t count, const float* x, BFloat16* y) {
    convert(count, x, y);
}
void add_row_f32(std::int64_t count, const float* x, float* sum) {
    add_to(count, x, sum);
}
void add_row_bf16(std::int64_t count, const BFloat16* x, float* sum) {
    add_to(count, x, sum);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(widen_row);
HWY_EXPORT(narrow_row);
HWY_EXPORT(add_row_f32);
HWY_EXPORT(add_row_bf16);

template <typename T> void copy_row(std::int64_t count, const T* x, T* y) {
    std::copy_n(x, count, y);
}
void copy_row(std::int64_t count, const BFloat16* x, float* y) {
    HWY_DYNAMIC_DISPATCH(widen_row)(count, x, y);
}
void copy_row(std::int64_t count, const float* x, BFloat16* y) {
    HWY_DYNAMIC_DISPATCH(narrow_row)(count, x, y);
}
void add_row(std::int64_t count, const float* x, float* sum) {
    HWY_DYNAMIC_DISPATCH(add_row_f32)(count, x, sum);
}
void add_row(std::int64_t count, const BFloat16* x, float* sum) {
    HWY_DYNAMIC_DISPATCH(add_row_bf16)(count, x, sum);
}

constexpr std::int64_t kRowsPerTask = 16;

bool is_row(std::int32_t number, std::int64_t rows) {
    return number >= 0 && number < rows;
}

/// A sort key: the row number, then the position in the list of numbers.
std::uint64_t keyed(std::int32_t number, std::int64_t place) {
    return static_cast<std::uint64_t>(number) << 32 | static_cast<std::uint64_t>(place);
}
std::int64_t number_of(std::uint64_t key) {
    return static_cast<std::int64_t>(key >> 32);
}
std::int64_t place_of(std::uint64_t key) {
    return static_cast<std::int64_t>(key & 0xffffffffU);
}

/// The positions of all valid row numbers, sorted by row and then by position.
std::span<const std::uint64_t> sort_by_row(const TableShape& shape, const std::int32_t* ids, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= embedding_scratch_floats(shape),
                   "scratch is smaller than embedding_scratch_floats");
    auto* keys = reinterpret_cast<std::uint64_t*>(scratch.data());
    std::size_t count = 0;
    for (std::int64_t i = 0; i < shape.count; ++i) {
        if (is_row(ids[i], shape.rows)) keys[count++] = keyed(ids[i], i);
    }
    const std::span<std::uint64_t> used(keys, count);
    std::ranges::sort(used);
    return used;
}

}  // namespace

template <typename In, typename Out>
void embedding(const TableShape& shape, const std::int32_t* ids, const In* table, Out* y) {
    parallel_ranges(
        shape.count,
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                Out* to = y + i * shape.features;
                if (is_row(ids[i], shape.rows)) {
                    copy_row(shape.features, table + ids[i] * shape.features, to);
                } else {
                    std::fill_n(to, shape.features, Out{});
                }
            }
        },
        kRowsPerTask);
}

std::int64_t embedding_scratch_floats(const TableShape& shape) {
    return shape.count * static_cast<std::int64_t>(sizeof(std::uint64_t) / sizeof(float));
}

/// A task sums the rows whose first entry is in its range of the sorted positions, so that each row belongs to one
/// task. If few rows are named often, tasks also divide the features.
template <typename T> void embedding_grad(const TableShape& shape, const std::int32_t* ids, const T* dy, float* dtable,
                                          std::span<float> scratch) {
    constexpr std::int64_t kFeaturesPerTask = 256;
    const std::span<const std::uint64_t> keys = sort_by_row(shape, ids, scratch);
    const auto count = static_cast<std::int64_t>(keys.size());
    const auto row_at = [&](std::int64_t i) { return number_of(keys[static_cast<std::size_t>(i)]); };
    const std::int64_t ranges = (count + kRowsPerTask - 1) / kRowsPerTask;
    const std::int64_t strips = (shape.features + kFeaturesPerTask - 1) / kFeaturesPerTask;
    parallel_tasks(ranges * strips, [&](std::int64_t task) {
        const std::int64_t end = std::min(count, (task / strips + 1) * kRowsPerTask);
        const std::int64_t feature = task % strips * kFeaturesPerTask;
        const std::int64_t features = std::min(kFeaturesPerTask, shape.features - feature);
        std::int64_t i = task / strips * kRowsPerTask;
        while (i > 0 && i < end && row_at(i) == row_at(i - 1))
            ++i;
        if (i == end) return;
        for (; i < end || (i < count && row_at(i) == row_at(i - 1)); ++i) {
            const std::int64_t place = place_of(keys[static_cast<std::size_t>(i)]);
            add_row(features, dy + place * shape.features + feature, dtable + row_at(i) * shape.features + feature);
        }
    });
}

template <typename T> void gather_rows(const GatherShape& shape, const T* x, const std::int32_t* positions, T* y) {
    parallel_ranges(
        shape.samples * shape.picked,
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                T* to = y + i * shape.features;
                if (is_row(positions[i], shape.rows)) {
                    const std::int64_t row = i / shape.picked * shape.rows + positions[i];
                    copy_row(shape.features, x + row * shape.features, to);
                } else {
                    std::fill_n(to, shape.features, T{});
                }
            }
        },
        kRowsPerTask);
}

/// Sums the gradients of each position at its first occurrence, in strips of features, in f32.
template <typename T>
void gather_rows_grad(const GatherShape& shape, const std::int32_t* positions, const T* dy, T* dx) {
    constexpr std::int64_t kStrip = 256;
    const std::int64_t strips = (shape.features + kStrip - 1) / kStrip;
    parallel_tasks(shape.samples * strips, [&](std::int64_t task) {
        const std::int64_t sample = task / strips;
        const std::int64_t feature = task % strips * kStrip;
        const std::int64_t features = std::min(kStrip, shape.features - feature);
        const std::int32_t* first = positions + sample * shape.picked;
        const std::int32_t* last = first + shape.picked;
        const T* from = dy + sample * shape.picked * shape.features + feature;
        T* to = dx + sample * shape.rows * shape.features + feature;
        for (std::int64_t row = 0; row < shape.rows; ++row)
            std::fill_n(to + row * shape.features, features, T{});
        for (const std::int32_t* place = first; place != last; ++place) {
            if (!is_row(*place, shape.rows) || std::find(first, place, *place) != place) continue;
            std::array<float, kStrip> sum{};
            for (const std::int32_t* same = place; same != last; ++same) {
                if (*same == *place) add_row(features, from + (same - first) * shape.features, sum.data());
            }
            copy_row(features, sum.data(), to + *place * shape.features);
        }
    });
}

template void embedding(const TableShape&, const std::int32_t*, const float*, float*);
template void embedding(const TableShape&, const std::int32_t*, const float*, BFloat16*);
template void embedding(const TableShape&, const std::int32_t*, const BFloat16*, float*);
template void embedding(const TableShape&, const std::int32_t*, const BFloat16*, BFloat16*);
template void embedding_grad(const TableShape&, const std::int32_t*, const float*, float*, std::span<float>);
template void embedding_grad(const TableShape&, const std::int32_t*, const BFloat16*, float*, std::span<float>);
template void gather_rows(const GatherShape&, const float*, const std::int32_t*, float*);
template void gather_rows(const GatherShape&, const BFloat16*, const std::int32_t*, BFloat16*);
template void gather_rows_grad(const GatherShape&, const std::int32_t*, const float*, float*);
template void gather_rows_grad(const GatherShape&, const std::int32_t*, const BFloat16*, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
