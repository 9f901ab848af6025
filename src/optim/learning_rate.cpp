#include "cnntrain/optim/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

double warmup_length(const LearningRateSettings& settings, double iterations, double epochs) {
    if (settings.schedule == LrSchedule::gradual) return static_cast<double>(settings.warmup_iterations);
    const double length = iterations * settings.warmup_epochs / epochs;
    // Only the exponential schedule counts parts of an iteration.
    return settings.schedule == LrSchedule::exponential ? length : std::floor(length);
}

}  // namespace

LearningRate::LearningRate(const LearningRateSettings& settings, double base, std::int64_t iterations, double epochs)
    : settings_(settings), base_(base), iterations_(static_cast<double>(iterations)), epochs_(epochs) {
    require(iterations >= 1 && epochs > 0, "a learning-rate schedule needs a run of at least one iteration");
    require(std::isfinite(base) && base >= 0, "the learning rate must be a number of at least 0");
    require(settings.warmup_epochs >= 0, "--warmup-epochs must not be negative");
    require(settings.warmup_iterations >= 0, "--warmup-iterations must not be negative");
    require(settings.warmup_start >= 0, "--warmup-start-learning-rate must not be negative");
    require(settings.schedule != LrSchedule::exponential || settings.exponential_drops >= 1,
            "--lr-schedule exponential needs --lr-drops of at least 1");
    warmup_iterations_ = warmup_length(settings, iterations_, epochs);
    for (const double fraction : settings.stepped_fractions)
        drops_.push_back(std::floor(fraction * iterations_));
}

double LearningRate::at(std::int64_t iteration) const {
    const auto t = static_cast<double>(iteration);
    switch (settings_.schedule) {
        case LrSchedule::stepped:
            return warmed_up(t, stepped(t));
        case LrSchedule::cosine:
            return warmed_up(t, cosine(t));
        case LrSchedule::exponential:
            return warmed_up(t, exponential(t));
        case LrSchedule::polynomial:
            return polynomial(std::min(t, iterations_));
        case LrSchedule::gradual:
            return gradual(t);
    }
    fail_check("a known schedule", "unknown learning-rate schedule", __FILE__, __LINE__);
}

double LearningRate::warmed_up(double t, double rate) const {
    return t < warmup_iterations_ ? t * rate / warmup_iterations_ : rate;
}

double LearningRate::stepped(double t) const {
    const auto passed = std::ranges::count_if(drops_, [&](double drop) { return t > drop; });
    return base_ * std::pow(settings_.stepped_decay, static_cast<double>(passed));
}

double LearningRate::cosine(double t) const {
    return 0.5 * base_ * (1 + std::cos(std::numbers::pi * t / iterations_));
}

double LearningRate::exponential(double t) const {
    const double epoch = t * epochs_ / iterations_;
    const double drops = std::floor(epoch * static_cast<double>(settings_.exponential_drops) / epochs_);
    return base_ * std::pow(settings_.exponential_decay_rate, drops);
}

double LearningRate::polynomial(double t) const {
    const double warmup = warmup_iterations_;
    if (warmup > 0 && t <= warmup) return t * base_ / warmup;
    const double end = settings_.polynomial_end.value_or(settings_.polynomial_end_ratio * base_);
    const double left = 1 - (t - warmup) / (iterations_ - warmup);
    return (base_ - end) * std::pow(left, settings_.polynomial_power) + end;
}

double LearningRate::gradual(double t) const {
    const double warmup = warmup_iterations_;
    if (t < warmup) return settings_.warmup_start + (base_ - settings_.warmup_start) * t / warmup;
    const double end = settings_.polynomial_end.value_or(0);
    if (t >= iterations_) return end;
    return base_ - (base_ - end) * (t - warmup) / (iterations_ - warmup);
}

}  // namespace cnntrain::optim
