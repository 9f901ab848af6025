// The rules of optimisers (UpdateAttrs in cnntrain/graph/update_rule.h) on vectors of float.
//
// A rule changes the target and the slots of one vector of elements; g is its gradient, scaled and decayed. Rules with a
// trust also have a first pass, which may change the slots and gives what the second norm is taken of.
#if defined(CNNTRAIN_CPU_UPDATE_RULES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_UPDATE_RULES_INL_H_
#undef CNNTRAIN_CPU_UPDATE_RULES_INL_H_
#else
#define CNNTRAIN_CPU_UPDATE_RULES_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

template <UpdateRule kRule> struct RuleOf;

template <> struct RuleOf<UpdateRule::sgd> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f) : step(hn::Set(FloatTag(), f.step)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* /*slots*/) const {
        target = hn::NegMulAdd(step, g, target);
    }
    Floats step;
};

template <> struct RuleOf<UpdateRule::momentum> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : step(hn::Set(FloatTag(), f.step)), momentum(hn::Set(FloatTag(), f.momentum)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[0] = hn::MulAdd(momentum, slots[0], g);
        target = hn::NegMulAdd(step, slots[0], target);
    }
    Floats step, momentum;
};

template <> struct RuleOf<UpdateRule::rmsprop> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : step(hn::Set(FloatTag(), f.step)),
          momentum(hn::Set(FloatTag(), f.momentum)),
          decay(hn::Set(FloatTag(), f.decay)),
          rest(hn::Set(FloatTag(), 1.0F - f.decay)),
          epsilon(hn::Set(FloatTag(), f.epsilon)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[1] = hn::MulAdd(hn::Mul(rest, g), g, hn::Mul(decay, slots[1]));
        const Floats quotient = hn::Div(hn::Mul(step, g), hn::Sqrt(hn::Add(slots[1], epsilon)));
        const Floats moved = hn::IfThenZeroElse(hn::Eq(g, hn::Zero(FloatTag())), quotient);
        slots[0] = hn::MulAdd(momentum, slots[0], moved);
        target = hn::Sub(target, slots[0]);
    }
    Floats step, momentum, decay, rest, epsilon;
};

template <> struct RuleOf<UpdateRule::lars> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : step(hn::Set(FloatTag(), f.step)),
          momentum(hn::Set(FloatTag(), f.momentum)),
          decay(hn::Set(FloatTag(), f.rule_weight_decay)) {}
    /// The norm is that of g.
    HWY_INLINE Floats first_pass(Floats g, Floats /*target*/, Floats* /*slots*/) const { return g; }
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[0] = hn::MulAdd(momentum, slots[0], hn::Mul(step, hn::MulAdd(target, decay, g)));
        target = hn::Sub(target, slots[0]);
    }
    static constexpr bool kFirstPassWritesSlots = false;
    Floats step, momentum, decay;
};

/// Calls call.template operator()<rule>().
template <typename Call> void with_rule(UpdateRule rule, Call call) {
    switch (rule) {
        case UpdateRule::sgd:
            return call.template operator()<UpdateRule::sgd>();
        case UpdateRule::momentum:
            return call.template operator()<UpdateRule::momentum>();
        case UpdateRule::rmsprop:
            return call.template operator()<UpdateRule::rmsprop>();
        case UpdateRule::lars:
            return call.template operator()<UpdateRule::lars>();
    }
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
