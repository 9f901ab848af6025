// Rows with easily recognised numbers.
#pragma once

#include <utility>
#include <vector>

#include "cnntrain/run/rows.h"

namespace cnntrain::metrics::testing {

inline TrainingRow training_row() {
    return {.step = 97,
            .iteration = 194,
            .epoch = 0.12416,
            .lr = 0.5,
            .results = {{1.5, 1.7254123456789012}, {40, 36.4321}},
            .it_time = 0.0123456789,
            .samples_per_second = 2592.0000235,
            .total_time = 12.34};
}

/// `results`: one for each of the task's columns.
inline ValidationRow validation_row(std::vector<double> results) {
    return {.name = "ckpt-15625",
            .iteration = 15625,
            .epoch = 10,
            .results = std::move(results),
            .val_time = 1.25,
            .val_size = 10000,
            .samples_per_second = 8000,
            .latency = -1};
}

}  // namespace cnntrain::metrics::testing
