// Numbers of classes, rows and pixels: as a tensor, and whether there is such a class or row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <poplar/Tensor.hpp>
#include <poplar/Type.hpp>
#include <popops/Expr.hpp>
#include <vector>

#include "backend/ipu/lower/node_context.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/activation.h"

namespace cnntrain::ipu {

/// The constant INT [1][count]: 0, 1, 2, ...
poplar::Tensor numbers_up_to(const NodeContext& node, std::size_t count);

/// The operand in 32 bits.
inline popops::expr::Cast as_float(const popops::expr::Expr& operand) {
    return {operand, poplar::FLOAT};
}

/// BOOL: whether an INT number, of a class or a row, is in 0..count-1.
popops::expr::Any in_range(const popops::expr::Expr& number, std::size_t count);

// Descriptors of the graph as Poplar's types and shapes.

/// False for types that tiles do not compute with: f64, bf16, i64.
bool has_device_type(DType type);
/// Error(internal) unless has_device_type().
poplar::Type device_type(DType type);
std::vector<std::size_t> extents(const Shape& shape);

// Sums of exponentials along the last axis, from which softmax and log-sum-exp follow.

struct Exponentials {
    poplar::Tensor values;    // FLOAT [...,C]: exp(x - the row's largest x)
    poplar::Tensor sums;      // FLOAT [...]: of the values
    poplar::Tensor log_sums;  // FLOAT [...]: log(sum of exp(x))
};

/// Computes the exponentials of x [...,C], HALF or FLOAT.
Exponentials exponentials(const NodeContext& node, const poplar::Tensor& x);

// Views in the orders of axes that PopLibs wants.

/// [N,H,W,C] as [N,C,H,W].
inline poplar::Tensor channels_second(const poplar::Tensor& image) {
    return image.dimShuffle({0, 3, 1, 2});
}

/// [N,C,H,W] as [N,H,W,C].
inline poplar::Tensor channels_last(const poplar::Tensor& image) {
    return image.dimShuffle({0, 2, 3, 1});
}

/// [...,C] as a matrix of rows.
inline poplar::Tensor rows(const poplar::Tensor& x) {
    return x.flatten(0, static_cast<unsigned>(x.rank()) - 1);
}

// Activations as PopLibs' non-linearities.

poplar::Tensor activated(const NodeContext& node, graph::Activation activation, const poplar::Tensor& x);

/// dy times the slope. `at` is y where graph::slope_follows_from_result(), else x; of dy's shape.
poplar::Tensor times_slope(const NodeContext& node, graph::Activation activation, const poplar::Tensor& at,
                           const poplar::Tensor& dy);

// Dropout and drop-connect: random words from the key words that the host streams in.

enum class Draw : std::uint8_t {
    per_element,  // the word's index is the element's row-major index within its sample
    per_sample,   // the word's index is 0
};

/// x[N,...] as random_scale defines it (graph/op.h): x / keep where the word of `site` keeps the element, else 0. The
/// result has x's type.
poplar::Tensor randomly_scaled(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                               Draw draw = Draw::per_element);
/// The same, per element, plus an addend like x; rounded to x's type once.
poplar::Tensor randomly_scaled_sum(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x,
                                   const poplar::Tensor& addend);
/// BOOL, like x: which elements randomly_scaled() keeps. For several tensors that the same words scale.
poplar::Tensor randomly_kept(const NodeContext& node, std::uint64_t site, double keep, const poplar::Tensor& x);
/// randomly_scaled() of x, per element, by these.
poplar::Tensor scaled_where_kept(const NodeContext& node, const poplar::Tensor& kept, double keep,
                                 const poplar::Tensor& x);

}  // namespace cnntrain::ipu
