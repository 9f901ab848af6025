// Activation functions and their slopes on vectors of float.
#if defined(CNNTRAIN_CPU_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_ACTIVATION_INL_H_
#undef CNNTRAIN_CPU_ACTIVATION_INL_H_
#else
#define CNNTRAIN_CPU_ACTIVATION_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// 1 / (1 + exp(-x)); 1 for NaN, so that only what multiplies it keeps NaN.
HWY_INLINE Floats sigmoid_of_number(Floats x) {
    const FloatTag d;
    // exp() of more would overflow; the result is 0 to fp32 long before. The approximation takes one Newton step.
    const Floats exponential = hn::Exp(d, hn::Min(hn::Neg(x), hn::Set(d, 80.0F)));
    const Floats sum = hn::Add(exponential, hn::Set(d, 1.0F));
    const Floats inverse = hn::ApproximateReciprocal(sum);
    return hn::Mul(inverse, hn::NegMulAdd(sum, inverse, hn::Set(d, 2.0F)));
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

template <Activation kActivation> HWY_INLINE Floats activated(Floats x) {
    if constexpr (kActivation == Activation::relu) return positive_part(x);
    if constexpr (kActivation == Activation::swish) return swish(x);
    return x;
}

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
