// Activation functions y = f(x), element by element: their names, values and slopes.
//
// The table in op.cpp defines each in float64. Fast kernels have their own formulas in exhaustive switches.
#pragma once

#include <string_view>

#include "cnntrain/graph/settings.h"

namespace cnntrain::graph {

/// "relu", as graphs are printed.
std::string_view name(Activation activation);

/// f(x); NaN stays NaN.
double activated(Activation activation, double x);

/// True for activations that only compare. Computing one again costs less than keeping its result, and its slope is the
/// same function of x as of y.
constexpr bool is_piecewise_linear(Activation activation) {
    return activation == Activation::none || activation == Activation::relu || activation == Activation::relu6;
}

/// True if the slope is a function of y alone: backward then reads y instead of x. Decides the argument of slope() and
/// of the kernels' times_slope().
constexpr bool slope_follows_from_result(Activation activation) {
    return is_piecewise_linear(activation) || activation == Activation::sigmoid || activation == Activation::tanh;
}

/// f'(x). `at` is y where slope_follows_from_result(), else x.
double slope(Activation activation, double at);

/// Floating-point operations of one value, and of one gradient times its slope.
struct ActivationFlops {
    int value = 0;
    int gradient = 0;
};
ActivationFlops flops(Activation activation);

/// f'(x) from x.
double slope_at_input(Activation activation, double x);

}  // namespace cnntrain::graph
