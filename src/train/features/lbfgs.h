// Minimises a smooth function by L-BFGS (limited-memory BFGS) with a line search for the weak Wolfe conditions.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace cnntrain::train {

/// Returns the value at `at` and writes the gradient there.
using SmoothFunction = std::function<double(std::span<const double> at, std::span<double> gradient)>;

struct MinimiseSettings {
    double gradient_tolerance = 1e-5;           // converged: no element of the gradient is larger,
    double value_tolerance = 1e-7;              // or ten iterations lower the value by less than this share of it
    int most_iterations = 1000;                 // each evaluates the function about once
    std::function<bool()> stop_requested = {};  // called once an iteration; empty: never stops
};

struct Minimum {
    std::vector<double> at;
    double value = 0;
    int iterations = 0;
    bool converged = false;
};

/// Throws Interrupted if a stop is requested.
Minimum minimise(const SmoothFunction& function, std::vector<double> start, const MinimiseSettings& settings);

}  // namespace cnntrain::train
