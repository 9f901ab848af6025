// Activation functions and their slopes on vectors of float.
#if defined(CNNTRAIN_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_ACTIVATION_INL_H_
#undef CNNTRAIN_CPU_ACTIVATION_INL_H_
#else
#define CNNTRAIN_CPU_ACTIVATION_INL_H_
#endif

#include <hwy/highway.h>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// e^x for |x| <= 87, relative error below 1e-6. With x / ln 2 = n + f, n the nearest integer: 2^n by its exponent bits, 2^f by
/// the minimax polynomial of degree 5 of 2^f - 1 without a constant term, so that e^0 is exactly 1.
HWY_INLINE Floats exp_of_number(Floats x) {
    const FloatTag d;
    const BitsTag du;
    const Floats inverse_ln2 = hn::Set(d, 0x1.715476p0F);
    const Floats magic = hn::Set(d, 0x1.8p23F);  // a sum with it has the nearest integer in its lowest bits
    const Floats shifted = hn::MulAdd(x, inverse_ln2, magic);
    const Floats f = hn::MulSub(x, inverse_ln2, hn::Sub(shifted, magic));
    Floats p = hn::Set(d, 0x1.5bba14p-10F);
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.3cea88p-7F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6b752p-5F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebf9bcp-3F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e42ap-1F));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
    return hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, shifted))));
}

/// 1 / (1 + exp(-x)), at least 1e-38; some number for NaN, so that only what multiplies it keeps NaN.
HWY_INLINE Floats sigmoid_of_number(Floats x) {
    const FloatTag d;
    const Floats limit = hn::Set(d, 87.0F);
    const Floats exponential = exp_of_number(hn::Neg(hn::Max(hn::Min(x, limit), hn::Neg(limit))));
    const Floats sum = hn::Add(exponential, hn::Set(d, 1.0F));
    const Floats inverse = hn::ApproximateReciprocal(sum);
    return hn::Mul(inverse, hn::NegMulAdd(sum, inverse, hn::Set(d, 2.0F)));  // one Newton step
}

/// NaN stays NaN.
HWY_INLINE Floats sigmoid(Floats x) {
    return hn::IfThenElse(hn::IsNaN(x), x, sigmoid_of_number(x));
}

HWY_INLINE Floats swish(Floats x) {
    return hn::Mul(x, sigmoid_of_number(x));
}

/// d(swish)/dx = s * (1 + x * (1 - s)).
HWY_INLINE Floats swish_slope(Floats x) {
    const Floats s = sigmoid_of_number(x);
    return hn::MulAdd(hn::Mul(x, s), hn::Sub(hn::Set(FloatTag(), 1.0F), s), s);
}

/// What the kernels know of an activation: its value, and a gradient times its slope.
template <Activation kActivation> struct ActivationOf;

template <> struct ActivationOf<Activation::none> {
    static HWY_INLINE Floats value(Floats x) { return x; }
    static HWY_INLINE Floats times_slope(Floats /*y*/, Floats dy) { return dy; }
};
template <> struct ActivationOf<Activation::relu> {
    static HWY_INLINE Floats value(Floats x) { return positive_part(x); }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) { return where_positive(y, dy); }
};
template <> struct ActivationOf<Activation::swish> {
    static HWY_INLINE Floats value(Floats x) { return swish(x); }
    static HWY_INLINE Floats times_slope(Floats x, Floats dy) { return hn::Mul(swish_slope(x), dy); }
};
template <> struct ActivationOf<Activation::sigmoid> {
    static HWY_INLINE Floats value(Floats x) { return sigmoid(x); }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) { return hn::Mul(hn::NegMulAdd(y, y, y), dy); }
};

/// dy * f'(x) from x, also where the slope is given as a function of y.
template <Activation kActivation> HWY_INLINE Floats times_slope_at_input(Floats x, Floats dy) {
    using Function = ActivationOf<kActivation>;
    // The sign of a ReLU's input is that of its result.
    constexpr bool kNeedsResult = slope_follows_from_result(kActivation) && kActivation != Activation::relu;
    return Function::times_slope(kNeedsResult ? Function::value(x) : x, dy);
}

/// Calls call.template operator()<activation>().
template <typename Call> void with_activation(Activation activation, Call call) {
    switch (activation) {
        case Activation::none:
            return call.template operator()<Activation::none>();
        case Activation::relu:
            return call.template operator()<Activation::relu>();
        case Activation::swish:
            return call.template operator()<Activation::swish>();
        case Activation::sigmoid:
            return call.template operator()<Activation::sigmoid>();
    }
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
