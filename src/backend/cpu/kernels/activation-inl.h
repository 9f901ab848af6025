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

/// Computes 2^(n + f), where the integer n is in the lowest bits of a sum with kNearest, and |f| <= 0.5. 2^n is set
/// through its exponent bits; 2^f uses the minimax polynomial of degree 5 for 2^f - 1 without a constant term, so that
/// 2^0 is exactly 1. The relative error is below 1e-6.
HWY_INLINE Floats power_of_two(Floats n, Floats f) {
    const FloatTag d;
    const BitsTag du;
    Floats p = hn::Set(d, 0x1.5bba14p-10F);
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.3cea88p-7F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6b752p-5F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebf9bcp-3F));
    p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e42ap-1F));
    p = hn::MulAdd(p, f, hn::Set(d, 1.0F));
    return hn::BitCast(d, hn::Add(hn::BitCast(du, p), hn::ShiftLeft<23>(hn::BitCast(du, n))));
}

/// Adding this number leaves the nearest integer in the lowest bits of the sum.
inline constexpr float kNearest = 0x1.8p23F;

/// e^x for |x| <= 87.
HWY_INLINE Floats exp_of_number(Floats x) {
    const FloatTag d;
    const Floats inverse_ln2 = hn::Set(d, 0x1.715476p0F);
    const Floats n = hn::MulAdd(x, inverse_ln2, hn::Set(d, kNearest));
    return power_of_two(n, hn::MulSub(x, inverse_ln2, hn::Sub(n, hn::Set(d, kNearest))));
}

/// 2^x for |x| <= 125.
HWY_INLINE Floats exp2_of_number(Floats x) {
    const Floats nearest = hn::Set(FloatTag(), kNearest);
    const Floats n = hn::Add(x, nearest);
    return power_of_two(n, hn::Sub(x, hn::Sub(n, nearest)));
}

/// Clamps x to [-limit, limit]; NaN becomes one of the bounds.
HWY_INLINE Floats limited(Floats x, float limit) {
    const FloatTag d;
    return hn::Max(hn::Min(x, hn::Set(d, limit)), hn::Set(d, -limit));
}

/// 1 / x, refined by one Newton step; x must be neither 0 nor infinite.
HWY_INLINE Floats reciprocal(Floats x) {
    const Floats inverse = hn::ApproximateReciprocal(x);
    return hn::Mul(inverse, hn::NegMulAdd(x, inverse, hn::Set(FloatTag(), 2.0F)));
}

/// 1 / (1 + exp(-x)), at least 1e-38. For NaN the result is some number; its product with the NaN is still NaN.
HWY_INLINE Floats sigmoid_of_number(Floats x) {
    const Floats exponential = exp_of_number(hn::Neg(limited(x, 87.0F)));
    return reciprocal(hn::Add(exponential, hn::Set(FloatTag(), 1.0F)));
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

/// The cumulative distribution function (CDF) of the normal distribution. For z >= 0, erfc(z) = t * (a1 + t * (a2 + ...
/// )) * exp(-z^2) with t = 1 / (1 + p * z): Abramowitz and Stegun 7.1.26, absolute error below 1.5e-7.
HWY_INLINE Floats normal_share(Floats x) {
    const FloatTag d;
    const auto set = [&](float value) HWY_ATTR { return hn::Set(d, value); };
    const Floats z = hn::Mul(hn::Min(hn::Abs(x), set(13.0F)), set(0x1.6a09e6p-1F));  // |x| / sqrt(2)
    const Floats t = hn::Div(set(1.0F), hn::MulAdd(z, set(0.3275911F), set(1.0F)));
    Floats p = set(1.061405429F);
    p = hn::MulAdd(p, t, set(-1.453152027F));
    p = hn::MulAdd(p, t, set(1.421413741F));
    p = hn::MulAdd(p, t, set(-0.284496736F));
    p = hn::MulAdd(p, t, set(0.254829592F));
    const Floats upper = hn::Mul(hn::Mul(set(0.5F), hn::Mul(p, t)), exp_of_number(hn::Neg(hn::Mul(z, z))));
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), upper, hn::Sub(set(1.0F), upper));
}

HWY_INLINE Floats gelu(Floats x) {
    return hn::Mul(x, normal_share(x));
}

HWY_INLINE Floats gelu_slope(Floats x) {
    const FloatTag d;
    const Floats size = hn::Min(hn::Abs(x), hn::Set(d, 13.0F));
    const Floats exponential = exp_of_number(hn::Mul(hn::Mul(size, size), hn::Set(d, -0.5F)));
    const Floats density = hn::Mul(exponential, hn::Set(d, 0x1.988454p-2F));  // 1 / sqrt(2 pi)
    return hn::MulAdd(x, density, normal_share(x));
}

/// Computes e = exp(-2 * sqrt(2 / pi) * (x + 0.044715 x^3)); GELU's tanh approximation is x / (1 + e).
HWY_INLINE Floats gelu_tanh_exponential(Floats x) {
    const FloatTag d;
    constexpr float kLinear = -2.302208198F;  // -2 * sqrt(2 / pi) / ln 2
    const Floats cubic = hn::MulAdd(hn::Mul(x, x), hn::Set(d, kLinear * 0.044715F), hn::Set(d, kLinear));
    return exp2_of_number(limited(hn::Mul(x, cubic), 125.0F));
}

HWY_INLINE Floats gelu_tanh(Floats x) {
    return hn::Mul(x, reciprocal(hn::Add(gelu_tanh_exponential(x), hn::Set(FloatTag(), 1.0F))));
}

HWY_INLINE Floats gelu_tanh_slope(Floats x) {
    const FloatTag d;
    const Floats exponential = gelu_tanh_exponential(x);
    const Floats s = reciprocal(hn::Add(exponential, hn::Set(d, 1.0F)));
    const Floats rest = hn::Mul(exponential, s);  // 1 - s, without loss of digits
    // 2 * sqrt(2 / pi) * (1 + 3 * 0.044715 x^2)
    const Floats inner_slope = hn::MulAdd(hn::Mul(x, x), hn::Set(d, 0.2140644488F), hn::Set(d, 1.5957691216F));
    return hn::MulAdd(hn::Mul(hn::Mul(x, s), rest), inner_slope, s);
}

/// tanh(x) = (1 - e) / (1 + e) with e = exp(-2 |x|), and the sign of x. For small x, where the difference would lose
/// digits, uses the first terms of the power series; the next term is below 1e-7 of the sum. NaN stays NaN.
HWY_INLINE Floats tanh_of(Floats x) {
    const FloatTag d;
    const Floats one = hn::Set(d, 1.0F);
    const Floats size = hn::Abs(x);
    const Floats exponential = exp_of_number(hn::Mul(hn::Min(size, hn::Set(d, 20.0F)), hn::Set(d, -2.0F)));
    const Floats quotient = hn::Div(hn::Sub(one, exponential), hn::Add(one, exponential));
    const Floats square = hn::Mul(x, x);
    Floats series = hn::Set(d, 62.0F / 2835);
    series = hn::MulAdd(series, square, hn::Set(d, -17.0F / 315));
    series = hn::MulAdd(series, square, hn::Set(d, 2.0F / 15));
    series = hn::MulAdd(series, square, hn::Set(d, -1.0F / 3));
    series = hn::MulAdd(hn::Mul(series, square), x, x);
    const Floats value = hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.3F)), series, hn::CopySign(quotient, x));
    return hn::IfThenElse(hn::IsNaN(x), x, value);
}

/// The kernels' part of an activation: its value, and a gradient times its slope.
template <Activation kActivation> struct ActivationOf;

template <> struct ActivationOf<Activation::none> {
    static HWY_INLINE Floats value(Floats x) { return x; }
    static HWY_INLINE Floats times_slope(Floats /*y*/, Floats dy) { return dy; }
};
template <> struct ActivationOf<Activation::relu> {
    static HWY_INLINE Floats value(Floats x) { return positive_part(x); }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) { return where_positive(y, dy); }
};
template <> struct ActivationOf<Activation::relu6> {
    static HWY_INLINE Floats value(Floats x) {
        const Floats six = hn::Set(FloatTag(), 6.0F);
        return hn::IfThenElse(hn::Gt(x, six), six, positive_part(x));  // NaN stays NaN
    }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) {
        return hn::IfThenElseZero(hn::Lt(y, hn::Set(FloatTag(), 6.0F)), where_positive(y, dy));
    }
};
template <> struct ActivationOf<Activation::swish> {
    static HWY_INLINE Floats value(Floats x) { return swish(x); }
    static HWY_INLINE Floats times_slope(Floats x, Floats dy) { return hn::Mul(swish_slope(x), dy); }
};
template <> struct ActivationOf<Activation::sigmoid> {
    static HWY_INLINE Floats value(Floats x) { return sigmoid(x); }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) { return hn::Mul(hn::NegMulAdd(y, y, y), dy); }
};
template <> struct ActivationOf<Activation::gelu> {
    static HWY_INLINE Floats value(Floats x) { return gelu(x); }
    static HWY_INLINE Floats times_slope(Floats x, Floats dy) { return hn::Mul(gelu_slope(x), dy); }
};
template <> struct ActivationOf<Activation::gelu_tanh> {
    static HWY_INLINE Floats value(Floats x) { return gelu_tanh(x); }
    static HWY_INLINE Floats times_slope(Floats x, Floats dy) { return hn::Mul(gelu_tanh_slope(x), dy); }
};

template <> struct ActivationOf<Activation::tanh> {
    static HWY_INLINE Floats value(Floats x) { return tanh_of(x); }
    static HWY_INLINE Floats times_slope(Floats y, Floats dy) {
        return hn::Mul(hn::NegMulAdd(y, y, hn::Set(FloatTag(), 1.0F)), dy);
    }
};

/// dy * f'(x) as a function of x, even if the slope is defined as a function of y.
template <Activation kActivation> HWY_INLINE Floats times_slope_at_input(Floats x, Floats dy) {
    using Function = ActivationOf<kActivation>;
    constexpr bool kNeedsResult = slope_follows_from_result(kActivation) && !is_piecewise_linear(kActivation);
    return Function::times_slope(kNeedsResult ? Function::value(x) : x, dy);
}

/// Calls call.template operator()<activation>().
template <typename Call> void with_activation(Activation activation, Call call) {
    switch (activation) {
        case Activation::none:
            return call.template operator()<Activation::none>();
        case Activation::relu:
            return call.template operator()<Activation::relu>();
        case Activation::relu6:
            return call.template operator()<Activation::relu6>();
        case Activation::swish:
            return call.template operator()<Activation::swish>();
        case Activation::sigmoid:
            return call.template operator()<Activation::sigmoid>();
        case Activation::gelu:
            return call.template operator()<Activation::gelu>();
        case Activation::gelu_tanh:
            return call.template operator()<Activation::gelu_tanh>();
        case Activation::tanh:
            return call.template operator()<Activation::tanh>();
    }
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
