// From values to places in a chart, and round numbers for its axes.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cnntrain/base/text.h"

namespace cnntrain::report {

/// Maps [low, high] to [from, to].
struct Scale {
    double low = 0, high = 1;
    double from = 0, to = 1;

    double operator()(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// The step between round numbers, 1, 2 or 5 times a power of ten, of which about `count` fit into a range.
inline double round_step(double range, int count) {
    const double rough = range / count;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double factor = rough / power;
    return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/// The round numbers in a range.
inline std::vector<double> round_numbers(double low, double high, int count) {
    const double step = round_step(high - low, count);
    std::vector<double> numbers;
    for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i)
        numbers.push_back(i * step);
    return numbers;
}

inline std::string place_text(double place) {
    return formatted("%.1f", place);
}

/// A number of an axis: "0.05", "1e-05", "2000".
inline std::string axis_text(double value) {
    return std::fabs(value) < 1e-12 ? "0" : formatted("%.4g", value);
}

}  // namespace cnntrain::report
