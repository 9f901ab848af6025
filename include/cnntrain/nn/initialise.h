// First values of variables.
#pragma once

#include <cstdint>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::nn {

/// End of the names of moving averages of variances, which are never below 0.
inline constexpr std::string_view kMovingVariance = "/moving_variance";

/// Draws a variable from its initialiser, in its own type. The numbers depend on the seed and the variable's
/// name only, never on the order or number of variables.
HostTensor initial_value(const graph::Value& variable, std::uint64_t seed);

}  // namespace cnntrain::nn
