// Mixup and cutmix: mixed images and the cross entropy with mixed targets.
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/class_losses.h"
#include "backend/ipu/lower/node_context.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::MixedTargetsAttrs;

namespace pe = popops::expr;

namespace {

/// Element n of the result is the partner of sample n: element (n - distance) mod N of samples [N,...].
poplar::Tensor partners_at(std::int64_t distance, const poplar::Tensor& samples) {
    const std::size_t count = samples.dim(0);
    const std::size_t shift = static_cast<std::size_t>(distance) % count;
    if (shift == 0) return samples;
    return poplar::concat(samples.slice(count - shift, count), samples.slice(0, count - shift));
}

/// own * x + (1 - own) * partner, in x's type.
poplar::Tensor mixed_up(const NodeContext& node, const poplar::Tensor& x, const poplar::Tensor& own) {
    const auto sum = pe::_2 * pe::Cast(pe::_1, poplar::FLOAT) + (1.0F - pe::_2) * pe::Cast(pe::_3, poplar::FLOAT);
    return popops::map(node.device, pe::Cast(sum, x.elementType()), {x, own.expand({1, 1, 1}), partners_at(1, x)},
                       node.program, node.debug());
}

/// The partner's pixels inside the box i32[4], the own ones outside.
poplar::Tensor cut_and_mixed(const NodeContext& node, const poplar::Tensor& x, const poplar::Tensor& box,
                             std::int64_t distance) {
    const poplar::Tensor rows = numbers_up_to(node, x.dim(1)).reshape({1, x.dim(1), 1, 1});
    const poplar::Tensor columns = numbers_up_to(node, x.dim(2)).reshape({1, 1, x.dim(2), 1});
    const auto in_box = (pe::_3 >= pe::_5) && (pe::_3 < pe::_6) && (pe::_4 >= pe::_7) && (pe::_4 < pe::_8);
    return popops::map(node.device, pe::Select(pe::_2, pe::_1, in_box),
                       {x, partners_at(distance, x), rows, columns, box[0], box[1], box[2], box[3]}, node.program,
                       node.debug());
}

void lower_mix_images(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::MixImagesAttrs>();
    poplar::Tensor y = node.input(0);
    if (attrs.mixup) y = mixed_up(node, y, node.input(1));
    if (attrs.cutmix_distance != 0) y = cut_and_mixed(node, y, node.input(node.inputs() - 1), attrs.cutmix_distance);
    node.set_output(0, y);
}

/// Reads labels i32[N] and shares f32[N,P].
std::vector<Partner> partners(const NodeContext& node) {
    std::vector<Partner> all;
    for (const std::int64_t distance : node.attrs<MixedTargetsAttrs>().distances) {
        const std::size_t p = all.size();
        all.push_back({partners_at(distance, node.input(1)), node.input(2).slice(p, p + 1, 1).squeeze({1})});
    }
    return all;
}

TargetRule mixed_target_rule(const NodeContext& node) {
    const auto& attrs = node.attrs<MixedTargetsAttrs>();
    return {attrs.label_smoothing, attrs.class_weights};
}

void lower_mixed_cross_entropy(const NodeContext& node) {
    node.set_output(0, cross_entropy(node, node.input(0), node.input(1), partners(node), mixed_target_rule(node)));
    node.set_output(1, count_correct(node, node.input(0), node.input(1), 1));
}

void lower_mixed_cross_entropy_grad(const NodeContext& node) {
    node.set_output(0, cross_entropy_grad(node, node.input(0), node.input(1), partners(node), mixed_target_rule(node),
                                          node.input(3)));
}

}  // namespace

std::span<const LoweringEntry> mixing_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::mix_images, lower_mix_images},
        {OpKind::mixed_cross_entropy, lower_mixed_cross_entropy},
        {OpKind::mixed_cross_entropy_grad, lower_mixed_cross_entropy_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
