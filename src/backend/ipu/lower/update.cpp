// Weight updates (graph/update_rule.h), moving averages, and copies of 32-bit masters. All arithmetic is in float;
// stored results are rounded once.
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::UpdateAttrs;
using graph::UpdateRule;
using popops::expr::Any;
using popops::expr::Const;
using Tensors = std::vector<poplar::Tensor>;

namespace {

namespace pe = popops::expr;

Any wide(const pe::Expr& value) {
    return pe::Cast(value, poplar::FLOAT);
}

Const number(double value) {
    return static_cast<float>(value);
}

/// to = value, where placeholder 1 is `to` and the others are the operands in order.
void change(const NodeContext& node, const poplar::Tensor& to, const pe::Expr& value, Tensors operands) {
    operands.insert(operands.begin(), to);
    popops::mapInPlace(node.device, pe::Cast(value, to.elementType()), operands, node.program, node.debug());
}

poplar::Tensor computed(const NodeContext& node, const pe::Expr& value, const Tensors& operands) {
    return node.map(value, operands);
}

/// Sum of squares over the given dimensions, in float.
poplar::Tensor squares(const NodeContext& node, const poplar::Tensor& x, const std::vector<std::size_t>& dims) {
    return popops::reduce(node.device, x, poplar::FLOAT, dims, popops::Operation::SQUARE_ADD, node.program,
                          node.debug());
}

/// Sums over all replicas what each has computed from its shards.
poplar::Tensor over_replicas(const NodeContext& node, const poplar::Tensor& sum) {
    return gcl::allReduceCrossReplica(node.device, sum, gcl::CollectiveOperator::ADD, node.program, node.debug());
}

std::vector<std::size_t> all_dimensions(const poplar::Tensor& x) {
    std::vector<std::size_t> dims(x.rank());
    std::iota(dims.begin(), dims.end(), std::size_t{0});
    return dims;
}

/// One update of a variable. Formulas take the gradient g as an expression of the target, the gradient as it was
/// summed, and its scale.
class Update {
public:
    Update(const NodeContext& node, std::size_t first_slot)
        : node_(node),
          attrs_(node.attrs<UpdateAttrs>()),
          target_(in_blocks(node.input(update_input::kTarget))),
          gradient_(in_blocks(node.input(update_input::kGradient))),
          scale_(gradient_scale(first_slot > update_input::kFactor)),
          rate_(rate()) {
        for (std::size_t i = first_slot; i < node.inputs(); ++i)
            slots_.push_back(in_blocks(node.input(i)));
    }

    void run() {
        switch (attrs_.rule) {
            case UpdateRule::sgd:
                return sgd();
            case UpdateRule::momentum:
                return momentum();
            case UpdateRule::nesterov:
                return nesterov();
            case UpdateRule::rmsprop:
                return rmsprop();
            case UpdateRule::lars:
                return lars();
            case UpdateRule::adamw:
                return adamw();
            case UpdateRule::lamb:
                return lamb();
        }
    }

private:
    void sgd() { change_target(wide(pe::_1) - pe::_4 * g(pe::_1, pe::_2, pe::_3), {gradient_, scale_, rate_}); }

    void momentum() {
        change_slot(0, number(attrs_.momentum) * wide(pe::_1) + g(pe::_2, pe::_3, pe::_4));
        change_target(wide(pe::_1) - pe::_2 * wide(pe::_3), {rate_, slots_[0]});
    }

    void nesterov() {
        change_slot(0, number(attrs_.momentum) * wide(pe::_1) + g(pe::_2, pe::_3, pe::_4));
        change_target(wide(pe::_1) - pe::_4 * (g(pe::_1, pe::_2, pe::_3) + number(attrs_.momentum) * wide(pe::_5)),
                      {gradient_, scale_, rate_, slots_[0]});
    }

    void rmsprop() {
        change_slot(1, mean(attrs_.decay, pe::Square(g(pe::_2, pe::_3, pe::_4))));
        const Any gradient = g(pe::_2, pe::_3, pe::_4);
        const Any step = pe::_5 * gradient / pe::Sqrt(wide(pe::_6) + number(attrs_.epsilon));
        change(node_, slots_[0],
               number(attrs_.momentum) * wide(pe::_1) + pe::Select(number(0), step, pe::Equal(gradient, number(0))),
               {target_, gradient_, scale_, rate_, slots_[1]});
        change_target(wide(pe::_1) - wide(pe::_2), {slots_[0]});
    }

    void lars() {
        const poplar::Tensor gradient = computed(node_, g(pe::_1, pe::_2, pe::_3), {target_, gradient_, scale_});
        const poplar::Tensor rate = computed(node_, pe::_1 * pe::_2, {rate_, trust(gradient)});
        change(node_, slots_[0],
               number(attrs_.momentum) * wide(pe::_1) +
                   pe::_2 * (pe::_3 + number(attrs_.rule_weight_decay) * wide(pe::_4)),
               {rate, gradient, target_});
        change_target(wide(pe::_1) - wide(pe::_2), {slots_[0]});
    }

    void adamw() { change_target(wide(pe::_1) - pe::_2 * pe::_3, {rate_, adam_direction()}); }

    void lamb() {
        const poplar::Tensor direction = adam_direction();
        change_target(wide(pe::_1) - pe::_2 * pe::_3 * pe::_4, {rate_, trust(direction), direction});
    }

    /// Renews the moments and returns the direction that follows from them.
    poplar::Tensor adam_direction() {
        change_slot(0, mean(attrs_.momentum, g(pe::_2, pe::_3, pe::_4)));
        change_slot(1, mean(attrs_.decay, pe::Square(g(pe::_2, pe::_3, pe::_4))));
        return computed(node_,
                        wide(pe::_2) * pe::_4 / (pe::Sqrt(wide(pe::_3) * pe::_5) + number(attrs_.epsilon)) +
                            number(attrs_.rule_weight_decay) * wide(pe::_1),
                        {target_, slots_[0], slots_[1], correction(attrs_.momentum), correction(attrs_.decay)});
    }

    /// g of the placeholders of target, gradient and scale.
    Any g(const pe::Expr& target, const pe::Expr& gradient, const pe::Expr& scale) const {
        const pe::Mul scaled = scale * wide(gradient);
        if (attrs_.weight_decay == 0) return scaled;
        return scaled + number(attrs_.weight_decay) * wide(target);
    }
    /// The mean that placeholder 1 holds, with a further value.
    static Any mean(double decay, const pe::Expr& value) {
        return number(decay) * wide(pe::_1) + number(1 - decay) * value;
    }

    void change_target(const pe::Expr& value, const Tensors& operands) const {
        change(node_, target_, value, operands);
    }
    /// Operands 2 to 4: target, gradient, scale.
    void change_slot(std::size_t k, const pe::Expr& value) const {
        change(node_, slots_.at(k), value, {target_, gradient_, scale_});
    }

    /// [rows][blocks][columns of a block] if the rule treats column blocks apart.
    poplar::Tensor in_blocks(const poplar::Tensor& x) const {
        if (attrs_.column_blocks == 1) return x;
        const auto blocks = static_cast<std::size_t>(attrs_.column_blocks);
        return x.reshapePartial(1, 2, {blocks, x.dim(1) / blocks});
    }

    /// The norm of each block, in a shape that multiplies blocks.
    poplar::Tensor norms(const poplar::Tensor& x) const {
        if (attrs_.column_blocks == 1) {
            const poplar::Tensor sum = squares(node_, x, all_dimensions(x));
            const bool sharded = node_.is_sharded(update_input::kGradient);
            return computed(node_, pe::Sqrt(pe::_1), {sharded ? over_replicas(node_, sum) : sum});
        }
        return computed(node_, pe::Sqrt(pe::_1), {squares(node_, x, {0, 2}).expand({0, 1})});
    }

    poplar::Tensor trust(const poplar::Tensor& other) const {
        const Any target = pe::_1;
        const Any norm = pe::_2;
        Any ratio = target / norm;
        if (attrs_.rule == UpdateRule::lars) {
            ratio = number(attrs_.trust_scale) * target /
                    (norm + number(attrs_.rule_weight_decay) * target + number(attrs_.epsilon));
        }
        const Any adapts =
            attrs_.adapts ? Any(pe::And(pe::Gt(target, number(0)), pe::Gt(norm, number(0)))) : Any(pe::Const(false));
        return computed(node_, pe::Select(ratio, number(1), adapts), {norms(target_), norms(other)});
    }

    /// Computed by the first node of the IPU that needs it. `value`: of placeholders for the inputs of these numbers.
    poplar::Tensor scalar(UpdateScalar::Formula formula, std::vector<double> attributes, const pe::Expr& value,
                          std::initializer_list<std::size_t> inputs) const {
        UpdateScalar key{formula, std::move(attributes), {}};
        Tensors operands;
        for (const std::size_t i : inputs) {
            key.inputs.push_back(node_.node.inputs.at(i));
            operands.push_back(node_.input(i));
        }
        poplar::Tensor& shared = node_.update_scalars[std::move(key)];
        if (!shared.valid()) shared = computed(node_, value, operands);
        return shared;
    }

    poplar::Tensor gradient_scale(bool has_factor) const {
        constexpr auto kFormula = UpdateScalar::Formula::gradient_scale;
        const Any scale = number(attrs_.gradient_scale) / pe::_1;
        if (!has_factor) return scalar(kFormula, {attrs_.gradient_scale}, scale, {update_input::kLossScaling});
        return scalar(kFormula, {attrs_.gradient_scale}, scale * pe::_2,
                      {update_input::kLossScaling, update_input::kFactor});
    }

    /// 1 - decay^n. By the exponential minus 1: the power is close to 1.
    static Any one_minus_power(double decay, const pe::Expr& n) {
        return pe::Neg(pe::Expm1(n * number(std::log(decay))));
    }

    poplar::Tensor rate() const {
        Any rate = pe::_1 * number(attrs_.learning_rate_scale);
        std::vector<double> attributes = {attrs_.learning_rate_scale};
        if (attrs_.corrects_step) {
            const Any next = pe::_2 + number(1);
            rate = rate * pe::Sqrt(one_minus_power(attrs_.decay, next)) / one_minus_power(attrs_.momentum, next);
            attributes.insert(attributes.end(), {attrs_.decay, attrs_.momentum});
        }
        return scalar(UpdateScalar::Formula::rate, std::move(attributes), rate,
                      {update_input::kLearningRate, update_input::kStep});
    }

    poplar::Tensor correction(double decay) const {
        const Any value = attrs_.corrects_bias ? Any(number(1) / one_minus_power(decay, pe::_1))
                                               : Any(pe::_1 * number(0) + number(1));
        return scalar(UpdateScalar::Formula::correction,
                      attrs_.corrects_bias ? std::vector{decay} : std::vector<double>(), value, {update_input::kStep});
    }

    const NodeContext& node_;
    const UpdateAttrs& attrs_;
    poplar::Tensor target_, gradient_;
    poplar::Tensor scale_, rate_;  // scalars
    Tensors slots_;
};

void lower_update(const NodeContext& node) {
    Update(node, update_input::kFactor).run();
}

void lower_scaled_update(const NodeContext& node) {
    Update(node, update_input::kFactor + 1).run();
}

void lower_gradient_factor(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::GradientFactorAttrs>();
    Tensors sums, of_shards;
    for (std::size_t i = 1; i < node.inputs(); ++i) {
        Tensors& of_its_kind = node.is_sharded(i) ? of_shards : sums;
        of_its_kind.push_back(squares(node, node.input(i), all_dimensions(node.input(i))).expand({0}));
    }
    if (!of_shards.empty()) sums.push_back(over_replicas(node, poplar::concat(of_shards)));
    const poplar::Tensor sum = node.sum(poplar::concat(sums), {0}, poplar::FLOAT);
    const Any norm = number(attrs.gradient_scale) * pe::Sqrt(pe::_1) / pe::_2;
    Any factor = number(1);
    if (attrs.limit > 0) factor = pe::Select(number(attrs.limit) / norm, number(1), pe::Gt(norm, number(attrs.limit)));
    if (attrs.divides) factor = factor / pe::Max(norm * factor, number(1));
    const Const nan(std::numeric_limits<float>::quiet_NaN());
    node.set_output(0, computed(node, pe::Select(factor, nan, pe::IsFinite(norm)), {sum, node.input(0)}));
}

void lower_moving_average_update(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::MovingAverageAttrs>();
    change(node, node.input(0),
           number(attrs.decay) * wide(pe::_1) + number((1 - attrs.decay) * attrs.value_scale) * wide(pe::_2),
           {node.input(1)});
}

/// Rounds to nearest, also where results are rounded stochastically.
void lower_round_copy(const NodeContext& node) {
    const poplar::FloatingPointBehaviour none(false, false, false, false, false);
    const poplar::FloatingPointBehaviour stochastic(false, false, false, true, false);
    const poplar::Tensor before =
        poplar::getAndModifyFloatingPointBehaviour(node.device, node.program, stochastic, none, node.debug());
    node.program.add(popops::cast(node.device, node.input(1), node.input(0), node.debug()));
    poplar::setFloatingPointBehaviour(node.device, node.program, before, node.debug());
}

}  // namespace

std::span<const LoweringEntry> update_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::update, lower_update},
        {OpKind::scaled_update, lower_scaled_update},
        {OpKind::gradient_factor, lower_gradient_factor},
        {OpKind::moving_average_update, lower_moving_average_update},
        {OpKind::round_copy, lower_round_copy},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
