// From a forward graph to one whole weight update.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/optim/optimiser.h"

namespace cnntrain::train {

/// Of batch norms' statistics, where a network has some.
inline constexpr double kMovingAverageDecay = 0.97;

/// An output that is a part of the loss: what is minimised is the sum of all, each divided so.
struct LossTerm {
    std::string_view output;
    double divisor = 1;
};

/// The whole weight update of a forward graph, as the settings ask: loss scaling, recomputation, gradients, optimiser,
/// moving averages; with the passes that the backend wants. The loss scaling is a scalar of the graph.
graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);
/// `loss`: name of the output that is summed over a micro-batch's samples.
graph::Graph with_update(graph::Graph forward, std::string_view loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);

/// The optimiser's settings, for the run's batches.
optim::UpdateSettings update_settings(const config::Settings& settings, const backend::Backend& backend,
                                      double moving_average_decay = kMovingAverageDecay);

/// Every variable of a graph by name: what its checkpoint must hold.
std::map<std::string, TensorDesc> variables(const graph::Graph& graph);
/// --force-weight-to-fp16 and --force-weight-to-fp32 match parts of names; one that matches nothing is likely a slip.
void warn_of_idle_filters(const graph::Graph& graph, const nn::PrecisionSettings& settings);

}  // namespace cnntrain::train
