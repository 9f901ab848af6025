// What the user says about the optimiser and its learning rate.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::optim {

enum class Optimiser : std::uint8_t { sgd, rmsprop, momentum, lars, adamw, lamb, nesterov };
/// As flags, configurations and logs spell them, in the enumerators' order. New ones come last: models have default learning
/// rates by place (nn/settings.h).
inline constexpr std::array<std::string_view, 7> kOptimiserNames = {"SGD",   "RMSprop", "momentum", "LARS",
                                                                    "AdamW", "LAMB",    "nesterov"};

enum class LrSchedule : std::uint8_t { stepped, cosine, exponential, polynomial, gradual };

struct LarsSettings {
    double trust_scale = 1e-3;  // --lars-eeta
    double weight_decay = 0;    // --lars-weight-decay; --weight-decay comes on top
    double epsilon = 0;
    std::vector<std::string> skip;  // variables whose name contains one: trust ratio 1, none of this weight decay
};

/// AdamW and LAMB. Their weight decay is a step of its own, not a part of the gradient.
struct AdamSettings {
    double beta1 = 0.9;    // decay of the mean of gradients
    double beta2 = 0.999;  // decay of the mean of squares
    double epsilon = 1e-6;
    bool corrects_bias = true;
    std::vector<std::string> skip = {"bias", "beta", "gamma"};  // LAMB: trust ratio 1 where a name contains one
};

struct OptimiserSettings {
    Optimiser kind = Optimiser::sgd;
    double momentum = 0.9;
    double weight_decay = 0;
    std::vector<std::string> weight_decay_exclude;  // variables whose name contains one are not decayed
    double loss_scaling = 1;
    std::optional<double> rmsprop_decay;           // of the mean square, unless
    std::optional<double> rmsprop_base_decay_exp;  // it is 1 - 2^exponent * global batch
    double rmsprop_epsilon = 1e-3;
    LarsSettings lars;
    AdamSettings adam;
    bool fp32_weight_copy = false;             // 16-bit variables are updated through 32-bit masters, which are slots
    std::vector<std::string> variable_filter;  // train only variables whose name contains one; empty: all
};

/// Members of the schedules that are not selected keep their defaults.
struct LearningRateSettings {
    LrSchedule schedule = LrSchedule::stepped;
    double base_exponent = 0.0;             // lr0 = 2^exponent * global batch, unless
    std::optional<double> absolute;         // lr0 is given
    double warmup_epochs = 0.0;             // 0 = no warm-up; gradual has its own:
    std::int64_t warmup_iterations = 0;     // weight updates from
    double warmup_start = 0.0;              // this rate to lr0
    double stepped_decay = 0.0;             // factor at each drop
    std::vector<double> stepped_fractions;  // of the run, where the drops are
    double exponential_decay_rate = 0.0;    // factor at each drop
    std::int64_t exponential_drops = 0;     // spread evenly over the epochs
    double polynomial_power = 0.0;
    double polynomial_end_ratio = 0.0;     // end lr = ratio * lr0, unless
    std::optional<double> polynomial_end;  // it is given; gradual: 0 unless given
};

/// Learning rate of the schedule's plateau for a global batch (samples per weight update of all processes).
inline double base_learning_rate(const LearningRateSettings& settings, std::int64_t global_batch) {
    if (settings.absolute) return *settings.absolute;
    return std::exp2(settings.base_exponent) * static_cast<double>(global_batch);
}

inline bool warms_up(const LearningRateSettings& settings) {
    return settings.schedule == LrSchedule::gradual ? settings.warmup_iterations > 0 : settings.warmup_epochs > 0;
}

/// Decay of RMSprop's mean square. 0 when neither it nor the exponent is given.
inline double rmsprop_decay(const OptimiserSettings& settings, std::int64_t global_batch) {
    if (settings.rmsprop_decay) return *settings.rmsprop_decay;
    if (!settings.rmsprop_base_decay_exp) return 0;
    return 1 - std::exp2(*settings.rmsprop_base_decay_exp) * static_cast<double>(global_batch);
}

}  // namespace cnntrain::optim
