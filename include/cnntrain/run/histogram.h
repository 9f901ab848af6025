// Distribution of the elements of a tensor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::metrics {

inline constexpr std::int64_t kHistogramBins = 512;

/// Bins of equal width from the least to the greatest element, or 0.5 to each side if these are equal. The last bin
/// includes its upper limit.
struct Histogram {
    double least = 0;
    double most = 0;
    double sum = 0;
    double sum_of_squares = 0;
    std::vector<double> limits;        // upper limit of each bin
    std::vector<std::int64_t> counts;  // count of each bin

    std::int64_t elements() const;
    /// Euclidean norm.
    double norm() const;
};

/// The histogram of the elements as 32-bit floats. Empty if there are no elements, or if any is not finite.
std::optional<Histogram> histogram_of(const HostTensor& tensor);

/// The distribution of a variable after a weight update.
struct Distribution {
    std::int64_t iteration = 0;
    std::string name;
    Histogram histogram;
};

}  // namespace cnntrain::metrics
