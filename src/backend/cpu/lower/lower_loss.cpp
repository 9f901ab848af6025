// The loss, its gradient and the counts of correct answers.
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/weighted_loss.h"

namespace cnntrain::cpu {

using graph::SoftmaxAttrs;
using graph::ValueId;

namespace {

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

}  // namespace

std::span<const LoweringEntry> loss_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
        {graph::OpKind::softmax_cross_entropy_grad, lower_softmax_cross_entropy_grad},
        {graph::OpKind::top_k_correct, lower_top_k_correct},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
