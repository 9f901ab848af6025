#include "cnntrain/graph/activation.h"

#include <cmath>
#include <iterator>
#include <numbers>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::graph {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

/// GELU's approximation by tanh is x * sigmoid(2 * inner(x)), because (1 + tanh(u)) / 2 = sigmoid(2 * u).
double gelu_inner(double x) {
    return std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

struct ActivationRow {
    Activation activation;
    std::string_view name;
    double (*value)(double x);
    double (*slope)(double at);  // see slope()
    ActivationFlops flops;
};

constexpr ActivationRow kRows[] = {
    {Activation::none, "none", [](double x) { return x; }, [](double /*y*/) { return 1.0; }, {}},
    {Activation::relu,
     "relu",
     [](double x) { return x < 0 ? 0 : x; },
     [](double y) { return y > 0 ? 1.0 : 0.0; },
     {1, 1}},
    // x * sigmoid(x): Ramachandran et al. 2017.
    {Activation::swish,
     "swish",
     [](double x) { return x * sigmoid(x); },
     [](double x) {
         const double s = sigmoid(x);
         return s * (1 + x * (1 - s));
     },
     {4, 7}},
    // x times the normal distribution function at x: Hendrycks and Gimpel 2016.
    {Activation::gelu,
     "gelu",
     [](double x) { return x / 2 * std::erfc(-x / std::numbers::sqrt2); },
     [](double x) {
         const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
         return std::erfc(-x / std::numbers::sqrt2) / 2 + x * density;
     },
     {20, 25}},
    {Activation::gelu_tanh,
     "gelu_tanh",
     [](double x) { return x * sigmoid(2 * gelu_inner(x)); },
     [](double x) {
         const double s = sigmoid(2 * gelu_inner(x));
         const double inner_slope = std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
         return s + x * s * (1 - s) * 2 * inner_slope;
     },
     {9, 14}},
    {Activation::sigmoid, "sigmoid", sigmoid, [](double y) { return y * (1 - y); }, {3, 3}},
    {Activation::tanh, "tanh", [](double x) { return std::tanh(x); }, [](double y) { return 1 - y * y; }, {5, 3}},
};

static_assert(std::size(kRows) == enumerator_count<Activation>());

const ActivationRow& row_of(Activation activation) {
    for (const ActivationRow& row : kRows) {
        if (row.activation == activation) return row;
    }
    throw Error(ErrorKind::internal, "no row for activation " + std::to_string(static_cast<int>(activation)));
}

}  // namespace

std::string_view name(Activation activation) {
    return row_of(activation).name;
}

double activated(Activation activation, double x) {
    return row_of(activation).value(x);
}

double slope(Activation activation, double at) {
    return row_of(activation).slope(at);
}

ActivationFlops flops(Activation activation) {
    return row_of(activation).flops;
}

double slope_at_input(Activation activation, double x) {
    return slope(activation, slope_follows_from_result(activation) ? activated(activation, x) : x);
}

}  // namespace cnntrain::graph
