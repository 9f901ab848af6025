// The optimiser as update ops of the graph.
//
// L loss scaling, lambda weight decay, G micro-batches per update. The loss's gradient has been scaled by L. SGD and
// momentum read g / (G * replicas) + lambda * L * w and step by lr / L; RMSprop and LARS, whose steps are not linear in the
// gradient, read g / (G * replicas * L) + lambda * w and step by lr.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::optim {

inline constexpr std::string_view kLearningRate = "learning_rate";  // the graph's scalar
// Slots stand behind the variable's name; these are TensorFlow's.
inline constexpr std::string_view kMomentumSlot = "/Momentum";          // momentum, LARS
inline constexpr std::string_view kMeanSquareSlot = "/RMSProp";         // starts at 1
inline constexpr std::string_view kRmsPropMomentumSlot = "/RMSProp_1";  // RMSprop
inline constexpr std::string_view kMasterSlot = "/fp32";                // 32-bit master of a 16-bit variable

/// Whether the loss scaling is taken out of the gradient; otherwise it is taken out of the step.
bool scales_gradient(config::Optimiser kind);

struct LarsSettings {
    double trust_scale = 1e-3;  // --lars-eeta
    double weight_decay = 0;    // --lars-weight-decay; --weight-decay comes on top
    double epsilon = 0;
    std::vector<std::string> skip;  // variables whose name contains one: trust ratio 1, none of this weight decay
};

struct OptimiserSettings {
    config::Optimiser kind = config::Optimiser::sgd;
    double momentum = 0.9;
    double weight_decay = 0;
    std::vector<std::string> weight_decay_exclude;  // variables whose name contains one are not decayed
    double loss_scaling = 1;
    std::int64_t micro_batches = 1;  // per weight update
    std::int64_t replicas = 1;       // of all processes
    double moving_average_decay = 0.97;
    double rmsprop_decay = 0.9;  // of the mean square
    double rmsprop_epsilon = 1e-3;
    LarsSettings lars;
    bool fp32_weight_copy = false;  // 16-bit variables are updated through 32-bit masters, which are slots
};

/// Parameters to train: all, or those whose name contains one of the filter's strings. Error(usage) when none does.
/// Use it for Objective::targets.
std::vector<graph::ValueId> trainable_parameters(const graph::Graph& graph, const std::vector<std::string>& filter);

/// Appends the update phase: one update op for each parameter that has a gradient, in the parameters' order and each in the
/// stage that uses it, its slots, the learning-rate scalar, and the updates of moving averages that follow a statistic. A proxy (ProxyNormAttrs in graph/op.h)
/// has proxy_norm_gradient before its update, which decays two of its rows, and proxy_norm_statistics after it.
void append_update(graph::Graph& graph, const graph::Gradients& gradients, const OptimiserSettings& settings);

/// A 16-bit variable that is the rounded copy of a slot.
struct Master {
    graph::ValueId parameter;
    graph::ValueId master;
};
std::vector<Master> masters(const graph::Graph& graph);

}  // namespace cnntrain::optim
