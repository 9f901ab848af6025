// Cross entropies of softmax and sigmoid, summed over the valid samples, and counts of correct answers.
#include <algorithm>
#include <cmath>
#include <string>

#include "cnntrain/base/rng.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::SoftmaxAttrs;
using graph::TopKAttrs;

namespace {

// Weights of classes in a cross entropy (SoftmaxAttrs in cnntrain/graph/op.h).

/// Checks that there are no weights, or one for each class, finite and not negative.
void expect_class_weights(const std::vector<double>& weights, std::int64_t classes) {
    if (!weights.empty() && std::ssize(weights) != classes)
        reject(std::to_string(weights.size()) + " class weights for " + std::to_string(classes) + " classes");
    const auto legal = [](double weight) { return std::isfinite(weight) && weight >= 0; };
    if (!std::ranges::all_of(weights, legal)) reject("class weights must be finite and not negative");
}

void describe_class_weights(const std::vector<double>& weights, AttrText& text) {
    if (weights.empty()) return;
    std::ostringstream all;
    for (const double weight : weights)
        all << (all.view().empty() ? "" : "/") << weight;
    text.item("class weights", all.str());
}

/// The weights, and the totals over a micro-batch from which the factor of its loss follows.
class ClassWeights {
public:
    explicit ClassWeights(const std::vector<double>& weights) : weights_(weights) {}

    bool all_one() const { return weights_.empty(); }
    double operator[](std::size_t c) const { return all_one() ? 1 : weights_[c]; }

    void count_sample() { samples_ += 1; }
    void count_label(std::size_t label, double share) { labels_ += share * (*this)[label]; }
    /// Samples / weight of their labels, by which the sum of the losses is multiplied.
    double scale() const {
        if (all_one()) return 1;
        return labels_ > 0 ? samples_ / labels_ : 0;
    }

private:
    const std::vector<double>& weights_;
    double samples_ = 0;
    double labels_ = 0;
};

using Expect = void (*)(const Attrs&, Descs);

/// The sums f32[] of an operation that reads `kInputs` tensors, which `kExpect` checks.
template <std::size_t kInputs, std::size_t kSums, Expect kExpect>
std::vector<TensorDesc> infer_sums(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, kInputs);
    kExpect(attrs, inputs);
    return std::vector<TensorDesc>(kSums, {DType::f32, {}});
}

/// The gradient of the logits from these inputs and dloss.
template <std::size_t kInputs, Expect kExpect>
std::vector<TensorDesc> infer_loss_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, kInputs + 1);
    kExpect(attrs, inputs);
    expect_same(inputs[kInputs], {DType::f32, {}}, "dloss and f32[]");
    return {inputs[0]};
}

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

/// One sample's logits and the statistics of its loss.
struct LossSample {
    std::span<const double> logits;
    std::size_t label = 0;
    double log_sum = 0;  // of the exponentials

    double log_probability(std::size_t c) const { return logits[c] - log_sum; }
    /// The first largest logit is the label's.
    bool is_right() const {
        return std::ranges::max_element(logits) == logits.begin() + static_cast<std::ptrdiff_t>(label);
    }
};

/// Calls use(sample, its first index in logits) for every sample with a valid label.
template <typename Use> void for_each_valid_sample(RefInputs inputs, Use use) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    for (std::size_t n = 0; n < inputs[1]->values.size(); ++n) {
        const double label = inputs[1]->values[n];
        if (label < 0 || label >= static_cast<double>(classes)) continue;
        const auto logits = std::span(inputs[0]->values).subspan(n * classes, classes);
        use(LossSample{logits, static_cast<std::size_t>(label), log_sum_of_exponentials(logits)}, n * classes);
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

void evaluate_loss(const SoftmaxAttrs& a, RefInputs inputs, RefOutputs outputs) {
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
        if (sample.is_right()) correct += 1;
    });
    loss *= weights.scale();
}

void evaluate_loss_grad(const SoftmaxAttrs& a, RefInputs inputs, RefOutputs outputs) {
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

void expect_top_k(const Attrs& attrs, Descs inputs) {
    expect_logits_and_labels(SoftmaxAttrs{}, inputs);
    const std::int64_t k = std::get<TopKAttrs>(attrs).k;
    if (k < 1 || k >= inputs[0].shape[1]) reject("k must be at least 1 and less than the number of classes");
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

void describe_softmax(const SoftmaxAttrs& a, AttrText& text) {
    text.item("label smoothing", a.label_smoothing);
    describe_class_weights(a.class_weights, text);
}

// Mixup and cutmix: mixed images, and the cross entropy with the labels of all samples that an image is mixed from.

using graph::MixedTargetsAttrs;
using graph::MixImagesAttrs;

void expect_distance(std::int64_t distance) {
    if (distance < 0) reject("partners are looked for backwards: a distance is never negative");
}

// ---- mix_images ----

std::vector<TensorDesc> infer_mix_images(const MixImagesAttrs& a, Descs inputs) {
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

void evaluate_mix_images(const MixImagesAttrs& a, RefInputs inputs, RefOutputs outputs) {
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

/// A sample and its targets.
struct MixedSample : LossSample {
    double total = 0;                  // of the targets
    std::vector<double> targets = {};  // of all classes, times their weights
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
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t first) {
        MixedSample mixed{sample};
        weights.count_sample();
        add_targets(a, inputs, first / sample.logits.size(), weights, mixed);
        use(mixed, first);
    });
    return weights.scale();
}

void evaluate_mixed_loss(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    double& loss = outputs[0].values[0];
    double& correct = outputs[1].values[0];
    const auto add_sample = [&](const MixedSample& sample, std::size_t /*first*/) {
        for (std::size_t c = 0; c < sample.logits.size(); ++c) {
            if (sample.targets[c] != 0) loss -= sample.targets[c] * sample.log_probability(c);
        }
        if (sample.is_right()) correct += 1;
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

// ---- distillation ----

using graph::DistillationAttrs;

void expect_teacher(const Attrs& attrs, Descs inputs) {
    expect_logits_and_labels(graph::SoftmaxAttrs{}, inputs);
    expect_same(inputs[2], {DType::f32, inputs[0].shape}, "the teacher's logits and f32[N,C]");
    const double temperature = std::get<DistillationAttrs>(attrs).temperature;
    if (!std::isfinite(temperature) || temperature <= 0) reject("the temperature must be positive");
}

/// log(softmax(logits / temperature)).
std::vector<double> softened(std::span<const double> logits, double temperature) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    for (const double logit : logits)
        sum += std::exp((logit - largest) / temperature);
    std::vector<double> result;
    for (const double logit : logits)
        result.push_back((logit - largest) / temperature - std::log(sum));
    return result;
}

void evaluate_distillation(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double temperature = std::get<DistillationAttrs>(attrs).temperature;
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t first) {
        const std::size_t classes = sample.logits.size();
        const std::vector<double> own = softened(sample.logits, temperature);
        const std::vector<double> taught = softened(std::span(inputs[2]->values).subspan(first, classes), temperature);
        for (std::size_t c = 0; c < classes; ++c)
            outputs[0].values[0] += temperature * temperature * std::exp(taught[c]) * (taught[c] - own[c]);
    });
}

void evaluate_distillation_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double temperature = std::get<DistillationAttrs>(attrs).temperature;
    const double factor = inputs[3]->values[0] * temperature;
    for_each_valid_sample(inputs, [&](const LossSample& sample, std::size_t first) {
        const std::size_t classes = sample.logits.size();
        const std::vector<double> own = softened(sample.logits, temperature);
        const std::vector<double> taught = softened(std::span(inputs[2]->values).subspan(first, classes), temperature);
        for (std::size_t c = 0; c < classes; ++c)
            outputs[0].values[first + c] = factor * (std::exp(own[c]) - std::exp(taught[c]));
    });
}

void describe_distillation(const Attrs& attrs, AttrText& text) {
    text.item("temperature", std::get<DistillationAttrs>(attrs).temperature);
}

// ---- sigmoid_cross_entropy ----

using graph::SigmoidAttrs;

void expect_label_sets(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<SigmoidAttrs>(attrs);
    expect_floating(inputs[0], "logits[N,C]");
    expect_rank(inputs[0], 2, "logits[N,C]");
    expect_same(inputs[1], {DType::i32, inputs[0].shape}, "labels and i32[N,C]");
    expect_class_weights(a.positive_weights, inputs[0].shape[1]);
    if (!std::isfinite(a.focus) || a.focus < 0) reject("the exponent of a focal loss must be finite and not negative");
}

/// A label of 0 or 1 and its logit.
struct LabelTerm {
    bool is_positive = false;
    double towards = 0;      // the logit, negated for a label of 0
    double weight = 1;       // divided by C
    double modulation = 1;   // (1 - p)^focus
    double probability = 0;  // p
    double log_probability = 0;
};

/// Calls use(index in logits, LabelTerm) for each label of 0 or 1.
template <typename Use> void for_each_label(const SigmoidAttrs& a, RefInputs inputs, Use use) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    for (std::size_t i = 0; i < inputs[1]->values.size(); ++i) {
        const double label = inputs[1]->values[i];
        if (label != 0 && label != 1) continue;
        LabelTerm term{.is_positive = label == 1};
        term.towards = term.is_positive ? inputs[0]->values[i] : -inputs[0]->values[i];
        const double tail = std::log1p(std::exp(-std::abs(term.towards)));
        term.log_probability = std::min(term.towards, 0.0) - tail;
        term.probability = std::exp(term.log_probability);
        term.modulation = std::exp(a.focus * (std::min(-term.towards, 0.0) - tail));
        const bool is_weighted = term.is_positive && !a.positive_weights.empty();
        term.weight = (is_weighted ? a.positive_weights[i % classes] : 1) / static_cast<double>(classes);
        use(i, term);
    }
}

void evaluate_sigmoid_loss(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double share = 1 / static_cast<double>(inputs[0]->desc.shape[1]);
    for_each_label(std::get<SigmoidAttrs>(attrs), inputs, [&](std::size_t i, const LabelTerm& term) {
        outputs[0].values[0] -= term.weight * term.modulation * term.log_probability;
        if ((inputs[0]->values[i] > 0) == term.is_positive) outputs[1].values[0] += share;
    });
}

void evaluate_sigmoid_loss_grad(const SigmoidAttrs& a, RefInputs inputs, RefOutputs outputs) {
    for_each_label(a, inputs, [&](std::size_t i, const LabelTerm& term) {
        const double slope = a.focus * term.probability * term.log_probability - (1 - term.probability);
        const double toward = inputs[2]->values[0] * term.weight * term.modulation * slope;
        outputs[0].values[i] = term.is_positive ? toward : -toward;
    });
}

void describe_sigmoid(const SigmoidAttrs& a, AttrText& text) {
    text.item("focus", a.focus);
    describe_class_weights(a.positive_weights, text);
}

/// The mean over samples with weights of classes divides by a sum over the batch.
bool is_unweighted(const Attrs& attrs) {
    return std::get<SoftmaxAttrs>(attrs).class_weights.empty();
}

void describe_mix_images(const graph::MixImagesAttrs& a, AttrText& text) {
    text.flag("mixup", a.mixup);
    text.item("cutmix distance", a.cutmix_distance);
}

void describe_mixed_targets(const graph::MixedTargetsAttrs& a, AttrText& text) {
    text.item("label smoothing", a.label_smoothing);
    text.shape("distances", a.distances);
    describe_class_weights(a.class_weights, text);
}

}  // namespace

std::vector<OpDef> loss_ops() {
    return {
        {.kind = OpKind::softmax_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_sums<2, 2, expect_logits_and_labels>,
         .gradient = gradient_by_op<OpKind::softmax_cross_entropy_grad>,
         .flops = flops_per_input<6>,
         .evaluate = typed<evaluate_loss>,
         .describe = typed<describe_softmax>,
         .by_sample = is_unweighted},
        {.kind = OpKind::softmax_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_loss_grad<2, expect_logits_and_labels>,
         .flops = flops_per_input<6>,
         .evaluate = typed<evaluate_loss_grad>,
         .describe = typed<describe_softmax>},
        {.kind = OpKind::top_k_correct,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_sums<2, 1, expect_top_k>,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_top_k,
         .describe = describe_top_k,
         .by_sample = always},
        {.kind = OpKind::mix_images,
         .inputs = {{Layout::image}, {}},
         .results = {Layout::image},
         .infer = typed<infer_mix_images>,
         .flops = flops_per_output<3>,
         .evaluate = typed<evaluate_mix_images>,
         .describe = typed<describe_mix_images>},
        {.kind = OpKind::mixed_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_sums<3, 2, expect_targets>,
         .gradient = gradient_by_op<OpKind::mixed_cross_entropy_grad>,  // the shares are data: they have none
         .flops = flops_per_input<6>,
         .evaluate = evaluate_mixed_loss,
         .describe = typed<describe_mixed_targets>},
        {.kind = OpKind::mixed_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_loss_grad<3, expect_targets>,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_mixed_loss_grad,
         .describe = typed<describe_mixed_targets>},
        {.kind = OpKind::distillation,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_sums<3, 1, expect_teacher>,
         .gradient = gradient_by_op<OpKind::distillation_grad>,
         .flops = flops_per_input<12>,
         .evaluate = evaluate_distillation,
         .describe = describe_distillation,
         .by_sample = always},
        {.kind = OpKind::distillation_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_loss_grad<3, expect_teacher>,
         .flops = flops_per_input<12>,
         .evaluate = evaluate_distillation_grad,
         .describe = describe_distillation},
        {.kind = OpKind::sigmoid_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = infer_sums<2, 2, expect_label_sets>,
         .gradient = gradient_by_op<OpKind::sigmoid_cross_entropy_grad>,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_sigmoid_loss,
         .describe = typed<describe_sigmoid>,
         .by_sample = always},
        {.kind = OpKind::sigmoid_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = infer_loss_grad<2, expect_label_sets>,
         .flops = flops_per_input<6>,
         .evaluate = typed<evaluate_sigmoid_loss_grad>,
         .describe = typed<describe_sigmoid>},
    };
}

}  // namespace cnntrain::ops
