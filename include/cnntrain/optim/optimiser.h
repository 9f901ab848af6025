// The optimiser as update ops of the graph.
//
// L loss scaling, lambda weight decay, G micro-batches per update. The loss's gradient has been scaled by L; the
// update reads g / (G * replicas) + lambda * L * w and steps by lr / L.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::optim {

inline constexpr std::string_view kLearningRate = "learning_rate";  // the graph's scalar
inline constexpr std::string_view kMomentumSlot = "/Momentum";      // behind the variable's name

struct OptimiserSettings {
    config::Optimiser kind = config::Optimiser::sgd;
    double momentum = 0.9;
    double weight_decay = 0;
    std::vector<std::string> weight_decay_exclude;  // variables whose name contains one are not decayed
    double loss_scaling = 1;
    std::int64_t micro_batches = 1;  // per weight update
    std::int64_t replicas = 1;       // of all processes
    double moving_average_decay = 0.97;
};

/// A moving average of batch statistics and what it follows.
struct MovingAverage {
    graph::ValueId moving;       // state
    graph::ValueId batch_value;  // of the micro-batch
    /// Elements behind a biased variance: it is multiplied by n / max(1, n - 1). 1 for a mean: no correction.
    std::int64_t bessel_count = 1;
};

/// Parameters to train: all, or those whose name contains one of the filter's strings. Error(usage) when none does.
/// Use it for Objective::targets.
std::vector<graph::ValueId> trainable_parameters(const graph::Graph& graph, const std::vector<std::string>& filter);

/// Appends the update phase: one update op for each parameter that has a gradient, in the parameters' order and each in the
/// stage that uses it, its slots, the learning-rate scalar, and the moving averages. Error(unsupported) for an optimiser
/// that does not exist yet.
void append_update(graph::Graph& graph, const graph::Gradients& gradients, const OptimiserSettings& settings,
                   std::span<const MovingAverage> moving_averages);

}  // namespace cnntrain::optim
