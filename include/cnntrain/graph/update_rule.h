// The rules by which optimisers change a variable: names, slots, formulas' parameters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cnntrain::graph {

enum class UpdateRule : std::uint8_t { sgd, momentum, rmsprop, lars };

inline constexpr std::size_t kMostUpdateSlots = 2;

struct UpdateRuleFacts {
    UpdateRule rule;
    std::string_view name;
    std::size_t slots;  // tensors like the target
    bool has_trust;     // the step is scaled by a ratio of norms over the whole tensor
};

inline constexpr std::array kUpdateRules = {
    UpdateRuleFacts{UpdateRule::sgd, "sgd", 0, false},
    UpdateRuleFacts{UpdateRule::momentum, "momentum", 1, false},
    UpdateRuleFacts{UpdateRule::rmsprop, "rmsprop", 2, false},
    UpdateRuleFacts{UpdateRule::lars, "lars", 1, true},
};

constexpr const UpdateRuleFacts& facts_of(UpdateRule rule) {
    return kUpdateRules.at(static_cast<std::size_t>(rule));
}
static_assert([] {
    for (const UpdateRuleFacts& facts : kUpdateRules) {
        if (facts_of(facts.rule).rule != facts.rule || facts.slots > kMostUpdateSlots) return false;
    }
    return true;
}());

/// update: target, gradient, learning_rate f32[], step f32[] (the number of the update, from 1), the rule's slots like the
/// target: overwrites target and slots. The gradient may be of another type than the target. With p the target,
/// g = gradient_scale * gradient + weight_decay * p and r = learning_rate * learning_rate_scale:
///
/// sgd       p -= r * g
/// momentum  slot v: v = momentum * v + g; p -= r * v
/// rmsprop   slots v, s: s = decay * s + (1 - decay) * g^2; v = momentum * v + r * g / sqrt(s + epsilon); p -= v; where g is 0
///           its quotient is 0
/// lars      (You et al. 2017) slot v: v = momentum * v + r * trust * (g + rule_weight_decay * p); p -= v, with
///           trust = trust_scale * |p| / (|g| + rule_weight_decay * |p| + epsilon)
///
/// Norms are taken over the whole tensor. A trust is 1 where one of its two norms is 0, and where `adapts` is false.
struct UpdateAttrs {
    UpdateRule rule = UpdateRule::sgd;
    double gradient_scale = 1;       // 1 / (micro-batches per update * replicas), and 1 / loss scaling where g needs it
    double weight_decay = 0;         // in the scale of g
    double learning_rate_scale = 1;  // 1 / loss scaling, where g still has it
    double momentum = 0;
    double decay = 0;  // of the mean of squares
    double epsilon = 0;
    double rule_weight_decay = 0;  // of the rule's own, on top of weight_decay
    double trust_scale = 0;        // lars
    bool adapts = true;            // rules with a trust
    bool operator==(const UpdateAttrs&) const = default;
};

/// By which a rule with a trust scales its step. `other`: |g| for lars.
double trust_ratio(const UpdateAttrs& attrs, double target_norm, double other_norm);

}  // namespace cnntrain::graph
