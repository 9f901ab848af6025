// Activation functions y = f(x), element by element: their names, values and slopes.
//
// A row of the table in activation.cpp defines one for every evaluator that is not built for speed; fast kernels have their
// own (exhaustive) list.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cnntrain::graph {

enum class Activation : std::uint8_t { none, relu, swish, sigmoid };

inline constexpr std::array kActivations = {Activation::none, Activation::relu, Activation::swish, Activation::sigmoid};

/// "relu", as graphs are printed.
std::string_view name(Activation activation);

/// f(x); NaN stays NaN.
double activated(Activation activation, double x);

/// Whether the slope is a function of y alone: backward then reads y, and x need not be kept.
constexpr bool slope_follows_from_result(Activation activation) {
    return activation == Activation::none || activation == Activation::relu || activation == Activation::sigmoid;
}

/// f'(x). `at` is y where slope_follows_from_result(), else x.
double slope(Activation activation, double at);

/// f'(x) from x.
double slope_at_input(Activation activation, double x);

}  // namespace cnntrain::graph
