// Nearest neighbours of samples in feature space, by the cosine of the angle between centred features.
#pragma once

#include <cstdint>
#include <vector>

#include "run/features/linear_head.h"

namespace cnntrain::run {

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
