// The standard normal distribution, without random numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace cnntrain {

/// The z that a standard normal variable stays below with probability p = sqrt(2) * erfinv(2 * p - 1); 0 < p < 1.
double normal_quantile(double p);

/// The quantiles of (i + 0.5) / count, i = 0 ... count - 1: a sample that stands for the distribution.
std::vector<double> normal_quantiles(std::int64_t count);

}  // namespace cnntrain
