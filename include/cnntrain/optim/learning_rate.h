// The learning rate of image classification as a pure function of the iteration, so that a resumed run continues with
// the same values. BERT's is in step_rate.h.
//
// The formulas are those of the original programs. The warm-up is linear from 0; the gradual schedule warms up from its
// own start rate and then falls linearly to the end of the run (gradual_warmup_then_dec of the large-batch ResNet-50
// recipe).
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/optim/settings.h"

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

}  // namespace cnntrain::optim
