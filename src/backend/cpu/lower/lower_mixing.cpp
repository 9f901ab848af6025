// Mixed images and the loss of mixed targets.
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/weighted_loss.h"

namespace cnntrain::cpu {

using graph::MixedTargetsAttrs;
using graph::MixImagesAttrs;
using graph::ValueId;

namespace {

void lower_mix_images(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MixImagesAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(y);
    const Placed x = lower.values.operand_as(inputs[0], image_desc(desc), "images are mixed pixel by pixel");
    const bool cutmix = attrs.cutmix_distance != 0;
    const Placed own = attrs.mixup ? lower.values.operand(inputs[1]) : Placed{};
    const Placed box = cutmix ? lower.values.operand(inputs.back()) : Placed{};
    const Placed result = lower.values.define(y, image_desc(desc));
    std::vector<Placed> reads = {x};
    if (own) reads.push_back(own);
    if (box) reads.push_back(box);
    MixImages how{.samples = desc.shape[0], .height = desc.shape[1], .width = desc.shape[2], .channels = desc.shape[3]};
    how.cutmix_distance = attrs.cutmix_distance;
    with_float_type(desc.dtype, [&]<typename T>() {
        lower.steps.add("kernel", reads, {result}, [=](const StepContext&) {
            MixImages now = how;
            now.own = own ? own.as<float>() : nullptr;
            now.box = box ? box.as<std::int32_t>() : nullptr;
            mix_images(now, x.as<T>(), result.as<T>());
        });
    });
}

/// The contents of labels and shares once they are bound.
struct BoundTargets {
    Placed labels, shares;
    MixedTargetsAttrs attrs;

    MixedTargets now() const {
        return {labels.as<std::int32_t>(), shares.as<float>(), attrs.distances, attrs.label_smoothing};
    }
};

BoundTargets bind_targets(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    return {lower.values.operand(inputs[1]), lower.values.operand(inputs[2]), lower.node.as<MixedTargetsAttrs>()};
}

void lower_mixed_cross_entropy(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MixedTargetsAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy(lower, attrs);
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(lower.node.inputs[0]).shape;
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const BoundTargets targets = bind_targets(lower);
    const Placed loss = lower.values.define(outputs[0], row_major(lower.graph.desc(outputs[0])));
    const Placed correct = lower.values.define(outputs[1], row_major(lower.graph.desc(outputs[1])));
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, targets.labels, targets.shares}, {loss, correct},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            const LossSums sums =
                                mixed_cross_entropy(samples, classes, logits.as<T>(), targets.now(), scratch());
                            *loss.as<float>() = sums.loss;
                            *correct.as<float>() = sums.correct;
                        });
    });
}

void lower_mixed_cross_entropy_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MixedTargetsAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy_grad(lower, attrs);
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const BoundTargets targets = bind_targets(lower);
    const Placed dloss = lower.values.operand(inputs[3]);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, targets.labels, targets.shares, dloss}, {result},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            mixed_cross_entropy_grad(samples, classes, logits.as<T>(), targets.now(),
                                                     *dloss.as<float>(), result.as<T>());
                        });
    });
}

}  // namespace

std::span<const LoweringEntry> mixing_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::mix_images, lower_mix_images},
        {graph::OpKind::mixed_cross_entropy, lower_mixed_cross_entropy},
        {graph::OpKind::mixed_cross_entropy_grad, lower_mixed_cross_entropy_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
