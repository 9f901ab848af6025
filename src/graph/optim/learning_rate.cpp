#include "cnntrain/graph/optimiser.h"

#include <algorithm>
#include <cmath>
#include <iterator>
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

namespace {

double warmup_length(const StepRateSettings& settings, double updates) {
    const double asked = settings.warmup;
    require(std::isfinite(asked) && asked >= 0, "--warmup must be a number of at least 0");
    if (asked < 1) return std::floor(updates * asked);
    require(asked == std::floor(asked), "--warmup must be a whole number of steps, or a share below 1");
    return asked;
}

}  // namespace

StepRate::StepRate(const StepRateSettings& settings, std::int64_t updates)
    : settings_(settings), updates_(static_cast<double>(updates)) {
    require(updates >= 0, "a learning-rate schedule needs a run of at least 0 steps");
    require(std::isfinite(settings.base) && settings.base >= 0, "the learning rate must be a number of at least 0");
    require(!settings.powers.empty(), "--lr-power needs a number");
    require(settings.decay_steps >= 1, "--decay-steps must be at least 1");
    const bool custom = settings.schedule == StepSchedule::custom;
    require(!custom || !settings.values.empty(), "--lr-schedule custom needs --lr-schedule-by-step");
    warmup_ = warmup_length(settings, updates_);
}

double StepRate::at(std::int64_t update) const {
    const auto s = static_cast<double>(update);
    const bool warming_up = warmup_ > 0 && s <= warmup_;
    switch (settings_.schedule) {
        case StepSchedule::custom:
            return value_at(settings_.values, update);
        case StepSchedule::natural_exponential: {
            if (warming_up) return settings_.base * s / warmup_;
            const double drops = std::floor((s - warmup_) / static_cast<double>(settings_.decay_steps));
            return settings_.base * std::exp(-settings_.decay_rate * drops);
        }
        case StepSchedule::polynomial:
            return std::max(kLowestStepRate, warming_up ? warmed_up(s) : polynomial(s));
        case StepSchedule::cosine: {
            const double done = (s - warmup_) / (updates_ - warmup_);
            const double falling = 0.5 * settings_.base * (1 + std::cos(std::numbers::pi * done));
            return std::max(kLowestStepRate, warming_up ? warmed_up(s) : falling);
        }
    }
    fail_check("a known schedule", "unknown learning-rate schedule", __FILE__, __LINE__);
}

double StepRate::warmed_up(double s) const {
    return settings_.base * std::pow(s, settings_.powers.front()) / std::pow(warmup_, settings_.powers.front());
}

double StepRate::polynomial(double s) const {
    const double decaying = updates_ - warmup_;
    const bool linear = settings_.powers.size() == 1 && settings_.powers.front() == 1;
    if (linear) return settings_.base * (updates_ - s - 1) / decaying;
    const double left = 1 - (s - warmup_) / decaying;
    return (settings_.base - kLowestStepRate) * std::pow(left, settings_.powers.back()) + kLowestStepRate;
}

double value_at(const std::map<std::int64_t, double>& values, std::int64_t update) {
    const auto next = values.upper_bound(update);
    require(next != values.begin(), "there is no value for step " + std::to_string(update) + "; begin with step 0");
    return std::prev(next)->second;
}

double loss_scaling_at(const OptimiserSettings& settings, std::int64_t update) {
    if (settings.loss_scaling_by_step.empty()) return settings.loss_scaling;
    return value_at(settings.loss_scaling_by_step, update);
}

}  // namespace cnntrain::optim
