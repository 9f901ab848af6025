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
#pragma once

#include <cstdint>
#include <map>

#include "cnntrain/optim/settings.h"

namespace cnntrain::optim {

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
