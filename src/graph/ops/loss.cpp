// Softmax cross-entropy with label smoothing, summed over the valid samples, and counts of correct answers.
#include <algorithm>
#include <cmath>

#include "graph/ops/class_weights.h"
#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::SoftmaxAttrs;
using graph::TopKAttrs;

namespace {

void expect_logits_and_labels(const Attrs& attrs, Descs inputs) {
    const double smoothing = std::get<SoftmaxAttrs>(attrs).label_smoothing;
    expect_floating(inputs[0], "logits[N,C]");
    expect_rank(inputs[0], 2, "logits[N,C]");
    expect_type(inputs[1], DType::i32, "labels");
    expect_shape(inputs[1], {inputs[0].shape[0]}, "labels");
    if (smoothing < 0 || smoothing >= 1) reject("label smoothing must be in [0, 1)");
    if (smoothing > 0 && inputs[0].shape[1] < 2) reject("label smoothing needs at least two classes");
    expect_class_weights(std::get<SoftmaxAttrs>(attrs).class_weights, inputs[0].shape[1]);
}

std::vector<TensorDesc> infer_loss(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_logits_and_labels(attrs, inputs);
    return {{DType::f32, {}}, {DType::f32, {}}};
}

void loss_gradient(GradContext& context) {
    if (!only_first_output_has_gradient(context, 2)) return;
    const std::vector<ValueId> inputs = {context.input(0), context.input(1), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::softmax_cross_entropy_grad, context.attrs(), inputs, "grad"));
}

std::vector<TensorDesc> infer_loss_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_logits_and_labels(attrs, inputs);
    expect_same(inputs[2], {DType::f32, {}}, "dloss and f32[]");
    return {inputs[0]};
}

/// One sample's logits and the statistics of its loss.
struct LossSample {
    std::span<const double> logits;
    std::size_t label = 0;
    double log_sum = 0;  // of the exponentials

    double log_probability(std::size_t c) const { return logits[c] - log_sum; }
};

/// Calls use(sample, its first index in logits) for every sample with a valid label.
template <typename Use> void for_each_valid_sample(RefInputs inputs, Use use) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    for (std::size_t n = 0; n < inputs[1]->values.size(); ++n) {
        const double label = inputs[1]->values[n];
        if (label < 0 || label >= static_cast<double>(classes)) continue;
        const auto logits = std::span(inputs[0]->values).subspan(n * classes, classes);
        const double largest = *std::ranges::max_element(logits);
        double sum = 0;
        for (const double logit : logits)
            sum += std::exp(logit - largest);
        use(LossSample{logits, static_cast<std::size_t>(label), largest + std::log(sum)}, n * classes);
    }
}

double target(const SoftmaxAttrs& a, const LossSample& sample, std::size_t c) {
    if (c == sample.label) return 1 - a.label_smoothing;
    return a.label_smoothing / static_cast<double>(sample.logits.size() - 1);
}

/// The sum over all classes of weights times targets.
double weighted_target_sum(const SoftmaxAttrs& a, const ClassWeights& weights, const LossSample& sample) {
    if (weights.all_one()) return 1;
    double sum = 0;
    for (std::size_t c = 0; c < sample.logits.size(); ++c)
        sum += weights[c] * target(a, sample, c);
    return sum;
}

void evaluate_loss(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<SoftmaxAttrs>(attrs);
    ClassWeights weights(a.class_weights);
    double& loss = outputs[0].values[0];
    double& correct = outputs[1].values[0];
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t /*first*/) {
        for (std::size_t c = 0; c < sample.logits.size(); ++c) {
            const double t = target(a, sample, c);
            if (t != 0) loss -= weights[c] * t * sample.log_probability(c);
        }
        weights.count_sample();
        weights.count_label(sample.label, 1);
        const auto best = std::ranges::max_element(sample.logits) - sample.logits.begin();
        if (static_cast<std::size_t>(best) == sample.label) correct += 1;
    });
    loss *= weights.scale();
}

void evaluate_loss_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<SoftmaxAttrs>(attrs);
    ClassWeights weights(a.class_weights);
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t /*first*/) {
        weights.count_sample();
        weights.count_label(sample.label, 1);
    });
    const double dloss = inputs[2]->values[0] * weights.scale();
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t first) {
        const double total = weighted_target_sum(a, weights, sample);
        for (std::size_t c = 0; c < sample.logits.size(); ++c) {
            const double wanted = weights[c] * target(a, sample, c);
            outputs[0].values[first + c] = dloss * (total * std::exp(sample.log_probability(c)) - wanted);
        }
    });
}

std::vector<TensorDesc> infer_top_k(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_logits_and_labels(SoftmaxAttrs{}, inputs);
    const std::int64_t k = std::get<TopKAttrs>(attrs).k;
    if (k < 1 || k >= inputs[0].shape[1]) reject("k must be at least 1 and less than the number of classes");
    return {{DType::f32, {}}};
}

/// The number of classes that are likelier than the label's.
std::int64_t rank_of_label(const LossSample& sample) {
    const double own = sample.logits[sample.label];
    std::int64_t before = 0;
    for (std::size_t c = 0; c < sample.logits.size(); ++c) {
        const bool behind = sample.logits[c] < own || (sample.logits[c] == own && c > sample.label);
        if (c != sample.label && !behind) ++before;
    }
    return before;
}

void evaluate_top_k(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const std::int64_t k = std::get<TopKAttrs>(attrs).k;
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t /*first*/) {
        if (rank_of_label(sample) < k) outputs[0].values[0] += 1;
    });
}

void describe_top_k(const Attrs& attrs, AttrText& text) {
    text.item("k", std::get<TopKAttrs>(attrs).k);
}

void describe_softmax(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<SoftmaxAttrs>(attrs);
    text.item("label smoothing", a.label_smoothing);
    describe_class_weights(a.class_weights, text);
}

}  // namespace

std::vector<OpDef> loss_ops() {
    return {
        {.kind = OpKind::softmax_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_loss,
         .gradient = loss_gradient,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_loss,
         .describe = describe_softmax},
        {.kind = OpKind::softmax_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_loss_grad,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_loss_grad,
         .describe = describe_softmax},
        {.kind = OpKind::top_k_correct,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_top_k,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_top_k,
         .describe = describe_top_k},
    };
}

}  // namespace cnntrain::ops
