// Moving statistics of a batch norm, folded into the convolution before it.
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/node_context.h"

namespace cnntrain::ipu {
namespace {

namespace pe = popops::expr;

/// gamma / sqrt(variance + epsilon), f32[O].
poplar::Tensor scale_of(const NodeContext& node, const poplar::Tensor& gamma, const poplar::Tensor& variance) {
    const auto epsilon = static_cast<float>(node.attrs<graph::FoldNormAttrs>().epsilon);
    return popops::map(node.device,
                       pe::Cast(pe::_1, poplar::FLOAT) * pe::Rsqrt(pe::Cast(pe::_2, poplar::FLOAT) + epsilon),
                       {gamma, variance}, node.program, node.debug());
}

void lower_fold_norm_weight(const NodeContext& node) {
    const poplar::Tensor scale = scale_of(node, node.input(1), node.input(2));
    node.set_output(0, popops::map(node.device, pe::Cast(pe::Cast(pe::_1, poplar::FLOAT) * pe::_2, node.output_type()),
                                   {node.input(0), scale}, node.program, node.debug()));
}

void lower_fold_norm_bias(const NodeContext& node) {
    const poplar::Tensor scale = scale_of(node, node.input(0), node.input(3));
    node.set_output(0,
                    popops::map(node.device, pe::Cast(pe::_1, poplar::FLOAT) - pe::Cast(pe::_2, poplar::FLOAT) * pe::_3,
                                {node.input(1), node.input(2), scale}, node.program, node.debug()));
}

}  // namespace

std::span<const LoweringEntry> fold_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::fold_norm_weight, lower_fold_norm_weight},
        {OpKind::fold_norm_bias, lower_fold_norm_bias},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
