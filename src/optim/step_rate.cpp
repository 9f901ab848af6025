#include "cnntrain/optim/step_rate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

void require_line(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

double warmup_length(const StepRateSettings& settings, double updates) {
    const double asked = settings.warmup;
    require_line(std::isfinite(asked) && asked >= 0, "--warmup must be a number of at least 0");
    if (asked < 1) return std::floor(updates * asked);
    require_line(asked == std::floor(asked), "--warmup must be a whole number of steps, or a share below 1");
    return asked;
}

}  // namespace

StepRate::StepRate(const StepRateSettings& settings, std::int64_t updates)
    : settings_(settings), updates_(static_cast<double>(updates)) {
    require_line(updates >= 0, "a learning-rate schedule needs a run of at least 0 steps");
    require_line(std::isfinite(settings.base) && settings.base >= 0,
                 "the learning rate must be a number of at least 0");
    require_line(!settings.powers.empty(), "--lr-power needs a number");
    require_line(settings.decay_steps >= 1, "--decay-steps must be at least 1");
    const bool custom = settings.schedule == StepSchedule::custom;
    require_line(!custom || !settings.values.empty(), "--lr-schedule custom needs --lr-schedule-by-step");
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
    require_line(next != values.begin(),
                 "there is no value for step " + std::to_string(update) + "; begin with step 0");
    return std::prev(next)->second;
}

double loss_scaling_at(const OptimiserSettings& settings, std::int64_t update) {
    if (settings.loss_scaling_by_step.empty()) return settings.loss_scaling;
    return value_at(settings.loss_scaling_by_step, update);
}

}  // namespace cnntrain::optim
