// Matrix products with the roundings of a tile's multiply-accumulate units.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {

/// Rounding of the running sums: none (partials are float), or to half after each group of products.
enum class PartialRounding { none, nearest, stochastic };

/// Columns of the right operand that lie together: b is [columns / kPanel][depth][kPanel], filled up with zeros.
constexpr std::size_t kPanel = 16;
/// Products that a unit adds to a running sum before it rounds.
constexpr std::size_t kGroup = 16;
/// Rows that a kernel computes at once.
constexpr std::size_t kRows = 6;

/// `groups` groups of `length` products each.
struct Depth {
    std::size_t groups = 0;
    std::size_t length = kGroup;
};

struct ProductRounding {
    PartialRounding partials = PartialRounding::none;
    Overflow overflow = Overflow::saturate;
    std::uint64_t key = 0;  // of this block of sums, where rounding is stochastic
};

/// A block of sums: `rows` (at most kRows) rows, sums[r] points to kPanel floats. A group is added in the order of its
/// products, beginning with the running sum, which is then rounded. Groups whose left operands are all `zeros` are left
/// out. Each returns whether a partial overflowed.
struct SumBlock {
    float* const* sums;
    std::size_t rows;
};

/// Left operands by rows: the operands of row r and group g are the `length` floats at a[r a_stride + g].
bool add_products_by_row(const float* const* a, std::size_t a_stride, const float* zeros, const float* b, Depth depth,
                         SumBlock block, const ProductRounding& rounding);

/// Left operands by depth: product k of row r takes a[k][offset + r].
bool add_products_by_depth(const float* const* a, std::size_t offset, const float* b, Depth depth, SumBlock block,
                           const ProductRounding& rounding);

}  // namespace ipu_emulator
