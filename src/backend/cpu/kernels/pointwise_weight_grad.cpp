// Weight gradients of 1x1 convolutions of few channels: the product of x transposed and dy, both read from memory once.
//
// A task has some rows. They are worked through in chunks that stay in the second cache while all tiles of the gradient
// are summed from them; the next chunk is fetched meanwhile. The tensor with more channels gives the vectors.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/pointwise_weight_grad.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/register_tile-inl.h"

#ifndef CNNTRAIN_CPU_POINTWISE_WEIGHT_GRAD_ARGUMENTS_
#define CNNTRAIN_CPU_POINTWISE_WEIGHT_GRAD_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// sums[n, v] = sum over the rows of numbers[row, n] * vectors[row, v].
struct RowProducts {
    std::int64_t rows = 0;
    std::int64_t number_lanes = 0, vector_lanes = 0;  // of a row; the latter is a multiple of kPointwisePanel
    const float* numbers = nullptr;
    const float* vectors = nullptr;
    float* sums = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// Fetches memory into the second cache, a share with each call.
class Fetch {
public:
    Fetch(const float* from, std::int64_t count, std::int64_t calls)
        : next_(from), end_(from + count), share_(ceil_div(count, kLineFloats * calls)) {}
    void operator()() {
        for (std::int64_t i = 0; i < share_ && next_ < end_; ++i, next_ += kLineFloats)
            __builtin_prefetch(next_, 0, 2);
    }

private:
    static constexpr std::int64_t kLineFloats = 16;
    const float* next_;
    const float* end_;
    std::int64_t share_;  // lines
};

/// Prefetches of the next chunk's rows.
struct FetchRows {
    Fetch numbers, vectors;
};

/// A tile calls Fetch once for so many rows.
constexpr std::int64_t kStepRows = 8;

/// Computes a tile of the sums over all rows of a chunk. `adds`: to the sums of the chunks before.
template <std::int64_t kNumbers, std::int64_t kVectors>
void sum_tile(const RowProducts& chunk, std::int64_t number, std::int64_t column, bool adds, FetchRows& fetch) {
    RightColumns<kVectors> vectors{.next = chunk.vector_lanes};
    const auto place = [&](std::int64_t r, std::int64_t v) {
        return chunk.sums + (number + r) * chunk.vector_lanes + column + v * kWidth;
    };
    RegisterTile<kNumbers, kVectors> tile;
    tile.for_each([&](std::int64_t r, std::int64_t v, Floats& sum)
                      HWY_ATTR { sum = adds ? load(place(r, v)) : hn::Zero(FloatTag()); });
    for (std::int64_t row = 0; row < chunk.rows; row += kStepRows) {
        fetch.numbers();
        fetch.vectors();
        for (std::int64_t v = 0; v < kVectors; ++v)
            vectors.at[v] = chunk.vectors + row * chunk.vector_lanes + column + v * kWidth;
        tile.add_products(std::min(kStepRows, chunk.rows - row),
                          {chunk.numbers + row * chunk.number_lanes + number, 1, chunk.number_lanes}, vectors);
    }
    tile.for_each([&](std::int64_t r, std::int64_t v, Floats sum) HWY_ATTR { store(sum, place(r, v)); });
}

using SumTile = void (*)(const RowProducts&, std::int64_t, std::int64_t, bool, FetchRows&);

/// The functions sum_tile(), indexed by their count of numbers less one.
template <std::int64_t kVectors, std::size_t... kNumbers>
constexpr std::array<SumTile, sizeof...(kNumbers)> sum_tiles(std::index_sequence<kNumbers...> /*numbers*/) {
    return {sum_tile<static_cast<std::int64_t>(kNumbers) + 1, kVectors>...};
}

void sum_rows(const RowProducts& task) {
    constexpr auto kOne = sum_tiles<1>(std::make_index_sequence<kTileRows>());
    constexpr auto kTwo = sum_tiles<2>(std::make_index_sequence<kTileRows>());
    constexpr std::int64_t kColumns = kTileVectors * kWidth;
    constexpr std::int64_t kChunkFloats = std::int64_t{24} << 10;
    const std::int64_t chunk_rows = std::max(kStepRows, kChunkFloats / (task.number_lanes + task.vector_lanes));
    const std::int64_t tiles = ceil_div(task.number_lanes, kTileRows);
    for (std::int64_t row = 0; row < task.rows; row += chunk_rows) {
        RowProducts chunk = task;
        chunk.rows = std::min(chunk_rows, task.rows - row);
        chunk.numbers += row * task.number_lanes;
        chunk.vectors += row * task.vector_lanes;
        const std::int64_t calls = ceil_div(task.vector_lanes, kColumns) * tiles * ceil_div(chunk.rows, kStepRows);
        const std::int64_t next_rows = std::min(chunk_rows, task.rows - row - chunk.rows);
        FetchRows fetch{Fetch(chunk.numbers + chunk.rows * task.number_lanes, next_rows * task.number_lanes, calls),
                        Fetch(chunk.vectors + chunk.rows * task.vector_lanes, next_rows * task.vector_lanes, calls)};
        for (std::int64_t column = 0; column < task.vector_lanes; column += kColumns) {
            const auto& tiles_of_columns = task.vector_lanes - column > kWidth ? kTwo : kOne;
            for (std::int64_t i = 0; i < tiles; ++i) {
                const std::int64_t number = task.number_lanes * i / tiles;
                const std::int64_t count = task.number_lanes * (i + 1) / tiles - number;
                tiles_of_columns[static_cast<std::size_t>(count - 1)](chunk, number, column, row > 0, fetch);
            }
        }
    }
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(sum_rows);

/// Tasks, each with sums of its own.
std::int64_t gradient_parts(const PointwiseShape& shape) {
    constexpr std::int64_t kFewestRows = 512;
    constexpr std::int64_t kMostParts = 64;
    return std::clamp<std::int64_t>(shape.rows() / kFewestRows, 1, kMostParts);
}

}  // namespace

bool has_pointwise_weight_grad(const PointwiseShape& shape) {
    return std::max(shape.inputs, shape.outputs) % kPointwisePanel == 0;
}

std::int64_t pointwise_weight_grad_scratch_floats(const PointwiseShape& shape) {
    return (gradient_parts(shape) + 1) * shape.inputs * shape.outputs;
}

void pointwise_weight_grad(const PointwiseShape& shape, const float* x, const float* dy, float* dw,
                           std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= pointwise_weight_grad_scratch_floats(shape),
                   "scratch is smaller than pointwise_weight_grad_scratch_floats");
    const bool is_turned = shape.inputs > shape.outputs;  // sums are [outputs][inputs]
    const std::int64_t parts = gradient_parts(shape);
    const std::int64_t count = shape.inputs * shape.outputs;
    parallel_tasks(parts, [&](std::int64_t part) {
        const std::int64_t first = shape.rows() * part / parts;
        const std::int64_t rows = shape.rows() * (part + 1) / parts - first;
        const float* const x_rows = x + first * shape.inputs;
        const float* const dy_rows = dy + first * shape.outputs;
        float* const sums = scratch.data() + part * count;
        HWY_DYNAMIC_DISPATCH(sum_rows)
        (is_turned ? RowProducts{rows, shape.outputs, shape.inputs, dy_rows, x_rows, sums}
                   : RowProducts{rows, shape.inputs, shape.outputs, x_rows, dy_rows, sums});
    });
    if (!is_turned) return sum_parts(parts, count, scratch.data(), dw);
    float* const turned = scratch.data() + parts * count;
    sum_parts(parts, count, scratch.data(), turned);
    for (std::int64_t o = 0; o < shape.outputs; ++o) {
        for (std::int64_t i = 0; i < shape.inputs; ++i)
            dw[i * shape.outputs + o] = turned[o * shape.inputs + i];
    }
}

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
