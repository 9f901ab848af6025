// Order statistics: how far the largest of several random numbers lies above their mean. Pure numbers.
#pragma once

#include <cstdint>
#include <span>

namespace cnntrain::plan {

/// Expected maximum of `count` independent standard normal variables (David and Nagaraja 2003, "Order Statistics",
/// section 3.1): 0 for 1, 0.56 for 2, 1.03 for 4, 3.04 for 512. `count` is at least 1.
double expected_maximum(std::int64_t count);

/// Standard deviation of the numbers over their mean, estimated from these samples; 0 for fewer than 2. The mean is
/// positive.
double relative_deviation(std::span<const double> numbers);

}  // namespace cnntrain::plan
