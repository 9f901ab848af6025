#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {
namespace {

/// Adds the step of a loss: compute(samples, classes, logits, scratch) returns LossSums for logits of either type.
template <typename Compute>
void add_loss(const NodeContext& lower, const Placed& logits, const std::vector<Placed>& reads, Compute compute) {
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(lower.node.inputs[0]).shape;
    const Placed loss = lower.values.define(outputs[0]);
    const Placed correct = lower.values.define(outputs[1]);
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", reads, {loss, correct},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            const LossSums sums = compute(samples, classes, logits.as<T>(), scratch());
                            *loss.as<float>() = sums.loss;
                            *correct.as<float>() = sums.correct;
                        });
    });
}

/// Adds the step of its gradient: compute(samples, classes, logits, dloss, dlogits). The last input is dloss.
template <typename Compute>
void add_loss_grad(const NodeContext& lower, const Placed& logits, std::vector<Placed> reads, Compute compute) {
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed dloss = lower.values.operand(inputs.back());
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    reads.push_back(dloss);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", reads, {result}, [=, samples = shape[0], classes = shape[1]](const StepContext&) {
            compute(samples, classes, logits.as<T>(), *dloss.as<float>(), result.as<T>());
        });
    });
}

// The cross entropy with class weights, of mixed samples (labels, shares) and of others (labels).

/// The contents of labels and shares once they are bound.
struct LossTargets {
    Placed labels;
    Placed shares;  // none: 1
    graph::MixedTargetsAttrs attrs;

    MixedTargets now() const {
        return {labels.as<std::int32_t>(), shares.as<float>(), attrs.distances, attrs.label_smoothing};
    }
    std::vector<Placed> reads(const Placed& logits) const { return present({logits, labels, shares}); }
};

LossTargets bind_loss_targets(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs, std::size_t inputs) {
    const auto& all = lower.node.inputs;
    return {lower.values.operand(all[1]), inputs > 2 ? lower.values.operand(all[2]) : Placed{}, attrs};
}

/// Inputs: logits, labels (, shares).
void lower_weighted_cross_entropy(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs) {
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, lower.node.inputs.size());
    add_loss(lower, logits, targets.reads(logits), [=](auto samples, auto classes, const auto* z, auto scratch) {
        return weighted_cross_entropy(samples, classes, z, targets.now(), std::span(targets.attrs.class_weights),
                                      scratch);
    });
}

/// Inputs: logits, labels (, shares), dloss.
void lower_weighted_cross_entropy_grad(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs) {
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, lower.node.inputs.size() - 1);
    add_loss_grad(lower, logits, targets.reads(logits),
                  [=](auto samples, auto classes, const auto* z, float dloss, auto* dz) {
                      weighted_cross_entropy_grad(samples, classes, z, targets.now(),
                                                  std::span(targets.attrs.class_weights), dloss, dz);
                  });
}

// The loss, its gradient and the counts of correct answers.

using graph::SoftmaxAttrs;
using graph::ValueId;

/// The attributes of the same loss as one of mixed samples.
graph::MixedTargetsAttrs unmixed(const SoftmaxAttrs& attrs) {
    return {attrs.label_smoothing, {0}, attrs.class_weights};
}

void lower_softmax_cross_entropy(const NodeContext& lower) {
    const auto& attrs = lower.node.as<SoftmaxAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy(lower, unmixed(attrs));
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    add_loss(lower, logits, {logits, labels},
             [=, smoothing = attrs.label_smoothing](auto samples, auto classes, const auto* z, auto scratch) {
                 return softmax_cross_entropy(samples, classes, z, labels.as<std::int32_t>(), smoothing, scratch);
             });
}

void lower_softmax_cross_entropy_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<SoftmaxAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy_grad(lower, unmixed(attrs));
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    add_loss_grad(
        lower, logits, {logits, labels},
        [=, smoothing = attrs.label_smoothing](auto samples, auto classes, const auto* z, float dloss, auto* dz) {
            softmax_cross_entropy_grad(samples, classes, z, labels.as<std::int32_t>(), smoothing, dloss, dz);
        });
}

void lower_top_k_correct(const NodeContext& lower) {
    const auto& attrs = lower.node.as<graph::TopKAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed correct = lower.values.define(output);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, labels}, {correct},
                        [=, samples = shape[0], classes = shape[1], k = attrs.k](const StepContext&) {
                            *correct.as<float>() =
                                top_k_correct(samples, classes, logits.as<T>(), labels.as<std::int32_t>(), k);
                        });
    });
}

// Mixed images and the loss of mixed targets.

using graph::MixedTargetsAttrs;
using graph::MixImagesAttrs;

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
    MixImages how{.samples = desc.shape[0], .height = desc.shape[1], .width = desc.shape[2], .channels = desc.shape[3]};
    how.cutmix_distance = attrs.cutmix_distance;
    add_typed(lower, desc.dtype, "kernel", present({x, own, box}), {result}, [=]<typename T>(const StepContext&) {
        MixImages now = how;
        now.own = own.as<float>();
        now.box = box.as<std::int32_t>();
        mix_images(now, x.as<T>(), result.as<T>());
    });
}

void lower_mixed_cross_entropy(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MixedTargetsAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy(lower, attrs);
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, lower.node.inputs.size());
    add_loss(lower, logits, targets.reads(logits), [=](auto samples, auto classes, const auto* z, auto scratch) {
        return mixed_cross_entropy(samples, classes, z, targets.now(), scratch);
    });
}

void lower_mixed_cross_entropy_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<MixedTargetsAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy_grad(lower, attrs);
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, lower.node.inputs.size() - 1);
    add_loss_grad(lower, logits, targets.reads(logits),
                  [=](auto samples, auto classes, const auto* z, float dloss, auto* dz) {
                      mixed_cross_entropy_grad(samples, classes, z, targets.now(), dloss, dz);
                  });
}

using graph::DistillationAttrs;

void lower_distillation(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed teacher = lower.values.operand(inputs[2]);
    const Placed loss = lower.values.define(output);
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    const double temperature = lower.node.as<DistillationAttrs>().temperature;
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, labels, teacher}, {loss},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            *loss.as<float>() =
                                distillation(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                             teacher.as<float>(), temperature, scratch());
                        });
    });
}

void lower_distillation_grad(const NodeContext& lower) {
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    const Placed teacher = lower.values.operand(lower.node.inputs[2]);
    const double temperature = lower.node.as<DistillationAttrs>().temperature;
    add_loss_grad(lower, logits, {logits, labels, teacher},
                  [=](auto samples, auto classes, const auto* z, float dloss, auto* dz) {
                      distillation_grad(samples, classes, z, labels.as<std::int32_t>(), teacher.as<float>(),
                                        temperature, dloss, dz);
                  });
}

using graph::SigmoidAttrs;

void lower_sigmoid_cross_entropy(const NodeContext& lower) {
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    add_loss(lower, logits, {logits, labels},
             [=, attrs = lower.node.as<SigmoidAttrs>()](auto samples, auto classes, const auto* z, auto scratch) {
                 return sigmoid_cross_entropy(samples, classes, z, labels.as<std::int32_t>(),
                                              {attrs.positive_weights, attrs.focus}, scratch);
             });
}

void lower_sigmoid_cross_entropy_grad(const NodeContext& lower) {
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    add_loss_grad(
        lower, logits, {logits, labels},
        [=, attrs = lower.node.as<SigmoidAttrs>()](auto samples, auto classes, const auto* z, float dloss, auto* dz) {
            sigmoid_cross_entropy_grad(samples, classes, z, labels.as<std::int32_t>(),
                                       {attrs.positive_weights, attrs.focus}, dloss, dz);
        });
}

}  // namespace

std::span<const LoweringEntry> loss_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
        {graph::OpKind::softmax_cross_entropy_grad, lower_softmax_cross_entropy_grad},
        {graph::OpKind::top_k_correct, lower_top_k_correct},
        {graph::OpKind::distillation, lower_distillation},
        {graph::OpKind::distillation_grad, lower_distillation_grad},
        {graph::OpKind::sigmoid_cross_entropy, lower_sigmoid_cross_entropy},
        {graph::OpKind::sigmoid_cross_entropy_grad, lower_sigmoid_cross_entropy_grad},
        {graph::OpKind::mix_images, lower_mix_images},
        {graph::OpKind::mixed_cross_entropy, lower_mixed_cross_entropy},
        {graph::OpKind::mixed_cross_entropy_grad, lower_mixed_cross_entropy_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
