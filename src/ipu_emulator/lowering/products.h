// Code that convolutions and matrix products share: options, packed right operands, blocks of sums.
#pragma once

#include <algorithm>
#include <set>
#include <string>

#include <poplin/Convolution.hpp>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/product.h"

namespace ipu_emulator {

/// Texts that identify the plans of a cache.
struct PlanKeys {
    std::set<std::string> keys;
};

/// Rounding of a product's partials.
struct PartialPolicy {
    bool half = false;       // else float
    bool stochastic = true;  // if the tile rounds stochastically
};

/// Half partials draw random bits, whatever the results are.
inline Draws draws_of(const PartialPolicy& policy) {
    return policy.half && policy.stochastic ? Draws::inside : Draws::results;
}

/// Checks the options of a convolution and returns how it rounds.
PartialPolicy conv_policy(const poplar::OptionFlags& options, poplar::Type input);

/// Remembers a plan.
void note_plan(poplin::PlanningCache* cache, const poplin::ConvParams& params, const poplar::OptionFlags& options,
               const std::string& what);

/// Rounding of a block of sums whose first result is element `first` of the output.
ProductRounding product_rounding(OpRun& run, const PartialPolicy& policy, std::size_t first);

/// The right operand of one group of channels: [panels][depth][kPanel], and how the depth is divided.
struct PackedColumns {
    const float* data = nullptr;
    std::size_t columns = 0;
    Depth full;  // groups of kGroup
    Depth rest;  // of the channels left over

    std::size_t panels() const { return (columns + kPanel - 1) / kPanel; }
    std::size_t depth() const { return full.groups * full.length + rest.groups * rest.length; }
    std::size_t groups() const { return full.groups + rest.groups; }
};

/// sums[r] [columns, filled up to whole panels] = left operand times `columns`, for `rows` rows. Row r's operands are
/// the groups left[r groups()...]; its sums begin at sums + place(r) panels() kPanel.
template <class Place> bool multiply_rows(const PackedColumns& right, const float* const* left, std::size_t rows,
                                          const float* zeros, float* sums, const ProductRounding& rounding,
                                          Place place) {
    const std::size_t width = right.panels() * kPanel;
    bool overflowed = false;
    for (std::size_t panel = 0; panel < right.panels(); ++panel) {
        const float* b = right.data + panel * right.depth() * kPanel;
        for (std::size_t first = 0; first < rows; first += kRows) {
            float* block[kRows];
            const std::size_t n = std::min(kRows, rows - first);
            for (std::size_t r = 0; r < n; ++r)
                block[r] = sums + place(first + r) * width + panel * kPanel;
            const float* const* a = left + first * right.groups();
            ProductRounding own = rounding;
            own.key += (panel << 32) + first;
            overflowed |= add_products_by_row(a, right.groups(), zeros, b, right.full, {block, n}, own);
            own.key += std::uint64_t{1} << 48;
            overflowed |= add_products_by_row(a + right.full.groups, right.groups(), zeros,
                                              b + right.full.groups * kGroup * kPanel, right.rest, {block, n}, own);
        }
    }
    return overflowed;
}

/// Right operands of all groups: element (group, k, column) at group group_stride + k row_stride + column of `from`.
struct Columns {
    const float* from;
    std::size_t groups;
    std::size_t depth;
    std::size_t columns;
    std::size_t group_stride;
    std::size_t row_stride;
};

/// Packs the columns as panels [groups][panels][depth][kPanel], filled up with zeros.
const float* pack_columns(OpRun& run, const Columns& columns);

}  // namespace ipu_emulator
