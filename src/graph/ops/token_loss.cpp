// Weighted softmax cross-entropy of tokens: its mean over a micro-batch.
#include <algorithm>
#include <cmath>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {
namespace {

void expect_tokens(Descs inputs) {
    expect_floating(inputs[0], "logits[N,C]");
    expect_rank(inputs[0], 2, "logits[N,C]");
    expect_type(inputs[1], DType::i32, "labels");
    expect_shape(inputs[1], {inputs[0].shape[0]}, "labels");
    expect_same(inputs[2], {DType::f32, {inputs[0].shape[0]}}, "weights and f32[N]");
}

std::vector<TensorDesc> infer_token_loss(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<NoAttrs>(attrs));
    expect_inputs(inputs, 3);
    expect_tokens(inputs);
    return {{DType::f32, {}}, {DType::f32, {}}, inputs[2]};
}

void token_loss_gradient(GradContext& context) {
    if (!only_first_output_has_gradient(context, 3)) return;
    const std::vector<ValueId> inputs = {context.input(0), context.input(1), context.input(2), context.output(2),
                                         context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::token_cross_entropy_grad, NoAttrs{}, inputs, "grad"));
}

std::vector<TensorDesc> infer_token_loss_grad(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<NoAttrs>(attrs));
    expect_inputs(inputs, 5);
    expect_tokens(inputs);
    expect_same(inputs[3], inputs[2], "log_sums and weights");
    expect_same(inputs[4], {DType::f32, {}}, "dloss and f32[]");
    return {inputs[0]};
}

double sum_of(const std::vector<double>& weights) {
    double sum = 0;
    for (const double weight : weights)
        sum += weight;
    return sum;
}

bool is_class(double label, std::size_t classes) {
    return label >= 0 && label < static_cast<double>(classes);
}

void evaluate_token_loss(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    const std::vector<double>& weights = inputs[2]->values;
    double loss = 0;
    double correct = 0;
    for (std::size_t n = 0; n < weights.size(); ++n) {
        const auto logits = std::span(inputs[0]->values).subspan(n * classes, classes);
        const auto largest = std::ranges::max_element(logits);
        double sum = 0;
        for (const double logit : logits)
            sum += std::exp(logit - *largest);
        const double log_sum = *largest + std::log(sum);
        outputs[2].values[n] = log_sum;
        const double label = inputs[1]->values[n];
        if (!is_class(label, classes)) continue;
        loss += weights[n] * (log_sum - logits[static_cast<std::size_t>(label)]);
        if (static_cast<double>(largest - logits.begin()) == label) correct += weights[n];
    }
    const double weight = sum_of(weights);
    outputs[0].values[0] = loss / (weight + graph::kTokenWeightEpsilon);
    outputs[1].values[0] = weight == 0 ? 0 : correct / weight;
}

void evaluate_token_loss_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    const std::vector<double>& weights = inputs[2]->values;
    const double scale = inputs[4]->values[0] / (sum_of(weights) + graph::kTokenWeightEpsilon);
    for (std::size_t n = 0; n < weights.size(); ++n) {
        const double label = inputs[1]->values[n];
        if (!is_class(label, classes)) continue;
        for (std::size_t c = 0; c < classes; ++c) {
            const double target = static_cast<double>(c) == label ? 1 : 0;
            const double probability = std::exp(inputs[0]->values[n * classes + c] - inputs[3]->values[n]);
            outputs[0].values[n * classes + c] = scale * weights[n] * (probability - target);
        }
    }
}

}  // namespace

std::vector<OpDef> token_loss_ops() {
    return {
        {.kind = OpKind::token_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_token_loss,
         .gradient = token_loss_gradient,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_token_loss},
        {.kind = OpKind::token_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_token_loss_grad,
         .flops = flops_per_input<3>,
         .evaluate = evaluate_token_loss_grad},
    };
}

}  // namespace cnntrain::ops
