// First values of parameters and states.
#pragma once

#include <cstdint>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::nn {

/// Draws a parameter or state from its initialiser, in its own type. The numbers depend on the seed and the variable's
/// name only, never on the order or number of variables.
HostTensor initial_value(const graph::Value& variable, std::uint64_t seed);

}  // namespace cnntrain::nn
