// Settings of the optimiser and its learning rate.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/settings.h"

namespace cnntrain::optim {

/// Schedules of image classification, by iterations and epochs (learning_rate.h). StepSchedule below has those of BERT:
/// cosine and polynomial of both names follow different formulas, each as the original program of its task.
enum class LrSchedule : std::uint8_t { stepped, cosine, exponential, polynomial, gradual };

struct LarsSettings {
    double trust_scale = 1e-3;  // --lars-eeta
    double weight_decay = 0;    // --lars-weight-decay; --weight-decay comes on top
    double epsilon = 0;
    std::vector<std::string> skip;  // variables whose name contains one: trust ratio 1, none of this weight decay
};

/// AdamW and LAMB. Their weight decay is decoupled from the gradient.
struct AdamSettings {
    double beta1 = 0.9;    // decay of the mean of gradients
    double beta2 = 0.999;  // decay of the mean of squares
    double epsilon = 1e-6;
    bool corrects_bias = true;
    /// Bias correction multiplies the whole step, decay included, instead of the means, and is one update ahead.
    bool corrects_step = false;
    std::vector<std::string> skip = {"bias", "beta", "gamma"};  // LAMB: trust ratio 1 where a name contains one
    /// LAMB: a variable whose name contains one is queries, keys and values side by side, each with a trust ratio of
    /// its own.
    std::vector<std::string> column_blocks = {"qkv"};
};

/// What the norm of all gradients of an update together does to them, before any other rule. The gradients are those
/// that the rule reads, without loss scaling.
enum class GradientNorm : std::uint8_t {
    ignored,
    limited,         // to `gradient_norm_limit`
    divides,         // if it is above 1 (LAMB of You et al. 2020 as NVIDIA trains BERT)
    limits_divides,  // the first, then the second
};

struct OptimiserSettings {
    graph::UpdateRule rule = graph::UpdateRule::sgd;
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
    bool adds_micro_batches = false;           // gradients of micro-batches are added instead of averaged
    GradientNorm gradient_norm = GradientNorm::ignored;
    double gradient_norm_limit = 1;
    /// Loss scaling from an update on (0 is the first); empty: `loss_scaling`. It keeps small gradients within the
    /// range of 16-bit types, and updates divide it out again, so that results depend on it by rounding alone; in bf16
    /// and f32, a power of two leaves every bit of an update.
    std::map<std::int64_t, double> loss_scaling_by_step;
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

/// Schedules of BERT's tasks, by the number of the update, the first of which is 0 (step_rate.h). LrSchedule above has
/// those of image classification: its cosine begins with the run and not after the warm-up, its polynomial falls to an
/// end rate of the user's and not to kLowestStepRate.
enum class StepSchedule : std::uint8_t { custom, natural_exponential, polynomial, cosine };
/// As flags and configurations spell them, in the enumerators' order.
inline constexpr std::array<std::string_view, 4> kStepScheduleNames = {"custom", "natural_exponential",
                                                                       "polynomial_decay", "cosine_decay"};

struct StepRateSettings {
    StepSchedule schedule = StepSchedule::polynomial;
    double base = 2e-5;                     // at the end of the warm-up
    std::vector<double> powers = {1};       // of the warm-up (the first) and of the decay (the last)
    double warmup = 0.1;                    // updates, or below 1 the share of the run
    std::map<std::int64_t, double> values;  // custom: the rate from an update on
    std::int64_t decay_steps = 1;           // natural_exponential: updates between drops by
    double decay_rate = 0;                  // exp(-decay_rate)
};

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
