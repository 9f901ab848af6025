#include "cnntrain/graph/op.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/activation.h"

namespace cnntrain::graph {

Padding same_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride) {
    const auto total = [&](std::int64_t in) {
        const std::int64_t out = (in + stride - 1) / stride;
        return std::max<std::int64_t>((out - 1) * stride + kernel - in, 0);
    };
    const std::int64_t rows = total(height);
    const std::int64_t columns = total(width);
    return {.top = rows / 2, .bottom = rows - rows / 2, .left = columns / 2, .right = columns - columns / 2};
}

Padding symmetric_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t before = (kernel - 1) / 2;
    const auto behind = [&](std::int64_t in) {
        const std::int64_t out = (in + stride - 1) / stride;
        return std::max<std::int64_t>((out - 1) * stride + kernel - in - before, 0);
    };
    return {.top = before, .bottom = behind(height), .left = before, .right = behind(width)};
}

Operand OpDef::input(std::size_t index) const {
    return inputs.empty() ? Operand{} : inputs[std::min(index, inputs.size() - 1)];
}

Layout OpDef::result(std::size_t index) const {
    return results.empty() ? Layout::plain : results[std::min(index, results.size() - 1)];
}

std::vector<std::size_t> OpDef::overwritten_inputs(std::size_t input_count) const {
    std::vector<std::size_t> overwritten;
    for (std::size_t i = 0; i < input_count; ++i) {
        const Use use = input(i).use;
        if (use == Use::target || use == Use::slot) overwritten.push_back(i);
    }
    return overwritten;
}

std::optional<std::size_t> OpDef::input_used_as(Use use) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].use == use) return i;
    }
    return std::nullopt;
}

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
    // min(max(x, 0), 6): Krizhevsky 2010.
    {Activation::relu6,
     "relu6",
     [](double x) { return x < 0   ? 0
                           : x > 6 ? 6
                                   : x; },
     [](double y) { return y > 0 && y < 6 ? 1.0 : 0.0; },
     {2, 2}},
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
