// Optimiser rules (UpdateAttrs in cnntrain/graph/update_rule.h) on vectors of float.
//
// A rule changes the target and the slots of one vector of elements; g is the gradient after scaling and weight decay.
// Rules with a trust ratio also have a first sweep, which may change the slots and returns the vector for the second
// norm.
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

/// A rule has change(g, target, slots), which stores the new values in target and slots. A rule with a trust ratio also
/// has first_sweep(g, target, slots), which returns the vector for the second norm, and a constant
/// kFirstSweepWritesSlots. If that is true, the slots have their new values after the first sweep, and change() must
/// not modify them.
template <UpdateRule kRule> struct RuleOf;

template <> struct RuleOf<UpdateRule::sgd> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f) : rate(hn::Set(FloatTag(), f.rate)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* /*slots*/) const {
        target = hn::NegMulAdd(rate, g, target);
    }
    Floats rate;
};

template <> struct RuleOf<UpdateRule::momentum> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : rate(hn::Set(FloatTag(), f.rate)), momentum(hn::Set(FloatTag(), f.momentum)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[0] = hn::MulAdd(momentum, slots[0], g);
        target = hn::NegMulAdd(rate, slots[0], target);
    }
    Floats rate, momentum;
};

template <> struct RuleOf<UpdateRule::nesterov> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : rate(hn::Set(FloatTag(), f.rate)), momentum(hn::Set(FloatTag(), f.momentum)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[0] = hn::MulAdd(momentum, slots[0], g);
        target = hn::NegMulAdd(rate, hn::MulAdd(momentum, slots[0], g), target);
    }
    Floats rate, momentum;
};

template <> struct RuleOf<UpdateRule::rmsprop> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : rate(hn::Set(FloatTag(), f.rate)),
          momentum(hn::Set(FloatTag(), f.momentum)),
          decay(hn::Set(FloatTag(), f.decay)),
          rest(hn::Set(FloatTag(), 1.0F - f.decay)),
          epsilon(hn::Set(FloatTag(), f.epsilon)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[1] = hn::MulAdd(hn::Mul(rest, g), g, hn::Mul(decay, slots[1]));
        const Floats quotient = hn::Div(hn::Mul(rate, g), hn::Sqrt(hn::Add(slots[1], epsilon)));
        const Floats moved = hn::IfThenZeroElse(hn::Eq(g, hn::Zero(FloatTag())), quotient);
        slots[0] = hn::MulAdd(momentum, slots[0], moved);
        target = hn::Sub(target, slots[0]);
    }
    Floats rate, momentum, decay, rest, epsilon;
};

template <> struct RuleOf<UpdateRule::lars> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f)
        : rate(hn::Set(FloatTag(), f.rate)),
          momentum(hn::Set(FloatTag(), f.momentum)),
          weight_decay(hn::Set(FloatTag(), f.rule_weight_decay)) {}
    /// The second norm is the norm of g.
    HWY_INLINE Floats first_sweep(Floats g, Floats /*target*/, Floats* /*slots*/) const { return g; }
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        slots[0] = hn::MulAdd(momentum, slots[0], hn::Mul(rate, hn::MulAdd(target, weight_decay, g)));
        target = hn::Sub(target, slots[0]);
    }
    static constexpr bool kFirstSweepWritesSlots = false;
    Floats rate, momentum, weight_decay;
};

/// Common to the rules of the Adam family.
struct AdamMoments {
    explicit HWY_INLINE AdamMoments(const UpdateFactors& f)
        : beta1(hn::Set(FloatTag(), f.momentum)),
          rest1(hn::Set(FloatTag(), 1.0F - f.momentum)),
          beta2(hn::Set(FloatTag(), f.decay)),
          rest2(hn::Set(FloatTag(), 1.0F - f.decay)),
          mean_correction(hn::Set(FloatTag(), f.mean_correction)),
          square_correction(hn::Set(FloatTag(), f.square_correction)),
          epsilon(hn::Set(FloatTag(), f.epsilon)),
          weight_decay(hn::Set(FloatTag(), f.rule_weight_decay)) {}
    HWY_INLINE void set(Floats g, Floats* slots) const {
        slots[0] = hn::MulAdd(beta1, slots[0], hn::Mul(rest1, g));
        slots[1] = hn::MulAdd(beta2, slots[1], hn::Mul(rest2, hn::Mul(g, g)));
    }
    HWY_INLINE Floats direction(Floats target, const Floats* slots) const {
        const Floats root = hn::Sqrt(hn::Mul(slots[1], square_correction));
        const Floats quotient = hn::Div(hn::Mul(slots[0], mean_correction), hn::Add(root, epsilon));
        return hn::MulAdd(weight_decay, target, quotient);
    }
    Floats beta1, rest1, beta2, rest2, mean_correction, square_correction, epsilon, weight_decay;
};

template <> struct RuleOf<UpdateRule::adamw> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f) : moments(f), rate(hn::Set(FloatTag(), f.rate)) {}
    HWY_INLINE void change(Floats g, Floats& target, Floats* slots) const {
        moments.set(g, slots);
        target = hn::NegMulAdd(rate, moments.direction(target, slots), target);
    }
    AdamMoments moments;
    Floats rate;
};

template <> struct RuleOf<UpdateRule::lamb> {
    explicit HWY_INLINE RuleOf(const UpdateFactors& f) : moments(f), rate(hn::Set(FloatTag(), f.rate)) {}
    /// The second norm is the norm of the direction. With 16-bit slots, it is computed before the means are rounded.
    HWY_INLINE Floats first_sweep(Floats g, Floats target, Floats* slots) const {
        moments.set(g, slots);
        return moments.direction(target, slots);
    }
    HWY_INLINE void change(Floats /*g*/, Floats& target, Floats* slots) const {
        target = hn::NegMulAdd(rate, moments.direction(target, slots), target);
    }
    static constexpr bool kFirstSweepWritesSlots = true;
    AdamMoments moments;
    Floats rate;
};

/// Calls call.template operator()<rule>().
template <typename Call> void with_rule(UpdateRule rule, Call call) {
    switch (rule) {
        case UpdateRule::sgd:
            return call.template operator()<UpdateRule::sgd>();
        case UpdateRule::momentum:
            return call.template operator()<UpdateRule::momentum>();
        case UpdateRule::nesterov:
            return call.template operator()<UpdateRule::nesterov>();
        case UpdateRule::rmsprop:
            return call.template operator()<UpdateRule::rmsprop>();
        case UpdateRule::lars:
            return call.template operator()<UpdateRule::lars>();
        case UpdateRule::adamw:
            return call.template operator()<UpdateRule::adamw>();
        case UpdateRule::lamb:
            return call.template operator()<UpdateRule::lamb>();
    }
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
