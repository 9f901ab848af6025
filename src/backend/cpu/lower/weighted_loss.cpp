#include "backend/cpu/lower/weighted_loss.h"

namespace cnntrain::cpu {

namespace {

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

}  // namespace

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

}  // namespace cnntrain::cpu
