// Parameter updates: one pass over parameter, gradient and slots, all in the layout of the gradient.
#include "backend/cpu/lowering.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::MovingAverageAttrs;
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

/// Constant parts of the rounding; the iteration is filled in by each step.
Rounding rounding_of(const Lowering& lower, ValueId variable) {
    return Rounding{lower.request().runtime.stochastic_rounding, lower.request().runtime.seed, 0,
                    static_cast<std::uint32_t>(variable.index)};
}

}  // namespace

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

}  // namespace cnntrain::cpu
