// The learning rate of BERT's tasks as a pure function of the update's number s, the first of which is 0, so that a
// resumed run continues with the same values. The formulas are those of the original programs. Image classification
// has others, in learning_rate.h.
//
// b base rate, N updates of the run, W of them warm-up, p powers:
//   all but custom       s <= W: b (s / W)^p[first]
//   polynomial           one power of 1: b (N - s - 1) / (N - W); else (b - m) (1 - (s - W) / (N - W))^p[last] + m
//   cosine               b (1 + cos(pi (s - W) / (N - W))) / 2
//   natural_exponential  b exp(-decay_rate floor((s - W) / decay_steps))
//   custom               the value of the last given update that is not after s
// Polynomial and cosine never fall below m = kLowestStepRate, in the warm-up neither.
#pragma once

#include <cstdint>
#include <map>

#include "cnntrain/optim/settings.h"

namespace cnntrain::optim {

inline constexpr double kLowestStepRate = 1e-7;

class StepRate {
public:
    /// `updates`: N. Error(usage) when a number is out of range.
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

/// The value of the last key that is not after `update`. Error(usage) when all are.
double value_at(const std::map<std::int64_t, double>& values, std::int64_t update);

/// Loss scaling of an update, the first of which is 0.
double loss_scaling_at(const OptimiserSettings& settings, std::int64_t update);

}  // namespace cnntrain::optim
