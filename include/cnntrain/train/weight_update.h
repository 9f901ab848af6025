// Extends a forward graph to a whole weight update.
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

/// Decay of batch norm's running statistics, in networks that have them.
inline constexpr double kMovingAverageDecay = 0.97;

/// An output that is a term of the loss. Training minimises the sum of all terms, each divided by its divisor.
struct LossTerm {
    std::string_view output;
    double divisor = 1;
};

/// Adds a whole weight update to a forward graph, as the settings ask: loss scaling, recomputation, gradients,
/// optimiser, moving averages, and the rewrites that the backend wants. The loss scale is a scalar input of the
/// graph.
graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);
/// `loss`: name of the output that is summed over a micro-batch's samples.
graph::Graph with_update(graph::Graph forward, std::string_view loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay = kMovingAverageDecay);

/// The optimiser's settings for the run's batches.
optim::UpdateSettings update_settings(const config::Settings& settings, const backend::Backend& backend,
                                      double moving_average_decay = kMovingAverageDecay);

/// All variables of a graph by name: the contents of its checkpoint.
std::map<std::string, TensorDesc> variables(const graph::Graph& graph);
/// Warns if --force-weight-to-fp16 or --force-weight-to-fp32, which match parts of names, matches no variable; that is
/// probably a typing error.
void warn_of_idle_filters(const graph::Graph& graph, const nn::PrecisionSettings& settings);

}  // namespace cnntrain::train
