// Nearest neighbours of samples in feature space, by the cosine of the angle between centred features.
#pragma once

#include <cstdint>
#include <vector>

#include "run/features/linear_head.h"

namespace cnntrain::run {

// Products of rows of floats. A result does not depend on how rows are divided into calls.

/// out[r * columns + c] = sum over k of a[r * width + k] * b[c * width + k].
void dot_rows(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out);

/// sums[c * width + k] += sum over r of factors[r * columns + c] * a[r * width + k], r in order.
void add_weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, float* sums);

/// Subtracts the mean of `of` from each row, and scales the row to length 1. A row of zeros stays one.
struct Directions {
    std::vector<float> mean;

    explicit Directions(const FeatureRows& of);
    void apply(FeatureRows& rows) const;
};

struct Neighbour {
    std::int64_t row = 0;
    float cosine = 0;
};

/// The `count` nearest rows of `among` for each row of `rows`, nearest first; equally near ones by number. Rows have
/// length 1. `leave_out_itself`: both are the same rows, and a row is not its own neighbour.
std::vector<std::vector<Neighbour>> nearest(const FeatureRows& rows, const FeatureRows& among, std::size_t count,
                                            bool leave_out_itself, int threads);

}  // namespace cnntrain::run
