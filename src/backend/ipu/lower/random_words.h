// Dropout and drop-connect: random words from the key words that the host streams in.
#pragma once

#include <cstdint>

#include "backend/ipu/lower/node_context.h"

namespace cnntrain::ipu {

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
