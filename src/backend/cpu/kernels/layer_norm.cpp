// Layer norm, with dropout and residual addition before it, and its gradient. Each row is read from memory once; later
// sweeps over it find it in the cache.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/targets.h"
#include "backend/cpu/kernels/tokens.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/layer_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_LAYER_NORM_ARGUMENTS_
#define CNNTRAIN_CPU_LAYER_NORM_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// The dropout of one row.
struct RowWords {
    bool active = false;
    WordKey key;
    std::uint32_t first = 0;  // index of the row's first element
    std::uint32_t last_kept = 0;
    float factor = 1;
};

template <typename T> struct ForwardRow {
    std::int64_t features = 0;
    const T* x = nullptr;
    const T* residual = nullptr;
    const float* gamma = nullptr;
    const float* beta = nullptr;
    T* y = nullptr;
    T* z = nullptr;
    float epsilon = 0;
    RowWords words;
    float* room = nullptr;  // [features] for z
};

struct RowMoments {
    float mean = 0;
    float variance = 0;
};

template <typename T> struct GradientRow {
    std::int64_t features = 0;
    const T* z = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;
    const float* gamma = nullptr;
    float mean = 0;
    float scale = 0;  // 1 / sqrt(variance + epsilon)
    T* dz = nullptr;
    T* dx = nullptr;
    float* dgamma = nullptr;  // dy * normalised z is added
    float* dbeta = nullptr;   // dy is added
    RowWords words;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// x * factor if the element is kept, otherwise 0.
HWY_INLINE Floats kept_part(const RowWords& words, std::int64_t i, Floats x) {
    const BitsTag du;
    const Bits index = hn::Add(hn::Set(du, words.first + static_cast<std::uint32_t>(i)), hn::Iota(du, 0));
    const Bits drawn = random_words(index, words.key.first, words.key.second);
    const auto dropped = hn::RebindMask(FloatTag(), hn::Gt(drawn, hn::Set(du, words.last_kept)));
    return hn::IfThenZeroElse(dropped, hn::Mul(x, hn::Set(FloatTag(), words.factor)));
}

/// Computes z of the row into `room`, rounded like the stored z, so that backward, which reads the stored values,
/// agrees. Returns its sum.
template <typename T> float gather_row(const ForwardRow<T>& row) {
    const FloatTag d;
    T* const stored = row.z != nullptr ? row.z : row.y;
    Floats sum = hn::Zero(d);
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        Floats z = load_ahead(extent, row.x + i);
        if (row.words.active) z = kept_part(row.words, i, z);
        if (row.residual != nullptr) {
            z = hn::Add(z, load_ahead(extent, row.residual + i));
            extent.store_to(z, stored + i);
            z = extent.load_from(stored + i);
        }
        extent.store_to(z, row.room + i);
        sum = hn::Add(sum, z);
    });
    return hn::GetLane(hn::SumOfLanes(d, sum));
}

template <typename T> RowMoments forward_row(const ForwardRow<T>& row) {
    const FloatTag d;
    const auto count = static_cast<float>(row.features);
    const Floats mean = hn::Set(d, gather_row(row) / count);
    Floats squares = hn::Zero(d);
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        const Floats deviation = hn::Sub(extent.load_from(row.room + i), mean);
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        squares = hn::Add(squares, hn::IfThenElseZero(valid, hn::Mul(deviation, deviation)));
    });
    const float variance = hn::GetLane(hn::SumOfLanes(d, squares)) / count;
    const Floats scale = hn::Div(hn::Set(d, 1.0F), hn::Sqrt(hn::Set(d, variance + row.epsilon)));
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        const Floats normalised = hn::Mul(hn::Sub(extent.load_from(row.room + i), mean), scale);
        const Floats y = hn::MulAdd(normalised, extent.load_from(row.gamma + i), extent.load_from(row.beta + i));
        extent.store_to(y, row.y + i);
    });
    return {.mean = hn::GetLane(mean), .variance = variance};
}

template <typename T, typename Extent>
HWY_INLINE Floats incoming(const GradientRow<T>& row, const Extent& extent, std::int64_t i) {
    const Floats dy = load_ahead(extent, row.dy + i);
    return row.dy2 == nullptr ? dy : hn::Add(dy, load_ahead(extent, row.dy2 + i));
}

/// Computes dz = scale * (g - mean(g) - n * mean(g * n)), where n is the normalised z and g = gamma * dy.
template <typename T> void gradient_row(const GradientRow<T>& row) {
    const FloatTag d;
    const Floats mean = hn::Set(d, row.mean);
    const Floats scale = hn::Set(d, row.scale);
    Floats sum = hn::Zero(d);
    Floats projection = hn::Zero(d);
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        const Floats dy = incoming(row, extent, i);  // zero beyond the row's end
        const Floats normalised = hn::Mul(hn::Sub(load_ahead(extent, row.z + i), mean), scale);
        const Floats g = hn::Mul(dy, extent.load_from(row.gamma + i));
        sum = hn::Add(sum, g);
        projection = hn::MulAdd(g, normalised, projection);
        extent.store_to(hn::MulAdd(dy, normalised, extent.load_from(row.dgamma + i)), row.dgamma + i);
        extent.store_to(hn::Add(dy, extent.load_from(row.dbeta + i)), row.dbeta + i);
    });
    const Floats share = hn::Set(d, 1.0F / static_cast<float>(row.features));
    const Floats mean_g = hn::Mul(hn::SumOfLanes(d, sum), share);
    const Floats mean_gn = hn::Mul(hn::SumOfLanes(d, projection), share);
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        const Floats normalised = hn::Mul(hn::Sub(extent.load_from(row.z + i), mean), scale);
        const Floats g = hn::Mul(incoming(row, extent, i), extent.load_from(row.gamma + i));
        const Floats dz = hn::Mul(scale, hn::NegMulAdd(normalised, mean_gn, hn::Sub(g, mean_g)));
        if (row.dx != nullptr) extent.store_to(kept_part(row.words, i, dz), row.dx + i);
        extent.store_to(dz, row.dz + i);
    });
}

CNNTRAIN_KERNELS_OF_TYPES(forward_row, ForwardRow)
CNNTRAIN_KERNELS_OF_TYPES(gradient_row, GradientRow)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_forward, forward_row, ForwardRow)
CNNTRAIN_CALL_OF_TYPES(call_gradient, gradient_row, GradientRow)

/// Rows are divided into parts by their number alone; each part has its own sums and buffers.
constexpr std::int64_t kMostParts = 64;
constexpr std::int64_t kLeastRows = 16;

std::int64_t parts_of(const RowsShape& shape) {
    return std::clamp<std::int64_t>(shape.samples * shape.rows / kLeastRows, 1, kMostParts);
}

/// Calls use(part, row) for all rows, in order within each part.
template <typename Use> void for_each_row(const RowsShape& shape, const Use& use) {
    const std::int64_t rows = shape.samples * shape.rows;
    const std::int64_t parts = parts_of(shape);
    parallel_tasks(parts, [&](std::int64_t part) {
        for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row)
            use(part, row);
    });
}

RowWords words_of(const RowsShape& shape, const ElementDropout& dropout, std::int64_t row) {
    if (!dropout.active) return {};
    return {.active = true,
            .key = dropout.key(row / shape.rows),
            .first = static_cast<std::uint32_t>(row % shape.rows * shape.features),
            .last_kept = dropout.last_kept,
            .factor = dropout.factor};
}

void check_scratch(const RowsShape& shape, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= layer_norm_scratch_floats(shape),
                   "scratch is smaller than layer_norm_scratch_floats");
}

}  // namespace

std::int64_t layer_norm_scratch_floats(const RowsShape& shape) {
    return parts_of(shape) * 2 * shape.features;
}

template <typename T>
void layer_norm(const RowsShape& shape, const LayerNormForward<T>& args, std::span<float> scratch) {
    check_scratch(shape, scratch);
    for_each_row(shape, [&](std::int64_t part, std::int64_t row) {
        const std::int64_t offset = row * shape.features;
        const RowMoments moments =
            call_forward({.features = shape.features,
                          .x = args.x + offset,
                          .residual = args.residual == nullptr ? nullptr : args.residual + offset,
                          .gamma = args.gamma,
                          .beta = args.beta,
                          .y = args.y + offset,
                          .z = args.z == nullptr ? nullptr : args.z + offset,
                          .epsilon = args.epsilon,
                          .words = words_of(shape, args.dropout, row),
                          .room = scratch.data() + part * shape.features});
        args.mean[row] = moments.mean;
        args.variance[row] = moments.variance;
    });
}

template <typename T>
void layer_norm_grad(const RowsShape& shape, const LayerNormGradient<T>& args, std::span<float> scratch) {
    check_scratch(shape, scratch);
    const std::int64_t parts = parts_of(shape);
    float* const dgamma = scratch.data();  // [parts][features]; dbeta follows
    float* const dbeta = dgamma + parts * shape.features;
    std::fill_n(dgamma, 2 * parts * shape.features, 0.0F);
    for_each_row(shape, [&](std::int64_t part, std::int64_t row) {
        const std::int64_t offset = row * shape.features;
        call_gradient({.features = shape.features,
                       .z = args.z + offset,
                       .dy = args.dy + offset,
                       .dy2 = args.dy2 == nullptr ? nullptr : args.dy2 + offset,
                       .gamma = args.gamma,
                       .mean = args.mean[row],
                       .scale = 1 / std::sqrt(args.variance[row] + args.epsilon),
                       .dz = args.dz + offset,
                       .dx = args.dx == nullptr ? nullptr : args.dx + offset,
                       .dgamma = dgamma + part * shape.features,
                       .dbeta = dbeta + part * shape.features,
                       .words = words_of(shape, args.dropout, row)});
    });
    sum_parts(parts, shape.features, dgamma, args.dgamma);
    sum_parts(parts, shape.features, dbeta, args.dbeta);
}

template void layer_norm(const RowsShape&, const LayerNormForward<float>&, std::span<float>);
template void layer_norm(const RowsShape&, const LayerNormForward<BFloat16>&, std::span<float>);
template void layer_norm_grad(const RowsShape&, const LayerNormGradient<float>&, std::span<float>);
template void layer_norm_grad(const RowsShape&, const LayerNormGradient<BFloat16>&, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
