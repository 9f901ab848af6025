// The optimiser as update ops of the graph.
//
// S: the graph's scalar loss_scaling, a factor of the loss's gradient; L: the settings' loss scaling; lambda: weight
// decay; G: micro-batches per update, over all replicas. SGD and momentum read g / G * L / S + lambda * L * w and step
// by lr / L, so that their slots hold gradients scaled by L for any S. The other steps are not linear in the gradient:
// they read g / (G * S) + lambda * w and step by lr. AdamW and LAMB read it without lambda, which is part of their own
// rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::optim {

// The graph's scalars.
inline constexpr std::string_view kLearningRate = "learning_rate";
inline constexpr std::string_view kStep = "step";  // number of the update, from 1
inline constexpr std::string_view kLossScaling = "loss_scaling";
// Names of slots, appended to the name of the variable; they are TensorFlow's.
inline constexpr std::string_view kMomentumSlot = "/Momentum";          // momentum, LARS
inline constexpr std::string_view kMeanSquareSlot = "/RMSProp";         // starts at 1
inline constexpr std::string_view kRmsPropMomentumSlot = "/RMSProp_1";  // RMSprop
inline constexpr std::string_view kMasterSlot = "/fp32";                // 32-bit master of a 16-bit variable

/// True if the gradient is divided by the settings' loss scaling, because the step is not linear in the gradient;
/// otherwise the step is divided.
bool unscales_gradient(graph::UpdateRule rule);

/// The user's settings with those that a run adds.
struct UpdateSettings : OptimiserSettings {
    std::int64_t micro_batches = 1;  // per weight update, over all replicas and processes
    double moving_average_decay = 0.97;
    double mean_square_decay = 0.9;               // rmsprop_decay() of the run's global batch
    std::optional<DType> gradients = DType::f32;  // type of gradients in updates; empty: that of their variable
    /// Type of the optimiser's slots; empty: the type of their variable. A type below f32 does not apply to the means
    /// of AdamW and LAMB, which are f32 then.
    std::optional<DType> slots = {};
    bool f32_means = false;  // those of AdamW and LAMB, whatever the type of slots
};

/// Parameters to train, for Objective::targets: all, or those whose name contains one of the strings of
/// `variable_filter`, without those that a pattern of `freeze` matches. Error(usage) if none is left, and if a pattern
/// matches no variable of the graph (naming some that are near).
std::vector<graph::ValueId> trainable_parameters(const graph::Graph& graph, const OptimiserSettings& settings);

/// The graph's loss-scaling scalar: seeds are multiplied by it (graph::Objective), and append_update() divides by it.
/// Added if the graph does not have it yet.
graph::ValueId loss_scaling(graph::Graph& graph);

/// Appends the update phase: one update op for each parameter with a gradient, in the parameters' order and in the
/// stage that uses the parameter; the slots, the learning-rate scalar, and the updates of moving averages of
/// statistics. A proxy (ProxyNormAttrs in graph/op.h) has proxy_norm_gradient before its update, which decays two of
/// its rows, and proxy_norm_statistics after it.
void append_update(graph::Graph& graph, const graph::Gradients& gradients, const UpdateSettings& settings);

/// A 16-bit variable and the slot of which it is a rounded copy.
struct Master {
    graph::ValueId parameter;
    graph::ValueId master;
};
std::vector<Master> masters(const graph::Graph& graph);

}  // namespace cnntrain::optim
