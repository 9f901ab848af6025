// The optimiser as update ops of the graph.
//
// S: the graph's scalar loss_scaling, a factor of the loss's gradient; L: the settings' loss scaling; lambda: weight
// decay; G: micro-batches per update, over all replicas. SGD and momentum read g / G * L / S + lambda * L * w and step
// by lr / L, so that their slots hold gradients scaled by L for any S. The other steps are not linear in the gradient:
// they read g / (G * S) + lambda * w and step by lr. AdamW and LAMB read it without lambda, which is part of their own
// rule.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
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

/// True if the rule keeps the means of gradients and of their squares, whose settings are AdamSettings.
bool keeps_moments(graph::UpdateRule rule);

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

// The learning rate of image classification as a pure function of the iteration, so that a resumed run continues with
// the same values. BERT's is in StepRate below.
//
// The formulas are those of the original programs. The warm-up is linear from 0; the gradual schedule warms up from its
// own start rate and then falls linearly to the end of the run (gradual_warmup_then_dec of the large-batch ResNet-50
// recipe).

class LearningRate {
public:
    /// `base`: lr0, base_learning_rate(). `iterations`: T of the run; `epochs`: its length. Error(usage) if a number is
    /// out of range.
    LearningRate(const LearningRateSettings& settings, double base, std::int64_t iterations, double epochs);

    /// The rate for updates around `iteration` (0..T; HostStep::lr_iteration).
    double at(std::int64_t iteration) const;

    double warmup_iterations() const { return warmup_iterations_; }

private:
    double warmed_up(double t, double rate) const;
    double stepped(double t) const;
    double cosine(double t) const;
    double exponential(double t) const;
    double polynomial(double t) const;
    double gradual(double t) const;

    LearningRateSettings settings_;
    double base_;
    double iterations_;
    double epochs_;
    double warmup_iterations_ = 0;
    std::vector<double> drops_;  // stepped: iterations after which the rate falls
};

// The learning rate of BERT's tasks as a pure function of the update's number s, from 0, so that a resumed run
// continues with the same values. The formulas are those of the original programs.
//
// b: base rate; N: updates of the run; W: updates of the warm-up; p: powers.
//   all but custom       s <= W: b (s / W)^p[first]
//   polynomial           one power of 1: b (N - s - 1) / (N - W); else (b - m) (1 - (s - W) / (N - W))^p[last] + m
//   cosine               b (1 + cos(pi (s - W) / (N - W))) / 2
//   natural_exponential  b exp(-decay_rate floor((s - W) / decay_steps))
//   custom               the value given for the last update up to s
// Polynomial and cosine are never below m = kLowestStepRate, even in the warm-up.

inline constexpr double kLowestStepRate = 1e-7;

class StepRate {
public:
    /// `updates`: N. Error(usage) if a number is out of range.
    StepRate(const StepRateSettings& settings, std::int64_t updates);

    double at(std::int64_t update) const;

    std::int64_t warmup_updates() const { return static_cast<std::int64_t>(warmup_); }

private:
    double warmed_up(double s) const;
    double polynomial(double s) const;

    StepRateSettings settings_;
    double updates_;
    double warmup_ = 0;
};

/// The value of the last key up to `update`. Error(usage) if all keys are larger.
double value_at(const std::map<std::int64_t, double>& values, std::int64_t update);

/// Loss scaling of an update, counted from 0.
double loss_scaling_at(const OptimiserSettings& settings, std::int64_t update);

}  // namespace cnntrain::optim
