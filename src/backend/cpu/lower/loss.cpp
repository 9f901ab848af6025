#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {
namespace {

// The cross entropy with class weights, of mixed samples (labels, shares) and of others (labels).

/// The contents of labels and shares once they are bound.
struct LossTargets {
    Placed labels;
    Placed shares;  // none: 1
    graph::MixedTargetsAttrs attrs;

    MixedTargets now() const {
        return {labels.as<std::int32_t>(), shares ? shares.as<float>() : nullptr, attrs.distances,
                attrs.label_smoothing};
    }
    std::vector<Placed> reads(const Placed& logits) const {
        std::vector<Placed> all = {logits, labels};
        if (shares) all.push_back(shares);
        return all;
    }
};

LossTargets bind_loss_targets(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs, std::size_t inputs) {
    const auto& all = lower.node.inputs;
    return {lower.values.operand(all[1]), inputs > 2 ? lower.values.operand(all[2]) : Placed{}, attrs};
}

/// Inputs: logits, labels (, shares).
void lower_weighted_cross_entropy(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, inputs.size());
    const Placed loss = lower.values.define(outputs[0], row_major(lower.graph.desc(outputs[0])));
    const Placed correct = lower.values.define(outputs[1], row_major(lower.graph.desc(outputs[1])));
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", targets.reads(logits), {loss, correct},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            const LossSums sums =
                                weighted_cross_entropy(samples, classes, logits.as<T>(), targets.now(),
                                                       std::span(targets.attrs.class_weights), scratch());
                            *loss.as<float>() = sums.loss;
                            *correct.as<float>() = sums.correct;
                        });
    });
}

/// Inputs: logits, labels (, shares), dloss.
void lower_weighted_cross_entropy_grad(const NodeContext& lower, const graph::MixedTargetsAttrs& attrs) {
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const LossTargets targets = bind_loss_targets(lower, attrs, inputs.size() - 1);
    const Placed dloss = lower.values.operand(inputs.back());
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    std::vector<Placed> reads = targets.reads(logits);
    reads.push_back(dloss);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", reads, {result}, [=, samples = shape[0], classes = shape[1]](const StepContext&) {
            weighted_cross_entropy_grad(samples, classes, logits.as<T>(), targets.now(),
                                        std::span(targets.attrs.class_weights), *dloss.as<float>(), result.as<T>());
        });
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
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed loss = lower.values.define(outputs[0], row_major(lower.graph.desc(outputs[0])));
    const Placed correct = lower.values.define(outputs[1], row_major(lower.graph.desc(outputs[1])));
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add(
            "kernel", {logits, labels}, {loss, correct},
            [=, samples = shape[0], classes = shape[1], smoothing = attrs.label_smoothing](const StepContext&) {
                const LossSums sums = softmax_cross_entropy(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                                            smoothing, scratch());
                *loss.as<float>() = sums.loss;
                *correct.as<float>() = sums.correct;
            });
    });
}

void lower_softmax_cross_entropy_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<SoftmaxAttrs>();
    if (!attrs.class_weights.empty()) return lower_weighted_cross_entropy_grad(lower, unmixed(attrs));
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed dloss = lower.values.operand(inputs[2]);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add(
            "kernel", {logits, labels, dloss}, {result},
            [=, samples = shape[0], classes = shape[1], smoothing = attrs.label_smoothing](const StepContext&) {
                softmax_cross_entropy_grad(samples, classes, logits.as<T>(), labels.as<std::int32_t>(), smoothing,
                                           *dloss.as<float>(), result.as<T>());
            });
    });
}

void lower_top_k_correct(const NodeContext& lower) {
    const auto& attrs = lower.node.as<graph::TopKAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed correct = lower.values.define(output, row_major(lower.graph.desc(output)));
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

using graph::DistillationAttrs;

void lower_distillation(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed teacher = lower.values.operand(inputs[2]);
    const Placed loss = lower.values.define(output, row_major(lower.graph.desc(output)));
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
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed teacher = lower.values.operand(inputs[2]);
    const Placed dloss = lower.values.operand(inputs[3]);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    const double temperature = lower.node.as<DistillationAttrs>().temperature;
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, labels, teacher, dloss}, {result},
                        [=, samples = shape[0], classes = shape[1]](const StepContext&) {
                            distillation_grad(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                              teacher.as<float>(), temperature, *dloss.as<float>(), result.as<T>());
                        });
    });
}

using graph::SigmoidAttrs;

void lower_sigmoid_cross_entropy(const NodeContext& lower) {
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(lower.node.inputs[0]).shape;
    const Placed logits = lower.values.operand(lower.node.inputs[0]);
    const Placed labels = lower.values.operand(lower.node.inputs[1]);
    const Placed loss = lower.values.define(outputs[0], row_major(lower.graph.desc(outputs[0])));
    const Placed correct = lower.values.define(outputs[1], row_major(lower.graph.desc(outputs[1])));
    const auto scratch = lower.steps.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add(
            "kernel", {logits, labels}, {loss, correct},
            [=, samples = shape[0], classes = shape[1], attrs = lower.node.as<SigmoidAttrs>()](const StepContext&) {
                const LossSums sums = sigmoid_cross_entropy(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                                            {attrs.positive_weights, attrs.focus}, scratch());
                *loss.as<float>() = sums.loss;
                *correct.as<float>() = sums.correct;
            });
    });
}

void lower_sigmoid_cross_entropy_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.operand(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed dloss = lower.values.operand(inputs[2]);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add(
            "kernel", {logits, labels, dloss}, {result},
            [=, samples = shape[0], classes = shape[1], attrs = lower.node.as<SigmoidAttrs>()](const StepContext&) {
                sigmoid_cross_entropy_grad(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                           {attrs.positive_weights, attrs.focus}, *dloss.as<float>(), result.as<T>());
            });
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
