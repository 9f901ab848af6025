// The optimiser as update ops of the graph.
//
// S the graph's scalar loss_scaling, by which the loss's gradient has been multiplied; L the settings' loss scaling;
// lambda weight decay; G micro-batches per update, of all replicas. SGD and momentum read g / G * L / S + lambda * L *
// w and step by lr / L, so that their slots hold gradients scaled by L whatever S is. The others, whose steps are not
// linear in the gradient, read g / (G * S) + lambda * w and step by lr; AdamW and LAMB read it without lambda, which is
// in their own rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/optim/settings.h"

namespace cnntrain::optim {

// The graph's scalars.
inline constexpr std::string_view kLearningRate = "learning_rate";
inline constexpr std::string_view kStep = "step";  // number of the update, from 1
inline constexpr std::string_view kLossScaling = "loss_scaling";
// Slots stand behind the variable's name; these are TensorFlow's.
inline constexpr std::string_view kMomentumSlot = "/Momentum";          // momentum, LARS
inline constexpr std::string_view kMeanSquareSlot = "/RMSProp";         // starts at 1
inline constexpr std::string_view kRmsPropMomentumSlot = "/RMSProp_1";  // RMSprop
inline constexpr std::string_view kMasterSlot = "/fp32";                // 32-bit master of a 16-bit variable

/// Whether the settings' loss scaling is taken out of the gradient, as it must be unless the step is linear in the
/// gradient; otherwise it is taken out of the step.
bool unscales_gradient(graph::UpdateRule rule);

/// The user's settings with those that a run adds.
struct UpdateSettings : OptimiserSettings {
    std::int64_t micro_batches = 1;  // per weight update, of all replicas and processes
    double moving_average_decay = 0.97;
    double mean_square_decay = 0.9;  // rmsprop_decay() of the run's global batch
    DType gradients = DType::f32;    // that updates read
    /// Of the optimiser's slots; empty: each like the variable that it belongs to. Below f32, it does not count for the
    /// means that AdamW and LAMB keep: those are f32 then.
    std::optional<DType> slots = {};
};

/// Parameters to train: all, or those whose name contains one of the filter's strings. Error(usage) when none does.
/// Use it for Objective::targets.
std::vector<graph::ValueId> trainable_parameters(const graph::Graph& graph, const std::vector<std::string>& filter);

/// The graph's scalar by which seeds are multiplied (graph::Objective) and which append_update() takes out again; added
/// when it is not there yet.
graph::ValueId loss_scaling(graph::Graph& graph);

/// Appends the update phase: one update op for each parameter that has a gradient, in the parameters' order and each in
/// the stage that uses it, its slots, the learning-rate scalar, and the updates of moving averages that follow a
/// statistic. A proxy (ProxyNormAttrs in graph/op.h) has proxy_norm_gradient before its update, which decays two of its
/// rows, and proxy_norm_statistics after it.
void append_update(graph::Graph& graph, const graph::Gradients& gradients, const UpdateSettings& settings);

/// A 16-bit variable that is the rounded copy of a slot.
struct Master {
    graph::ValueId parameter;
    graph::ValueId master;
};
std::vector<Master> masters(const graph::Graph& graph);

}  // namespace cnntrain::optim
