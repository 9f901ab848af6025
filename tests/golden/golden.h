// Runs a network on a backend and compares it with the numbers that the generator has written down.
#pragma once

#include <cstddef>
#include <string>

#include "cnntrain/backend/backend.h"

namespace cnntrain::golden {

struct Tolerances {
    double loss = 1e-5;      // relative
    double gradient = 1e-4;  // relative to the gradient's Euclidean norm, also per element
    /// Parameters and moving averages after the last step, relative to their norm: rounding grows from step to step, in
    /// another way for each number of threads and instruction set.
    double variable = 5e-5;
};

struct RunSettings {
    double loss_scaling = 1;  // a power of two must not change a bit
    Tolerances tolerances;
    std::size_t most_steps = SIZE_MAX;  // fewer than the file has: its last variables are not compared
};

/// Trains the steps of the file and compares losses, the gradients of step 1 and the last variables with
/// tests/golden/<name>.json.
void compare_with_golden(const std::string& name, const backend::Backend& backend, const RunSettings& settings);

}  // namespace cnntrain::golden
