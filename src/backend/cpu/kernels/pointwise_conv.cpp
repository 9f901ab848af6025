// 1x1 convolutions: products of rows of pixels with panels of weights, in tiles of vector registers.
//
// A task has some rows and some columns. Tiles of a few rows and two vectors of columns are summed over all inputs in
// registers. Where a residual or an activation follows, the sums go to the first cache and from there, finished, to y.
// Tiles follow each other panel by panel; or, if the weights stay in the first cache, row by row, so that memory is
// read and written in order. Rows with gates are copied first, multiplied by their gates. For a norm that follows,
// tiles are added to the statistics of their task while they are in registers.
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/pointwise_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/register_tile-inl.h"
#include "backend/cpu/kernels/statistics-inl.h"

#ifndef CNNTRAIN_CPU_POINTWISE_CONV_ARGUMENTS_
#define CNNTRAIN_CPU_POINTWISE_CONV_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Rows and columns of a result, and the operands from which they are computed.
struct PointwiseBlock {
    std::int64_t rows = 0, inputs = 0;
    std::int64_t first = 0, last = 0;  // columns: [first, last); first begins a panel
    std::int64_t outputs = 0;          // columns of y and of the residual
    const float* x = nullptr;          // the first row; residual and y, too
    const float* weights = nullptr;    // of all columns
    const float* bias = nullptr;       // of all columns; null: 0
    const float* residual = nullptr;   // null: none
    float* y = nullptr;
    float* statistics = nullptr;  // of all columns, for add_statistics(); null: not wanted
    Activation activation = Activation::none;
    bool past_cache = false;  // y is aligned and much larger than the caches: use streaming stores
};

/// Rows of one sample, multiplied by its gates.
struct GatedRows {
    std::int64_t rows = 0, lanes = 0;
    const float* x = nullptr;
    const float* gate = nullptr;
    float* y = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// The result of body(extent), where the extent is a whole vector or its first `count` columns.
template <typename Body> HWY_INLINE auto with_columns(std::int64_t count, const Body& body) {
    return count >= kWidth ? body(Whole{}) : body(Part{count});
}

/// The first `count` elements, then zeros.
HWY_INLINE Floats load_columns(const float* from, std::int64_t count) {
    return with_columns(count, [&](auto extent) HWY_ATTR { return extent.load_from(from); });
}

HWY_INLINE void store_columns(Floats value, std::int64_t count, float* to) {
    with_columns(count, [&](auto extent) HWY_ATTR { extent.store_to(value, to); });
}

/// Destination of a tile's sums: rows `apart` floats apart.
struct TileSums {
    float* to = nullptr;
    std::int64_t apart = 0;
    bool past_cache = false;
};

/// Rows of x times two vectors of columns, or one, plus the bias.
template <std::int64_t kRows, std::int64_t kVectors>
void tile(const PointwiseBlock& block, std::int64_t row, std::int64_t column, const TileSums& result) {
    RegisterTile<kRows, kVectors> sums;
    RightColumns<kVectors> weights{.next = kPointwisePanel};
    Floats bias[kVectors];
    for (std::int64_t v = 0; v < kVectors; ++v) {
        const std::int64_t c = column + v * kWidth;
        weights.at[v] = block.weights + c / kPointwisePanel * kPointwisePanel * block.inputs + c % kPointwisePanel;
        bias[v] = block.bias == nullptr ? hn::Zero(FloatTag()) : load_columns(block.bias + c, block.last - c);
    }
    sums.for_each([&](std::int64_t, std::int64_t v, Floats& sum) HWY_ATTR { sum = bias[v]; });
    sums.add_products(block.inputs, {block.x + row * block.inputs, block.inputs, 1}, weights);
    if (block.statistics != nullptr) {
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < kVectors; ++v) {
            const std::int64_t c = column + v * kWidth;
            with_columns(block.last - c, [&](auto extent) HWY_ATTR {
                add_statistics<kRows>(extent, block.statistics + c, block.outputs, row == 0,
                                      [&](std::int64_t r) HWY_ATTR { return sums.sums[r][v]; });
            });
        }
    }
    if (result.past_cache) {
        sums.for_each([&](std::int64_t r, std::int64_t v, Floats sum)
                          HWY_ATTR { store_past_cache(sum, result.to + r * result.apart + v * kWidth); });
        return;
    }
    sums.for_each([&](std::int64_t r, std::int64_t v, Floats sum) HWY_ATTR {
        store_columns(sum, block.last - column - v * kWidth, result.to + r * result.apart + v * kWidth);
    });
}

using Tile = void (*)(const PointwiseBlock&, std::int64_t, std::int64_t, const TileSums&);

/// The functions tile(), indexed by their number of rows less one.
template <std::int64_t kVectors, std::size_t... kRows>
constexpr std::array<Tile, sizeof...(kRows)> tiles(std::index_sequence<kRows...> /*rows*/) {
    return {tile<static_cast<std::int64_t>(kRows) + 1, kVectors>...};
}

/// y = activation(sums + residual) of some rows, in columns of a tile.
template <Activation kActivation> void finish(const PointwiseBlock& block, std::int64_t row, std::int64_t rows,
                                              std::int64_t column, const TileSums& sums) {
    const std::int64_t count = std::min(kTileVectors * kWidth, block.last - column);
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = (row + r) * block.outputs + column;
        for_vectors(count, [&](auto extent, std::int64_t i) {
            Floats value = extent.load_from(sums.to + r * sums.apart + i);
            if (block.residual != nullptr) value = hn::Add(value, extent.load_from(block.residual + at + i));
            value = ActivationOf<kActivation>::value(value);
            if (block.past_cache) {
                extent.store_past_cache_to(value, block.y + at + i);
            } else {
                extent.store_to(value, block.y + at + i);
            }
        });
    }
}

/// Fetches rows of x into the second cache.
HWY_INLINE void fetch_rows(const PointwiseBlock& block, std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first * block.inputs; i < last * block.inputs; i += kPointwisePanel)
        __builtin_prefetch(block.x + i, 0, 2);
}

void pointwise_block(const PointwiseBlock& block) {
    constexpr auto kOne = tiles<1>(std::make_index_sequence<kTileRows>());
    constexpr auto kTwo = tiles<2>(std::make_index_sequence<kTileRows>());
    const std::int64_t count = ceil_div(block.rows, kTileRows);
    with_activation(block.activation, [&]<Activation kActivation>() {
        const bool is_finished = kActivation == Activation::none && block.residual == nullptr;
        const auto add = [&](std::int64_t i, std::int64_t column) {
            const auto& tiles_of_rows = block.last - column > kWidth ? kTwo : kOne;
            const std::int64_t row = block.rows * i / count;
            const std::int64_t rows = block.rows * (i + 1) / count - row;
            const Tile& sum_tile = tiles_of_rows[static_cast<std::size_t>(rows - 1)];
            if (is_finished) {
                float* const y = block.y + row * block.outputs + column;
                return sum_tile(block, row, column, {y, block.outputs, block.past_cache});
            }
            HWY_ALIGN float sums[kTileRows * kTileVectors * kWidth];
            const TileSums in_cache{sums, kTileVectors * kWidth};
            sum_tile(block, row, column, in_cache);
            finish<kActivation>(block, row, rows, column, in_cache);
        };
        constexpr std::int64_t kColumns = kTileVectors * kWidth;
        if (block.inputs * block.outputs <= kMostCachedPointwiseWeights) {
            for (std::int64_t i = 0; i < count; ++i) {
                fetch_rows(block, block.rows * (i + 1) / count, block.rows * (i + 2) / count);
                for (std::int64_t column = block.first; column < block.last; column += kColumns)
                    add(i, column);
            }
        } else {
            for (std::int64_t column = block.first; column < block.last; column += kColumns) {
                for (std::int64_t i = 0; i < count; ++i)
                    add(i, column);
            }
        }
    });
    if (block.past_cache) hwy::FlushStream();
}

void gated_rows(const GatedRows& args) {
    for (std::int64_t row = 0; row < args.rows; ++row) {
        for_vectors(args.lanes, [&](auto extent, std::int64_t i) {
            const Floats x = extent.load_from(args.x + row * args.lanes + i);
            extent.store_to(hn::Mul(x, extent.load_from(args.gate + i)), args.y + row * args.lanes + i);
        });
    }
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <omp.h>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(pointwise_block);
HWY_EXPORT(gated_rows);

constexpr std::int64_t kFloatBytes = sizeof(float);
constexpr std::int64_t kFewestTaskRows = 56;

/// The rows of a task, so many that they stay in the second cache.
std::int64_t rows_of_task(const PointwiseShape& shape) {
    constexpr std::int64_t kMostBytes = std::int64_t{128} << 10;
    return std::max(kFewestTaskRows, kMostBytes / ((shape.inputs + shape.outputs) * kFloatBytes));
}

/// Returns the number of parts of each sample's pixels for products with statistics. Each part is a task; there are
/// enough tasks for many threads.
std::int64_t statistic_parts(const PointwiseShape& shape) {
    constexpr std::int64_t kWantedTasks = 64;
    const std::int64_t wanted = std::min(ceil_div(kWantedTasks, shape.samples), shape.pixels / kFewestTaskRows);
    return std::max({std::int64_t{1}, ceil_div(shape.pixels, rows_of_task(shape)), wanted});
}

/// Division of a product into tasks: by rows, and also by columns if there are more outputs than rows.
struct PointwiseParts {
    PointwiseParts(const PointwiseShape& shape, std::int64_t threads, bool with_statistics = false) {
        if (with_statistics) {
            rows = shape.samples * statistic_parts(shape);
            return;
        }
        const std::int64_t task_rows = rows_of_task(shape);
        const std::int64_t panels = ceil_div(shape.outputs, kPointwisePanel);
        const bool by_columns = shape.outputs > shape.rows();
        columns = by_columns ? std::min(panels, threads) : 1;
        const std::int64_t fewest = ceil_div(threads, columns);
        rows = std::min(shape.rows(), ceil_div(ceil_div(shape.rows(), task_rows), fewest) * fewest);
    }

    std::int64_t rows = 1, columns = 1;
};

}  // namespace

std::int64_t pointwise_scratch_floats(const PointwiseShape& shape, int threads) {
    std::int64_t most = 0;
    for (int t = 1; t <= threads; ++t)
        most = std::max(most, t * ceil_div(shape.rows(), PointwiseParts(shape, t).rows) * shape.inputs);
    return most;
}

std::vector<std::int64_t> pointwise_part_pixels(const PointwiseShape& shape) {
    return pixels_of_parts(shape.pixels, statistic_parts(shape), 1);
}

std::int64_t pointwise_weight_floats(const PointwiseShape& shape) {
    return ceil_div(shape.outputs, kPointwisePanel) * kPointwisePanel * shape.inputs;
}

void turn_pointwise_weights(const PointwiseShape& shape, const float* from, float* to) {
    std::fill_n(to, pointwise_weight_floats(shape), 0.0F);
    for (std::int64_t o = 0; o < shape.outputs; ++o) {
        float* const column = to + o / kPointwisePanel * kPointwisePanel * shape.inputs + o % kPointwisePanel;
        for (std::int64_t i = 0; i < shape.inputs; ++i)
            column[i * kPointwisePanel] = from[o * shape.inputs + i];
    }
}

void pointwise_conv(const PointwiseShape& shape, const PointwiseTensors& tensors, Activation activation,
                    std::span<float> scratch) {
    const bool is_plain = tensors.gate == nullptr && tensors.residual == nullptr && activation == Activation::none;
    CNNTRAIN_CHECK(tensors.statistics == nullptr || is_plain,
                   "statistics need a convolution without gates, residual and activation");
    const PointwiseParts parts(shape, omp_get_max_threads(), tensors.statistics != nullptr);
    const std::int64_t task_floats = ceil_div(shape.rows(), parts.rows) * shape.inputs;
    const std::int64_t panels = ceil_div(shape.outputs, kPointwisePanel);
    CNNTRAIN_CHECK(
        tensors.gate == nullptr || static_cast<std::int64_t>(scratch.size()) >= omp_get_max_threads() * task_floats,
        "scratch is smaller than pointwise_scratch_floats");
    const bool past_cache =
        shape.outputs % kPointwisePanel == 0 && exceeds_caches(shape.rows() * shape.outputs * kFloatBytes, tensors.y);
    const auto statistics_of = [&](std::int64_t part) -> float* {
        if (tensors.statistics == nullptr) return nullptr;
        const std::int64_t of_sample = parts.rows / shape.samples;
        return tensors.statistics + (part % of_sample * shape.samples + part / of_sample) * 3 * shape.outputs;
    };
    parallel_tasks(parts.rows * parts.columns, [&](std::int64_t task) {
        const std::int64_t part = task / parts.columns;
        const std::int64_t first = shape.rows() * part / parts.rows;
        const std::int64_t last = shape.rows() * (part + 1) / parts.rows;
        const float* x = tensors.x + first * shape.inputs;
        if (tensors.gate != nullptr) {
            float* const gated = scratch.data() + omp_get_thread_num() * task_floats;
            for (std::int64_t row = first; row < last;) {
                const std::int64_t sample = row / shape.pixels;
                const std::int64_t end = std::min(last, (sample + 1) * shape.pixels);
                HWY_DYNAMIC_DISPATCH(gated_rows)
                ({end - row, shape.inputs, tensors.x + row * shape.inputs, tensors.gate + sample * shape.inputs,
                  gated + (row - first) * shape.inputs});
                row = end;
            }
            x = gated;
        }
        const auto column = [&](std::int64_t part_of_columns) {
            return std::min(shape.outputs, panels * part_of_columns / parts.columns * kPointwisePanel);
        };
        HWY_DYNAMIC_DISPATCH(pointwise_block)
        ({.rows = last - first,
          .inputs = shape.inputs,
          .first = column(task % parts.columns),
          .last = column(task % parts.columns + 1),
          .outputs = shape.outputs,
          .x = x,
          .weights = tensors.weights,
          .bias = tensors.bias,
          .residual = shifted(tensors.residual, first * shape.outputs),
          .y = tensors.y + first * shape.outputs,
          .statistics = statistics_of(part),
          .activation = activation,
          .past_cache = past_cache});
    });
}

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
