// Batched matrix products: operands are transposed, and read where views have left them, through their strides.
#include <numeric>

#include "backend/cpu/lower/division.h"
#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

using graph::MatmulAttrs;
using graph::ValueId;

namespace {

/// The same memory with the last two axes exchanged.
Placed transposed(Placed tensor, bool wanted) {
    if (!wanted) return tensor;
    const auto rank = static_cast<int>(strides_of(tensor.desc).size());
    std::vector<int> place(static_cast<std::size_t>(rank - 2));
    std::iota(place.begin(), place.end(), 0);
    place.insert(place.end(), {rank - 1, rank - 2});
    tensor.desc = tensor.desc.permute_axes(place);
    return tensor;
}

void lower_batched_matmul(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MatmulAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const Desc result_desc = row_major(lower.graph.desc(y));
    Placed a = transposed(lower.values.strided(inputs[0]), attrs.transpose_a);
    Placed b = transposed(lower.values.strided(inputs[1]), attrs.transpose_b);
    const bool is_single = lower.graph.desc(y).shape.size() == 2;  // its rows are divided, which share all of b
    const Division division(lower, lower.graph.desc(y).shape[0]);
    const auto plan = [&] {
        return division.plan([&] {
            return lower.onednn.matmul(division.part_of(a.desc), is_single ? b.desc : division.part_of(b.desc),
                                       division.part_of(result_desc), false);
        });
    };
    Primitive product = plan();
    if (product.is_naive()) {  // for these strides
        a = transposed(lower.values.in_order(inputs[0]), attrs.transpose_a);
        b = transposed(lower.values.in_order(inputs[1]), attrs.transpose_b);
        product = plan();
    }
    const Placed result = lower.values.define(y, result_desc);
    std::vector<DividedArgument> divided = {{DNNL_ARG_SRC, product.src}, {DNNL_ARG_DST, product.dst}};
    if (!is_single) divided.push_back({DNNL_ARG_WEIGHTS, product.weights});
    division.add(lower, product, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, result}}, divided,
                 {DNNL_ARG_DST});
}

}  // namespace

std::span<const LoweringEntry> matmul_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::batched_matmul, lower_batched_matmul},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
