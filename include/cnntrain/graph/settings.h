// The closed sets of the graph that settings choose from. activation.h and update_rule.h say what each member computes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cnntrain/base/enumerators.h"

namespace cnntrain::graph {

enum class Activation : std::uint8_t { none, relu, swish, sigmoid, gelu, gelu_tanh, tanh };

/// All activations, for tests. activation.cpp has one row for each.
inline constexpr std::array kActivations = {Activation::none,    Activation::relu, Activation::swish,
                                            Activation::sigmoid, Activation::gelu, Activation::gelu_tanh,
                                            Activation::tanh};
static_assert(kActivations.size() == enumerator_count<Activation>());

/// What an optimiser does to a variable. In the order in which help lists optimisers.
enum class UpdateRule : std::uint8_t { sgd, rmsprop, momentum, lars, adamw, lamb, nesterov };
/// The optimisers' names as flags, configurations and logs spell them, in the enumerators' order. Printed
/// graphs have the names in update_rule.h.
inline constexpr std::array<std::string_view, 7> kOptimiserNames = {"SGD",   "RMSprop", "momentum", "LARS",
                                                                    "AdamW", "LAMB",    "nesterov"};
static_assert(kOptimiserNames.size() == enumerator_count<UpdateRule>());

}  // namespace cnntrain::graph
