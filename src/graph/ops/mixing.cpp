// Mixup and cutmix: mixed images, and the cross entropy with the labels of all samples that an image is mixed from.
#include <algorithm>
#include <cmath>

#include "cnntrain/base/rng.h"
#include "graph/ops/class_weights.h"
#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::MixedTargetsAttrs;
using graph::MixImagesAttrs;

namespace {

void expect_distance(std::int64_t distance) {
    if (distance < 0) reject("partners are looked for backwards: a distance is never negative");
}

// ---- mix_images ----

std::vector<TensorDesc> infer_mix_images(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<MixImagesAttrs>(attrs);
    const bool cutmix = a.cutmix_distance != 0;
    if (!a.mixup && !cutmix) reject("needs mixup, cutmix, or both");
    expect_distance(a.cutmix_distance);
    expect_inputs(inputs, 1U + (a.mixup ? 1U : 0U) + (cutmix ? 1U : 0U));
    expect_activation(inputs[0], "x[N,H,W,C]");
    if (a.mixup) expect_same(inputs[1], {DType::f32, {inputs[0].shape[0]}}, "the shares and f32[N]");
    if (cutmix) expect_same(inputs.back(), {DType::i32, {4}}, "the box and i32[4]");
    return {inputs[0]};
}

bool in_box(const graph::RefTensor& box, double h, double w) {
    return h >= box.values[0] && h < box.values[1] && w >= box.values[2] && w < box.values[3];
}

void evaluate_mix_images(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<MixImagesAttrs>(attrs);
    const std::vector<double>& x = inputs[0]->values;
    const Nhwc shape(inputs[0]->desc.shape);
    const auto samples = static_cast<std::size_t>(shape.n);
    const std::size_t image = x.size() / samples;
    const auto mixed = [&](std::size_t n, std::size_t i) {
        if (!a.mixup) return x[n * image + i];
        const double own = inputs[1]->values[n];
        return own * x[n * image + i] + (1 - own) * x[mixing_partner(n, 1, samples) * image + i];
    };
    for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t i = 0; i < image; ++i) {
            const std::int64_t pixel = static_cast<std::int64_t>(i) / shape.c;
            const std::int64_t row = pixel / shape.w;
            const std::int64_t column = pixel % shape.w;
            const bool cut =
                a.cutmix_distance != 0 && in_box(*inputs.back(), static_cast<double>(row), static_cast<double>(column));
            outputs[0].values[n * image + i] = mixed(cut ? mixing_partner(n, a.cutmix_distance, samples) : n, i);
        }
    }
}

// ---- mixed_cross_entropy ----

void expect_targets(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<MixedTargetsAttrs>(attrs);
    expect_floating(inputs[0], "logits[N,C]");
    expect_rank(inputs[0], 2, "logits[N,C]");
    const std::int64_t samples = inputs[0].shape[0];
    expect_type(inputs[1], DType::i32, "labels");
    expect_shape(inputs[1], {samples}, "labels");
    if (a.distances.empty() || a.distances.size() > 4) reject("a target has 1 to 4 parts");
    for (const std::int64_t distance : a.distances)
        expect_distance(distance);
    const auto partners = static_cast<std::int64_t>(a.distances.size());
    expect_same(inputs[2], {DType::f32, {samples, partners}}, "the shares and f32[N,P]");
    if (a.label_smoothing < 0 || a.label_smoothing >= 1) reject("label smoothing must be in [0, 1)");
    if (a.label_smoothing > 0 && inputs[0].shape[1] < 2) reject("label smoothing needs at least two classes");
    expect_class_weights(a.class_weights, inputs[0].shape[1]);
}

std::vector<TensorDesc> infer_mixed_loss(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_targets(attrs, inputs);
    return {{DType::f32, {}}, {DType::f32, {}}};
}

/// The shares are data: they have no gradient.
void mixed_loss_gradient(GradContext& context) {
    if (!only_first_output_has_gradient(context, 2)) return;
    const std::vector<ValueId> inputs = {context.input(0), context.input(1), context.input(2), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::mixed_cross_entropy_grad, context.attrs(), inputs, "grad"));
}

std::vector<TensorDesc> infer_mixed_loss_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 4);
    expect_targets(attrs, inputs);
    expect_same(inputs[3], {DType::f32, {}}, "dloss and f32[]");
    return {inputs[0]};
}

/// One sample's logits and its targets.
struct MixedSample {
    std::span<const double> logits;
    std::size_t label = 0;        // its own
    double log_sum = 0;           // of the exponentials
    double total = 0;             // of the targets
    std::vector<double> targets;  // of all classes, times their weights

    double log_probability(std::size_t c) const { return logits[c] - log_sum; }
};

/// The targets: each partner's smoothed one-hot vector times its share and the classes' weights.
void add_targets(const MixedTargetsAttrs& a, RefInputs inputs, std::size_t n, ClassWeights& weights,
                 MixedSample& sample) {
    const std::size_t classes = sample.logits.size();
    const std::size_t partners = a.distances.size();
    sample.targets.assign(classes, 0.0);
    for (std::size_t p = 0; p < partners; ++p) {
        const double label = inputs[1]->values[mixing_partner(n, a.distances[p], inputs[1]->values.size())];
        if (label < 0 || label >= static_cast<double>(classes)) continue;
        const double share = inputs[2]->values[n * partners + p];
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) {
            const bool is_label = c == static_cast<std::size_t>(label);
            const double smoothed =
                is_label ? 1 - a.label_smoothing : a.label_smoothing / static_cast<double>(classes - 1);
            sample.targets[c] += share * weights[c] * smoothed;
            sum += weights[c] * smoothed;
        }
        sample.total += weights.all_one() ? share : share * sum;
        weights.count_label(static_cast<std::size_t>(label), share);
    }
}

/// Calls use(sample, its first index in logits) for every sample whose own label is valid; returns the factor of the
/// losses' sum.
template <typename Use> double for_each_mixed_sample(const MixedTargetsAttrs& a, RefInputs inputs, Use use) {
    ClassWeights weights(a.class_weights);
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    for (std::size_t n = 0; n < inputs[1]->values.size(); ++n) {
        const double label = inputs[1]->values[n];
        if (label < 0 || label >= static_cast<double>(classes)) continue;
        MixedSample sample;
        sample.logits = std::span(inputs[0]->values).subspan(n * classes, classes);
        sample.label = static_cast<std::size_t>(label);
        const double largest = *std::ranges::max_element(sample.logits);
        double sum = 0;
        for (const double logit : sample.logits)
            sum += std::exp(logit - largest);
        sample.log_sum = largest + std::log(sum);
        weights.count_sample();
        add_targets(a, inputs, n, weights, sample);
        use(sample, n * classes);
    }
    return weights.scale();
}

void evaluate_mixed_loss(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    double& loss = outputs[0].values[0];
    double& correct = outputs[1].values[0];
    const auto add_sample = [&](const MixedSample& sample, std::size_t /*first*/) {
        for (std::size_t c = 0; c < sample.logits.size(); ++c) {
            if (sample.targets[c] != 0) loss -= sample.targets[c] * sample.log_probability(c);
        }
        const auto best = std::ranges::max_element(sample.logits) - sample.logits.begin();
        if (static_cast<std::size_t>(best) == sample.label) correct += 1;
    };
    const double scale = for_each_mixed_sample(std::get<MixedTargetsAttrs>(attrs), inputs, add_sample);
    loss *= scale;
}

void evaluate_mixed_loss_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double dloss = inputs[3]->values[0];
    const auto add_sample = [&](const MixedSample& sample, std::size_t first) {
        for (std::size_t c = 0; c < sample.logits.size(); ++c) {
            const double probability = std::exp(sample.log_probability(c));
            outputs[0].values[first + c] = dloss * (sample.total * probability - sample.targets[c]);
        }
    };
    const double scale = for_each_mixed_sample(std::get<MixedTargetsAttrs>(attrs), inputs, add_sample);
    for (double& value : outputs[0].values)
        value *= scale;
}

void describe_mix_images(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::MixImagesAttrs>(attrs);
    text.flag("mixup", a.mixup);
    text.item("cutmix distance", a.cutmix_distance);
}

void describe_mixed_targets(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::MixedTargetsAttrs>(attrs);
    text.item("label smoothing", a.label_smoothing);
    text.shape("distances", a.distances);
    describe_class_weights(a.class_weights, text);
}

}  // namespace

std::vector<OpDef> mixing_ops() {
    return {
        {.kind = OpKind::mix_images,
         .inputs = {{Layout::image}, {}},
         .results = {Layout::image},
         .infer = infer_mix_images,
         .flops = flops_per_output<3>,
         .evaluate = evaluate_mix_images,
         .describe = describe_mix_images},
        {.kind = OpKind::mixed_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_mixed_loss,
         .gradient = mixed_loss_gradient,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_mixed_loss,
         .describe = describe_mixed_targets},
        {.kind = OpKind::mixed_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_mixed_loss_grad,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_mixed_loss_grad,
         .describe = describe_mixed_targets},
    };
}

}  // namespace cnntrain::ops
