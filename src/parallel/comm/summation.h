// The arithmetic of reductions: sums along the tree described in communicator.h, and rounding for the wire format.
#pragma once

#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::comm {

/// Groups of indices of parts: each group is summed in its order, then the groups' sums in theirs.
using SumTree = std::vector<std::vector<int>>;

/// out[i] = sum of parts[...][i] along the tree. `out` may be one of the parts.
void sum_parts(std::span<const float* const> parts, const SumTree& tree, std::span<float> out);
void sum_parts(std::span<const BFloat16* const> parts, const SumTree& tree, std::span<float> out);

/// Rounds to nearest, ties to even. Both sizes must be equal.
void pack(std::span<const float> values, std::span<BFloat16> packed);
void unpack(std::span<const BFloat16> packed, std::span<float> values);

}  // namespace cnntrain::comm
