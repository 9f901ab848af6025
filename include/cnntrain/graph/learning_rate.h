// The learning rate of image classification as a pure function of the iteration, so that a resumed run continues with
// the same values. BERT's is in StepRate below.
//
// The formulas are those of the original programs. The warm-up is linear from 0; the gradual schedule warms up from its
// own start rate and then falls linearly to the end of the run (gradual_warmup_then_dec of the large-batch ResNet-50
// recipe).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "cnntrain/graph/settings.h"

namespace cnntrain::optim {

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
// continues with the same values. The formulas are those of the original programs. learning_rate.h has those of image
// classification.
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
