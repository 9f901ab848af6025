// Formulas of popops: popnn has no cross entropy with smoothed or mixed labels.
#include "backend/ipu/lower/class_losses.h"

#include <utility>

#include <popnn/LogSoftmax.hpp>
#include <popops/Cast.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

namespace pe = popops::expr;

namespace {

/// [N] as [N][1].
poplar::Tensor column(const poplar::Tensor& rows) {
    return rows.expand({1});
}

/// log(softmax) of the logits, FLOAT [N][C].
poplar::Tensor log_probabilities(const NodeContext& node, const poplar::Tensor& logits) {
    poplar::Tensor copy = popops::cast(node.device, logits, poplar::FLOAT, node.program, node.debug());
    popnn::logSoftmaxInPlace(node.device, copy, node.program, node.debug());
    return copy;
}

/// Formulas of the targets, and their operands: the given ones, then the labels and shares of the partners. Operand
/// number `class_number`, counted from 1, holds the numbers of the classes.
class Targets {
public:
    Targets(const std::vector<Partner>& partners, std::size_t classes, double smoothing, unsigned class_number,
            std::vector<poplar::Tensor> operands)
        : classes_(classes), smoothing_(smoothing), class_number_(class_number), operands_(std::move(operands)) {
        for (const Partner& partner : partners)
            places_.push_back({place_of(partner.labels), partner.shares.valid() ? place_of(partner.shares) : 0});
    }

    const std::vector<poplar::Tensor>& operands() const { return operands_; }

    /// The target of each class.
    pe::Any target() const {
        return sum([&](const Places& partner) { return smoothed(partner); });
    }

    /// The sum over all classes of the targets.
    pe::Any target_sum() const {
        return sum([](const Places& /*partner*/) { return pe::Any(pe::Const(1.0F)); });
    }

private:
    struct Places {
        unsigned label;
        unsigned share;  // 0: none
    };

    unsigned place_of(const poplar::Tensor& rows) {
        operands_.push_back(column(rows));
        return static_cast<unsigned>(operands_.size());
    }

    pe::Any smoothed(const Places& partner) const {
        const double others = smoothing_ > 0 ? smoothing_ / static_cast<double>(classes_ - 1) : 0;
        return pe::Select(pe::Const(static_cast<float>(1 - smoothing_)), pe::Const(static_cast<float>(others)),
                          pe::Equal(pe::PlaceHolder(class_number_), pe::PlaceHolder(partner.label)));
    }

    /// Each partner whose label is a class adds its value times its share.
    template <typename Value> pe::Any sum(Value value) const {
        pe::Any all = pe::Const(0.0F);
        for (std::size_t i = 0; i < places_.size(); ++i) {
            pe::Any term = value(places_[i]);
            if (places_[i].share != 0) term = term * pe::PlaceHolder(places_[i].share);
            const pe::Select counted(term, pe::Const(0.0F), in_range(pe::PlaceHolder(places_[i].label), classes_));
            all = i == 0 ? pe::Any(counted) : pe::Any(all + counted);
        }
        return all;
    }

    std::size_t classes_;
    double smoothing_;
    unsigned class_number_;
    std::vector<poplar::Tensor> operands_;
    std::vector<Places> places_;
};

/// FLOAT [1][C].
poplar::Tensor constant_row(const NodeContext& node, const std::vector<double>& values) {
    const std::vector<float> narrow(values.begin(), values.end());
    const float* data = narrow.data();
    poplar::Tensor row = node.device.addConstant(poplar::FLOAT, {1, values.size()}, data, node.debug());
    poputil::mapTensorLinearly(node.device, row);
    return row;
}

/// FLOAT []: the number of rows whose own label is a class / the sum of shares times weights of their targets' labels;
/// 0 if that sum is 0.
poplar::Tensor weight_factor(const NodeContext& node, const poplar::Tensor& labels,
                             const std::vector<Partner>& partners, const poplar::Tensor& weights) {
    const std::size_t classes = weights.dim(1);
    const Targets labels_only(partners, classes, 0, 1, {numbers_up_to(node, classes), column(labels), weights});
    const auto counts = in_range(pe::_2, classes);
    const poplar::Tensor of_labels = total(
        node, node.map(pe::Select(labels_only.target() * pe::_3, pe::Const(0.0F), counts), labels_only.operands()));
    const poplar::Tensor rows =
        total(node, node.map(pe::Select(pe::Const(1.0F), pe::Const(0.0F), in_range(pe::_1, classes)), {labels}));
    // A divisor of 0 would set a floating-point exception.
    const auto none = pe::Equal(pe::_2, pe::Const(0.0F));
    const auto divisor = pe::Select(pe::Const(1.0F), pe::_2, none);
    return node.map(pe::Select(pe::Const(0.0F), pe::_1 / divisor, none), {rows, of_labels});
}

/// FLOAT [N][C]: the targets times the classes' weights.
poplar::Tensor weighted_targets(const NodeContext& node, const std::vector<Partner>& partners, double smoothing,
                                const poplar::Tensor& weights) {
    const std::size_t classes = weights.dim(1);
    const Targets targets(partners, classes, smoothing, 1, {numbers_up_to(node, classes), weights});
    return node.map(targets.target() * pe::_2, targets.operands());
}

poplar::Tensor weighted_cross_entropy(const NodeContext& node, const poplar::Tensor& logits,
                                      const poplar::Tensor& labels, const std::vector<Partner>& partners,
                                      const TargetRule& rule) {
    const poplar::Tensor weights = constant_row(node, rule.class_weights);
    const poplar::Tensor targets = weighted_targets(node, partners, rule.smoothing, weights);
    const auto counts = in_range(pe::_3, logits.dim(1)) && (pe::_2 != pe::Const(0.0F));
    const poplar::Tensor sum = total(node, node.map(pe::Select(pe::Neg(pe::_2 * pe::_1), pe::Const(0.0F), counts),
                                                    {log_probabilities(node, logits), targets, column(labels)}));
    return node.map(pe::_1 * pe::_2, {sum, weight_factor(node, labels, partners, weights)});
}

poplar::Tensor weighted_cross_entropy_grad(const NodeContext& node, const poplar::Tensor& logits,
                                           const poplar::Tensor& labels, const std::vector<Partner>& partners,
                                           const TargetRule& rule, const poplar::Tensor& dloss) {
    const poplar::Tensor weights = constant_row(node, rule.class_weights);
    const poplar::Tensor targets = weighted_targets(node, partners, rule.smoothing, weights);
    const poplar::Tensor sums = node.sum(targets, {1});
    const auto gradient = pe::_5 * pe::_6 * (pe::_4 * pe::Exp(pe::_1) - pe::_2);
    const auto counted = pe::Select(gradient, pe::Const(0.0F), in_range(pe::_3, logits.dim(1)));
    return node.map(pe::Cast(counted, logits.elementType()),
                    {log_probabilities(node, logits), targets, column(labels), column(sums), dloss,
                     weight_factor(node, labels, partners, weights)});
}

}  // namespace

poplar::Tensor total(const NodeContext& node, const poplar::Tensor& tensor) {
    return node.sum(tensor.flatten(), {0}, poplar::FLOAT);
}

poplar::Tensor own_logits(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels) {
    const poplar::Tensor chosen = node.map(pe::Select(pe::_1, pe::Const(0.0F), pe::Equal(pe::_2, pe::_3)),
                                           {logits, numbers_up_to(node, logits.dim(1)), column(labels)});
    return node.sum(chosen, {1});
}

poplar::Tensor ranks_of_labels(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                               const poplar::Tensor& own) {
    // True for classes that rank after the label, and for the label itself unless its logit is NaN.
    const auto behind = (pe::_1 < pe::_2) || ((pe::_1 == pe::_2) && (pe::_3 >= pe::_4));
    const poplar::Tensor before = node.map(pe::Select(pe::Const(0), pe::Const(1), behind),
                                           {logits, column(own), numbers_up_to(node, logits.dim(1)), column(labels)});
    return node.sum(before, {1});
}

poplar::Tensor count_correct(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                             std::size_t k) {
    const poplar::Tensor ranks = ranks_of_labels(node, logits, labels, own_logits(node, logits, labels));
    const auto correct = in_range(pe::_2, logits.dim(1)) && (pe::_1 < pe::Const(static_cast<int>(k)));
    return total(node, node.map(pe::Select(pe::Const(1.0F), pe::Const(0.0F), correct), {ranks, labels}));
}

poplar::Tensor cross_entropy(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                             const std::vector<Partner>& partners, const TargetRule& rule) {
    if (!rule.class_weights.empty()) return weighted_cross_entropy(node, logits, labels, partners, rule);
    const std::size_t classes = logits.dim(1);
    const Targets targets(partners, classes, rule.smoothing, 2,
                          {log_probabilities(node, logits), numbers_up_to(node, classes), column(labels)});
    const pe::Any target = targets.target();
    // A probability of 0 whose target is 0 adds 0, not 0 times infinity.
    const auto counts = in_range(pe::_3, classes) && (target != pe::Const(0.0F));
    return total(node, node.map(pe::Select(pe::Neg(target * pe::_1), pe::Const(0.0F), counts), targets.operands()));
}

poplar::Tensor cross_entropy_grad(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                                  const std::vector<Partner>& partners, const TargetRule& rule,
                                  const poplar::Tensor& dloss) {
    if (!rule.class_weights.empty()) return weighted_cross_entropy_grad(node, logits, labels, partners, rule, dloss);
    const std::size_t classes = logits.dim(1);
    const Targets targets(partners, classes, rule.smoothing, 2,
                          {log_probabilities(node, logits), numbers_up_to(node, classes), column(labels), dloss});
    const auto difference = targets.target_sum() * pe::Exp(pe::_1) - targets.target();
    const auto gradient = pe::Select(pe::_4 * difference, pe::Const(0.0F), in_range(pe::_3, classes));
    return node.map(pe::Cast(gradient, logits.elementType()), targets.operands());
}

// Softmax cross entropy with smoothed labels, and how many labels are among the k likeliest classes.

namespace {

TargetRule target_rule(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::SoftmaxAttrs>();
    return {attrs.label_smoothing, attrs.class_weights};
}

void lower_softmax_cross_entropy(const NodeContext& node) {
    node.set_output(0,
                    cross_entropy(node, node.input(0), node.input(1), {{.labels = node.input(1)}}, target_rule(node)));
    node.set_output(1, count_correct(node, node.input(0), node.input(1), 1));
}

void lower_softmax_cross_entropy_grad(const NodeContext& node) {
    node.set_output(0, cross_entropy_grad(node, node.input(0), node.input(1), {{.labels = node.input(1)}},
                                          target_rule(node), node.input(2)));
}

/// log(softmax(logits / temperature)), FLOAT [N][C].
poplar::Tensor softened(const NodeContext& node, const poplar::Tensor& logits) {
    const auto inverse = static_cast<float>(1 / node.attrs<graph::DistillationAttrs>().temperature);
    poplar::Tensor divided = node.map(pe::Cast(pe::_1, poplar::FLOAT) * inverse, {logits});
    popnn::logSoftmaxInPlace(node.device, divided, node.program, node.debug());
    return divided;
}

void lower_distillation(const NodeContext& node) {
    const double temperature = node.attrs<graph::DistillationAttrs>().temperature;
    const auto factor = static_cast<float>(temperature * temperature);
    const auto divergence = factor * pe::Exp(pe::_2) * (pe::_2 - pe::_1);
    const auto counted = pe::Select(divergence, pe::Const(0.0F), in_range(pe::_3, node.input(0).dim(1)));
    node.set_output(0, total(node, node.map(counted, {softened(node, node.input(0)), softened(node, node.input(2)),
                                                      column(node.input(1))})));
}

void lower_distillation_grad(const NodeContext& node) {
    const auto factor = static_cast<float>(node.attrs<graph::DistillationAttrs>().temperature);
    const auto apart = factor * pe::_4 * (pe::Exp(pe::_1) - pe::Exp(pe::_2));
    const auto counted = pe::Select(apart, pe::Const(0.0F), in_range(pe::_3, node.input(0).dim(1)));
    node.set_output(0, node.map(pe::Cast(counted, node.input(0).elementType()),
                                {softened(node, node.input(0)), softened(node, node.input(2)), column(node.input(1)),
                                 node.input(3)}));
}

/// Formulas of SigmoidAttrs for the labels that count; the others have 0.
class LabelTerms {
public:
    /// Operands: the logits as FLOAT, the labels, the weights [1][C] where there are some, and the given ones.
    LabelTerms(const NodeContext& node, std::vector<poplar::Tensor> more)
        : attrs_(node.attrs<graph::SigmoidAttrs>()), classes_(node.input(0).dim(1)) {
        operands_ = {popops::cast(node.device, node.input(0), poplar::FLOAT, node.program, node.debug()),
                     node.input(1)};
        if (!attrs_.positive_weights.empty()) operands_.push_back(constant_row(node, attrs_.positive_weights));
        operands_.insert(operands_.end(), more.begin(), more.end());
    }

    const std::vector<poplar::Tensor>& operands() const { return operands_; }
    /// The number of the last operand, from 1.
    unsigned last() const { return static_cast<unsigned>(operands_.size()); }

    pe::Any loss() const { return counted(pe::Neg(weight() * modulation() * log_probability(toward()))); }
    pe::Any correct() const {
        const auto is_right = pe::Equal(pe::_1 > pe::Const(0.0F), is_positive());
        return counted(pe::Select(pe::Const(1.0F / static_cast<float>(classes_)), pe::Const(0.0F), is_right));
    }
    /// Slope of the loss in the logits.
    pe::Any slope() const {
        const pe::Any log_p = log_probability(toward());
        const pe::Any p = pe::Exp(log_p);
        const auto focus = static_cast<float>(attrs_.focus);
        const pe::Any along = weight() * modulation() * (focus * p * log_p - (1.0F - p));
        return counted(pe::Select(along, pe::Neg(along), is_positive()));
    }

private:
    static pe::Any is_positive() { return pe::Equal(pe::_2, pe::Const(1)); }
    static pe::Any toward() { return pe::Select(pe::_1, pe::Neg(pe::_1), is_positive()); }
    /// log(sigmoid(x)), which does not overflow.
    static pe::Any log_probability(const pe::Any& x) {
        return pe::Min(x, pe::Const(0.0F)) - pe::Log1p(pe::Exp(pe::Neg(pe::Abs(x))));
    }
    static pe::Any counted(const pe::Any& value) { return pe::Select(value, pe::Const(0.0F), in_range(pe::_2, 2)); }
    pe::Any modulation() const {
        if (attrs_.focus == 0) return pe::Const(1.0F);
        return pe::Exp(static_cast<float>(attrs_.focus) * log_probability(pe::Neg(toward())));
    }
    pe::Any weight() const {
        const pe::Const share(1.0F / static_cast<float>(classes_));
        if (attrs_.positive_weights.empty()) return share;
        return share * pe::Select(pe::_3, pe::Const(1.0F), is_positive());
    }

    graph::SigmoidAttrs attrs_;
    std::size_t classes_;
    std::vector<poplar::Tensor> operands_;
};

void lower_sigmoid_cross_entropy(const NodeContext& node) {
    const LabelTerms terms(node, {});
    const auto sum = [&](const pe::Any& value) { return total(node, node.map(value, terms.operands())); };
    node.set_output(0, sum(terms.loss()));
    node.set_output(1, sum(terms.correct()));
}

void lower_sigmoid_cross_entropy_grad(const NodeContext& node) {
    const LabelTerms terms(node, {node.input(2)});
    const auto gradient = pe::PlaceHolder(terms.last()) * terms.slope();
    node.set_output(0, node.map(pe::Cast(gradient, node.input(0).elementType()), terms.operands()));
}

void lower_top_k_correct(const NodeContext& node) {
    const auto k = static_cast<std::size_t>(node.attrs<graph::TopKAttrs>().k);
    node.set_output(0, count_correct(node, node.input(0), node.input(1), k));
}

}  // namespace

// Mixup and cutmix: mixed images and the cross entropy with mixed targets.

using graph::MixedTargetsAttrs;

namespace pe = popops::expr;

namespace {

/// Element n of the result is the partner of sample n: element (n - distance) mod N of samples [N,...].
poplar::Tensor partners_at(std::int64_t distance, const poplar::Tensor& samples) {
    const std::size_t count = samples.dim(0);
    const std::size_t shift = static_cast<std::size_t>(distance) % count;
    if (shift == 0) return samples;
    return poplar::concat(samples.slice(count - shift, count), samples.slice(0, count - shift));
}

/// own * x + (1 - own) * partner, in x's type.
poplar::Tensor mixed_up(const NodeContext& node, const poplar::Tensor& x, const poplar::Tensor& own) {
    const auto sum = pe::_2 * pe::Cast(pe::_1, poplar::FLOAT) + (1.0F - pe::_2) * pe::Cast(pe::_3, poplar::FLOAT);
    return node.map(pe::Cast(sum, x.elementType()), {x, own.expand({1, 1, 1}), partners_at(1, x)});
}

/// The partner's pixels inside the box i32[4], the own ones outside.
poplar::Tensor cut_and_mixed(const NodeContext& node, const poplar::Tensor& x, const poplar::Tensor& box,
                             std::int64_t distance) {
    const poplar::Tensor rows = numbers_up_to(node, x.dim(1)).reshape({1, x.dim(1), 1, 1});
    const poplar::Tensor columns = numbers_up_to(node, x.dim(2)).reshape({1, 1, x.dim(2), 1});
    const auto in_box = (pe::_3 >= pe::_5) && (pe::_3 < pe::_6) && (pe::_4 >= pe::_7) && (pe::_4 < pe::_8);
    return node.map(pe::Select(pe::_2, pe::_1, in_box),
                    {x, partners_at(distance, x), rows, columns, box[0], box[1], box[2], box[3]});
}

void lower_mix_images(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::MixImagesAttrs>();
    poplar::Tensor y = node.input(0);
    if (attrs.mixup) y = mixed_up(node, y, node.input(1));
    if (attrs.cutmix_distance != 0) y = cut_and_mixed(node, y, node.input(node.inputs() - 1), attrs.cutmix_distance);
    node.set_output(0, y);
}

/// Reads labels i32[N] and shares f32[N,P].
std::vector<Partner> partners(const NodeContext& node) {
    std::vector<Partner> all;
    for (const std::int64_t distance : node.attrs<MixedTargetsAttrs>().distances) {
        const std::size_t p = all.size();
        all.push_back({partners_at(distance, node.input(1)), node.input(2).slice(p, p + 1, 1).squeeze({1})});
    }
    return all;
}

TargetRule mixed_target_rule(const NodeContext& node) {
    const auto& attrs = node.attrs<MixedTargetsAttrs>();
    return {attrs.label_smoothing, attrs.class_weights};
}

void lower_mixed_cross_entropy(const NodeContext& node) {
    node.set_output(0, cross_entropy(node, node.input(0), node.input(1), partners(node), mixed_target_rule(node)));
    node.set_output(1, count_correct(node, node.input(0), node.input(1), 1));
}

void lower_mixed_cross_entropy_grad(const NodeContext& node) {
    node.set_output(0, cross_entropy_grad(node, node.input(0), node.input(1), partners(node), mixed_target_rule(node),
                                          node.input(3)));
}

}  // namespace

std::span<const LoweringEntry> loss_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
        {OpKind::softmax_cross_entropy_grad, lower_softmax_cross_entropy_grad},
        {OpKind::top_k_correct, lower_top_k_correct},
        {OpKind::distillation, lower_distillation},
        {OpKind::distillation_grad, lower_distillation_grad},
        {OpKind::sigmoid_cross_entropy, lower_sigmoid_cross_entropy},
        {OpKind::sigmoid_cross_entropy_grad, lower_sigmoid_cross_entropy_grad},
        {OpKind::mix_images, lower_mix_images},
        {OpKind::mixed_cross_entropy, lower_mixed_cross_entropy},
        {OpKind::mixed_cross_entropy_grad, lower_mixed_cross_entropy_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
