// Parameter updates: one pass over parameter, gradient and slots, all in the layout of the gradient.
#include <cmath>

#include "backend/cpu/lowering.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::LarsAttrs;
using graph::MovingAverageAttrs;
using graph::RmsPropAttrs;
using graph::UpdateAttrs;
using graph::ValueId;

namespace {

struct UpdateOperands {
    Placed parameter, gradient;
    std::int64_t count = 0;
};

/// The parameter is kept in its gradient's layout where that layout exists for its type; else both are row-major.
UpdateOperands place_update(Lowering& lower) {
    const ValueId parameter = lower.node().inputs[0];
    const ValueId gradient = lower.node().inputs[1];
    UpdateOperands at;
    const Placed as_it_lies = lower.operand(gradient);
    at.parameter = lower.master(parameter, with_type(as_it_lies.desc, lower.graph().desc(parameter).dtype));
    at.gradient = as_it_lies;
    if (with_type(at.parameter.desc, DType::f32) != as_it_lies.desc) {
        const auto wanted = with_type(at.parameter.desc, DType::f32);
        CNNTRAIN_CHECK(wanted.has_value(), "a parameter lies in an unnamed layout: " + lower.node().name);
        at.gradient = lower.operand_as(gradient, *wanted, "the gradient's layout has no 16-bit form");
    }
    at.count = static_cast<std::int64_t>(at.parameter.desc.get_size() / size_bytes(at.parameter.dtype));
    return at;
}

UpdateFactors factors_of(const UpdateAttrs& attrs, const StepContext& context) {
    return UpdateFactors{static_cast<float>(attrs.gradient_scale), static_cast<float>(attrs.weight_decay),
                         static_cast<float>(context.learning_rate * attrs.learning_rate_scale),
                         static_cast<float>(attrs.momentum)};
}

double trust_ratio(const LarsAttrs& attrs, const SquareSums& sums) {
    if (!(sums.parameter > 0) || !(sums.gradient > 0)) return 1;
    const double norm = std::sqrt(sums.parameter);
    return attrs.trust_scale * norm / (std::sqrt(sums.gradient) + attrs.weight_decay * norm + attrs.epsilon);
}

/// Constant parts of the rounding; the iteration is filled in by each step.
Rounding rounding_of(const Lowering& lower, ValueId variable) {
    return Rounding{lower.request().runtime.stochastic_rounding, lower.request().runtime.seed, 0,
                    static_cast<std::uint32_t>(variable.index)};
}

void lower_sgd_update(Lowering& lower) {
    const auto& attrs = lower.node().as<UpdateAttrs>();
    const UpdateOperands at = place_update(lower);
    const Rounding base = rounding_of(lower, lower.node().inputs[0]);
    with_float_type(at.parameter.dtype, [&]<typename T>() {
        lower.add_step("kernel", {at.parameter, at.gradient}, {at.parameter},
                       [at, attrs, base](const StepContext& context) {
                           Rounding rounding = base;
                           rounding.iteration = context.iteration;
                           sgd_update(at.count, at.parameter.as<T>(), at.gradient.as<float>(),
                                      factors_of(attrs, context), rounding);
                       });
    });
}

void lower_momentum_update(Lowering& lower) {
    const auto& attrs = lower.node().as<UpdateAttrs>();
    const UpdateOperands at = place_update(lower);
    const Placed velocity = lower.slot_master(lower.node().inputs[2], lower.node().inputs[0]);
    const Rounding base = rounding_of(lower, lower.node().inputs[0]);
    with_float_type(at.parameter.dtype, [&]<typename T>() {
        lower.add_step("kernel", {at.parameter, at.gradient, velocity}, {at.parameter, velocity},
                       [at, velocity, attrs, base](const StepContext& context) {
                           Rounding rounding = base;
                           rounding.iteration = context.iteration;
                           momentum_update(at.count, at.parameter.as<T>(), at.gradient.as<float>(), velocity.as<T>(),
                                           factors_of(attrs, context), rounding);
                       });
    });
}

void lower_rmsprop_update(Lowering& lower) {
    const auto& attrs = lower.node().as<RmsPropAttrs>();
    const UpdateOperands at = place_update(lower);
    const ValueId parameter = lower.node().inputs[0];
    const ValueId mean_square = lower.node().inputs[2];
    const Placed squares = lower.slot_master(mean_square, parameter);
    const Placed velocity = lower.slot_master(lower.node().inputs[3], parameter);
    const Rounding base = rounding_of(lower, parameter);
    const Rounding square_base = rounding_of(lower, mean_square);
    with_float_type(at.parameter.dtype, [&]<typename T>() {
        lower.add_step("kernel", {at.parameter, at.gradient, squares, velocity}, {at.parameter, squares, velocity},
                       [=](const StepContext& context) {
                           Rounding rounding = base;
                           Rounding square_rounding = square_base;
                           rounding.iteration = square_rounding.iteration = context.iteration;
                           const RmsPropFactors factors{factors_of(attrs.update, context),
                                                        static_cast<float>(attrs.decay),
                                                        static_cast<float>(attrs.epsilon)};
                           rmsprop_update<T>(at.count, {at.parameter.as<T>(), squares.as<T>(), velocity.as<T>()},
                                             at.gradient.as<float>(), factors, rounding, square_rounding);
                       });
    });
}

void lower_lars_update(Lowering& lower) {
    const auto& attrs = lower.node().as<LarsAttrs>();
    const UpdateOperands at = place_update(lower);
    const Placed velocity = lower.slot_master(lower.node().inputs[2], lower.node().inputs[0]);
    const Rounding base = rounding_of(lower, lower.node().inputs[0]);
    const auto scratch = lower.scratch_floats(lars_scratch_floats(at.count));
    with_float_type(at.parameter.dtype, [&]<typename T>() {
        lower.add_step(
            "kernel", {at.parameter, at.gradient, velocity}, {at.parameter, velocity}, [=](const StepContext& context) {
                Rounding rounding = base;
                rounding.iteration = context.iteration;
                UpdateFactors factors = factors_of(attrs.update, context);
                if (attrs.adapts) {
                    const SquareSums sums =
                        square_sums(at.count, at.parameter.as<T>(), at.gradient.as<float>(), factors, scratch());
                    factors.step = static_cast<float>(static_cast<double>(factors.step) * trust_ratio(attrs, sums));
                    factors.weight_decay += static_cast<float>(attrs.weight_decay);
                }
                lars_update(at.count, at.parameter.as<T>(), at.gradient.as<float>(), velocity.as<T>(), factors,
                            rounding);
            });
    });
}

/// Both lie alike where the master's layout has a 16-bit form.
void lower_round_copy(Lowering& lower) {
    const ValueId parameter = lower.node().inputs[0];
    const Placed master = lower.operand(lower.node().inputs[1]);
    const Placed copy = lower.master(parameter, with_type(master.desc, lower.graph().desc(parameter).dtype));
    if (with_type(copy.desc, DType::f32) != master.desc) {
        lower.add_primitive(lower.onednn().reorder(master.desc, copy.desc),
                            {{DNNL_ARG_FROM, master}, {DNNL_ARG_TO, copy}}, {DNNL_ARG_TO});
        return;
    }
    const auto count = static_cast<std::int64_t>(copy.desc.get_size() / sizeof(BFloat16));
    lower.add_step("kernel", {master}, {copy},
                   [master, copy, count](const StepContext&) { cast(count, master.as<float>(), copy.as<BFloat16>()); });
}

void lower_moving_average_update(Lowering& lower) {
    const auto& attrs = lower.node().as<MovingAverageAttrs>();
    const Placed moving = lower.master(lower.node().inputs[0]);
    const Placed value = lower.operand(lower.node().inputs[1]);
    const Rounding base = rounding_of(lower, lower.node().inputs[0]);
    const std::int64_t count = lower.graph().desc(lower.node().inputs[0]).elements();
    with_float_type(moving.dtype, [&]<typename T>() {
        lower.add_step("kernel", {moving, value}, {moving}, [=](const StepContext& context) {
            Rounding rounding = base;
            rounding.iteration = context.iteration;
            moving_average_update(count, moving.as<T>(), value.as<float>(), attrs.decay, attrs.value_scale, rounding);
        });
    });
}

constexpr LoweringEntry kLowerings[] = {
    {graph::OpKind::sgd_update, lower_sgd_update},
    {graph::OpKind::momentum_update, lower_momentum_update},
    {graph::OpKind::rmsprop_update, lower_rmsprop_update},
    {graph::OpKind::lars_update, lower_lars_update},
    {graph::OpKind::moving_average_update, lower_moving_average_update},
    {graph::OpKind::round_copy, lower_round_copy},
};

}  // namespace

std::span<const LoweringEntry> update_lowerings() {
    return kLowerings;
}

}  // namespace cnntrain::cpu
