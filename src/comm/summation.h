// The arithmetic of reductions: sums along the tree that communicator.h describes, and rounding for the wire.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::comm {

/// Indices of parts, grouped: a group is summed in its order, then the groups' sums in theirs.
using SumTree = std::vector<std::vector<int>>;

/// out[i] = the tree's sum of parts[...][i]. `out` may be one of the parts.
void sum_parts(std::span<const float* const> parts, const SumTree& tree, std::span<float> out);
void sum_parts(std::span<const BFloat16* const> parts, const SumTree& tree, std::span<float> out);

/// Rounds to the nearest, ties to even. Sizes are equal.
void pack(std::span<const float> values, std::span<BFloat16> packed);
void unpack(std::span<const BFloat16> packed, std::span<float> values);

}  // namespace cnntrain::comm
