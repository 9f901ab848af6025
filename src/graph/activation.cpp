#include "cnntrain/graph/activation.h"

#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain::graph {

namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

struct ActivationRow {
    Activation activation;
    std::string_view name;
    double (*value)(double x);
    double (*slope)(double at);  // see slope()
};

constexpr ActivationRow kRows[] = {
    {Activation::none, "none", [](double x) { return x; }, [](double /*y*/) { return 1.0; }},
    {Activation::relu, "relu", [](double x) { return x < 0 ? 0 : x; }, [](double y) { return y > 0 ? 1.0 : 0.0; }},
    // x * sigmoid(x): Ramachandran et al. 2017.
    {Activation::swish, "swish", [](double x) { return x * sigmoid(x); },
     [](double x) {
         const double s = sigmoid(x);
         return s * (1 + x * (1 - s));
     }},
    {Activation::sigmoid, "sigmoid", sigmoid, [](double y) { return y * (1 - y); }},
};

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

double slope_at_input(Activation activation, double x) {
    return slope(activation, slope_follows_from_result(activation) ? activated(activation, x) : x);
}

}  // namespace cnntrain::graph
