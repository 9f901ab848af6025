// The rules by which optimisers change a variable: names, slots, formulas.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "cnntrain/base/text.h"

namespace cnntrain::graph {

/// Rules by which optimisers update a variable, in the order in which help lists the optimisers.
enum class UpdateRule : std::uint8_t { sgd, rmsprop, momentum, lars, adamw, lamb, nesterov };
/// The optimisers' names; printed graphs have those of kUpdateRules.
constexpr auto spellings(UpdateRule) {
    return std::to_array<std::string_view>({"SGD", "RMSprop", "momentum", "LARS", "AdamW", "LAMB", "nesterov"});
}

/// update: target, gradient, learning_rate f32[], step f32[] (number of the update, from 1), loss_scaling f32[], the
/// rule's slots in the target's shape, gradient and slots of any type: overwrites target and slots. With p the target,
/// g = gradient_scale / loss_scaling * gradient + weight_decay * p and r = learning_rate * learning_rate_scale:
///
/// sgd       p -= r * g
/// momentum  slot v: v = momentum * v + g; p -= r * v
/// nesterov  (Sutskever et al. 2013, as TensorFlow writes it) slot v: v = momentum * v + g; p -= r * (g + momentum * v)
/// rmsprop   slots v, s: s = decay * s + (1 - decay) * g^2; v = momentum * v + r * g / sqrt(s + epsilon); p -= v; the
///           quotient is 0 where g is 0
/// lars      (You et al. 2017) slot v: v = momentum * v + r * trust * (g + rule_weight_decay * p); p -= v, with
///           trust = trust_scale * |p| / (|g| + rule_weight_decay * |p| + epsilon)
/// adamw     (Loshchilov and Hutter 2019) slots m, s:
///           m = momentum * m + (1 - momentum) * g; s = decay * s + (1 - decay) * g^2;
///           u = m^ / (sqrt(s^) + epsilon) + rule_weight_decay * p, with the bias-corrected means m^ and s^ of m and s;
///           p -= r * u
/// lamb      (You et al. 2020) as adamw, but p -= r * trust * u with trust = |p| / |u|
///
/// Norms are taken over the whole tensor, or separately over each of `column_blocks` equal column blocks of a matrix.
/// The trust ratio is 1 where one of its two norms is 0, and where `adapts` is false.
///
/// scaled_update: the same with a factor f32[] (gradient_factor's) after loss_scaling, which multiplies the gradient.
struct UpdateAttrs {
    UpdateRule rule = UpdateRule::sgd;
    double gradient_scale = 1;       // 1 / (micro-batches per update * replicas), times the factor that is left in g
    double weight_decay = 0;         // in the scale of g
    double learning_rate_scale = 1;  // the layer's factor / the factor that is left in g
    double momentum = 0;             // adamw, lamb: beta1
    double decay = 0;                // of the mean of squares; adamw, lamb: beta2
    double epsilon = 0;
    double rule_weight_decay = 0;    // the rule's own decay, in addition to weight_decay
    double trust_scale = 0;          // lars
    bool adapts = true;              // rules with a trust
    bool corrects_bias = false;      // divide means that start at 0 by 1 - momentum^step and 1 - decay^step
    bool corrects_step = false;      // multiply the whole step by sqrt(1 - decay^(step+1)) / (1 - momentum^(step+1))
    std::int64_t column_blocks = 1;  // rules with a trust ratio: matrices side by side in one variable
    bool operator==(const UpdateAttrs&) const = default;
};

inline constexpr std::size_t kMostUpdateSlots = 2;

struct UpdateRuleFacts {
    UpdateRule rule;
    std::string_view name;  // as graphs are printed; users write spellings(UpdateRule)
    std::size_t slots;      // tensors like the target
    bool scales_step;       // by a trust ratio
    /// The trust ratio from two norms: of the target, and of another vector (lars: g; lamb: u). Null for rules without
    /// it.
    double (*trust)(const UpdateAttrs& attrs, double target_norm, double other_norm);

    /// Does not compare `trust` with null: with -fsanitize=undefined, GCC 12 does not accept the comparison of a
    /// function's address as a constant.
    constexpr bool has_trust() const { return scales_step; }
};

inline constexpr std::array kUpdateRules = {
    UpdateRuleFacts{UpdateRule::sgd, "sgd", 0, false, nullptr},
    UpdateRuleFacts{UpdateRule::rmsprop, "rmsprop", 2, false, nullptr},
    UpdateRuleFacts{UpdateRule::momentum, "momentum", 1, false, nullptr},
    UpdateRuleFacts{UpdateRule::lars, "lars", 1, true,
                    [](const UpdateAttrs& a, double target, double g) {
                        return a.trust_scale * target / (g + a.rule_weight_decay * target + a.epsilon);
                    }},
    UpdateRuleFacts{UpdateRule::adamw, "adamw", 2, false, nullptr},
    UpdateRuleFacts{UpdateRule::lamb, "lamb", 2, true,
                    [](const UpdateAttrs& /*attrs*/, double target, double u) { return target / u; }},
    UpdateRuleFacts{UpdateRule::nesterov, "nesterov", 1, false, nullptr},
};

constexpr const UpdateRuleFacts& facts_of(UpdateRule rule) {
    return kUpdateRules.at(static_cast<std::size_t>(rule));
}
static_assert(kUpdateRules.size() == enumerator_count<UpdateRule>());
static_assert([] {
    for (const UpdateRuleFacts& facts : kUpdateRules) {
        if (facts_of(facts.rule).rule != facts.rule || facts.slots > kMostUpdateSlots) return false;
    }
    return true;
}());

/// The trust ratio of a rule that has one; 1 where it does not adapt, or where a norm is 0 or NaN.
inline double trust_ratio(const UpdateAttrs& attrs, double target_norm, double other_norm) {
    if (!attrs.adapts || !(target_norm > 0) || !(other_norm > 0)) return 1;
    return facts_of(attrs.rule).trust(attrs, target_norm, other_norm);
}

/// Bias correction of a mean that started at 0 and decayed for `step` updates; 1 for rules without correction.
inline double bias_correction(const UpdateAttrs& attrs, double decay, double step) {
    return attrs.corrects_bias ? 1 / (1 - std::pow(decay, step)) : 1;
}

/// Factor of the whole step.
inline double step_correction(const UpdateAttrs& attrs, double step) {
    if (!attrs.corrects_step) return 1;
    return std::sqrt(1 - std::pow(attrs.decay, step + 1)) / (1 - std::pow(attrs.momentum, step + 1));
}

/// gradient_factor: loss_scaling f32[], gradients of any shapes -> f32[], by which updates multiply them. With q the
/// norm of gradient_scale / loss_scaling * gradient over all of them: min(1, limit / q) where `limit` is above 0, then
/// divided by max(1, the norm that is left) where `divides`. Not a number where q is not finite.
struct GradientFactorAttrs {
    double gradient_scale = 1;
    double limit = 0;
    bool divides = false;
    bool operator==(const GradientFactorAttrs&) const = default;
};

/// `squares`: the sum of the squares of all gradients, each divided by the loss scaling.
inline double gradient_factor(const GradientFactorAttrs& attrs, double squares) {
    const double norm = attrs.gradient_scale * std::sqrt(squares);
    if (!std::isfinite(norm)) return std::nan("");
    double factor = 1;
    if (attrs.limit > 0 && norm > attrs.limit) factor = attrs.limit / norm;
    if (attrs.divides && norm * factor > 1) factor /= norm * factor;
    return factor;
}

}  // namespace cnntrain::graph
