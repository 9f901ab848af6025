// The loss, its gradient and the counts of correct answers.
#include "backend/cpu/lower/lowering.h"

namespace cnntrain::cpu {

using graph::SoftmaxAttrs;
using graph::ValueId;

namespace {

void lower_softmax_cross_entropy(Lowering& lower) {
    const auto& attrs = lower.node().as<SoftmaxAttrs>();
    const auto& inputs = lower.node().inputs;
    const auto& outputs = lower.node().outputs;
    const Shape& shape = lower.graph().desc(inputs[0]).shape;
    const Placed logits = lower.operand(inputs[0]);
    const Placed labels = lower.operand(inputs[1]);
    const Placed loss = lower.define(outputs[0], row_major(lower.graph().desc(outputs[0])));
    const Placed correct = lower.define(outputs[1], row_major(lower.graph().desc(outputs[1])));
    const auto scratch = lower.scratch_floats(softmax_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.add_step(
            "kernel", {logits, labels}, {loss, correct},
            [=, samples = shape[0], classes = shape[1], smoothing = attrs.label_smoothing](const StepContext&) {
                const LossSums sums = softmax_cross_entropy(samples, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                                            smoothing, scratch());
                *loss.as<float>() = sums.loss;
                *correct.as<float>() = sums.correct;
            });
    });
}

void lower_softmax_cross_entropy_grad(Lowering& lower) {
    const auto& attrs = lower.node().as<SoftmaxAttrs>();
    const auto& inputs = lower.node().inputs;
    const Shape& shape = lower.graph().desc(inputs[0]).shape;
    const Placed logits = lower.operand(inputs[0]);
    const Placed labels = lower.operand(inputs[1]);
    const Placed dloss = lower.operand(inputs[2]);
    const Placed result = lower.define_or_reuse(lower.node().outputs[0], logits.desc, inputs[0]);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.add_step(
            "kernel", {logits, labels, dloss}, {result},
            [=, samples = shape[0], classes = shape[1], smoothing = attrs.label_smoothing](const StepContext&) {
                softmax_cross_entropy_grad(samples, classes, logits.as<T>(), labels.as<std::int32_t>(), smoothing,
                                           *dloss.as<float>(), result.as<T>());
            });
    });
}

void lower_top_k_correct(Lowering& lower) {
    const auto& attrs = lower.node().as<graph::TopKAttrs>();
    const auto& inputs = lower.node().inputs;
    const ValueId output = lower.node().outputs[0];
    const Shape& shape = lower.graph().desc(inputs[0]).shape;
    const Placed logits = lower.operand(inputs[0]);
    const Placed labels = lower.operand(inputs[1]);
    const Placed correct = lower.define(output, row_major(lower.graph().desc(output)));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.add_step("kernel", {logits, labels}, {correct},
                       [=, samples = shape[0], classes = shape[1], k = attrs.k](const StepContext&) {
                           *correct.as<float>() =
                               top_k_correct(samples, classes, logits.as<T>(), labels.as<std::int32_t>(), k);
                       });
    });
}

constexpr LoweringEntry kLowerings[] = {
    {graph::OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
    {graph::OpKind::softmax_cross_entropy_grad, lower_softmax_cross_entropy_grad},
    {graph::OpKind::top_k_correct, lower_top_k_correct},
};

}  // namespace

std::span<const LoweringEntry> loss_lowerings() {
    return kLowerings;
}

}  // namespace cnntrain::cpu
