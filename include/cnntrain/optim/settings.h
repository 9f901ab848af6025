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

/// Schedules of image classification, by iterations and epochs (learning_rate.h). StepSchedule below has those of BERT.
/// Their cosine and polynomial have different formulas, because the tasks' original programs differ.
enum class LrSchedule : std::uint8_t { stepped, cosine, exponential, polynomial, gradual };

struct LarsSettings {
    double trust_scale = 1e-3;  // --lars-eeta
    double weight_decay = 0;    // --lars-weight-decay, in addition to --weight-decay
    double epsilon = 0;
    std::vector<std::string> skip;  // name contains one: trust ratio 1, without this weight decay
};

/// AdamW and LAMB. Their weight decay is decoupled from the gradient.
struct AdamSettings {
    double beta1 = 0.9;    // decay of the mean of gradients
    double beta2 = 0.999;  // decay of the mean of squares
    double epsilon = 1e-6;
    bool corrects_bias = true;
    /// Bias correction multiplies the whole step, decay included, instead of the means. It is one update ahead.
    bool corrects_step = false;
    std::vector<std::string> skip = {"bias", "beta", "gamma"};  // LAMB: trust ratio 1 if a name contains one
    /// LAMB: a variable whose name contains one holds queries, keys and values in column blocks with separate trust
    /// ratios.
    std::vector<std::string> column_blocks = {"qkv"};
};

/// Use of the global gradient norm, before any other rule: the norm of all gradients of an update together, without
/// loss scaling.
enum class GradientNorm : std::uint8_t {
    ignored,
    limited,         // clipped to `gradient_norm_limit`
    divides,         // divides gradients if it is above 1 (LAMB of You et al. 2020 as NVIDIA trains BERT)
    limits_divides,  // clipped, then divided
};

struct OptimiserSettings {
    graph::UpdateRule rule = graph::UpdateRule::sgd;
    double momentum = 0.9;
    double weight_decay = 0;
    std::vector<std::string> weight_decay_exclude;  // not decayed if their name contains one
    double loss_scaling = 1;
    std::optional<double> rmsprop_decay;           // of the mean square
    std::optional<double> rmsprop_base_decay_exp;  // without it: decay = 1 - 2^exponent * global batch
    double rmsprop_epsilon = 1e-3;
    LarsSettings lars;
    AdamSettings adam;
    bool fp32_weight_copy = false;             // updates of 16-bit variables act on 32-bit master slots
    std::vector<std::string> variable_filter;  // train only variables whose name contains one; empty: all
    std::vector<std::string> freeze;           // regular expressions of variables that are not trained
    bool adds_micro_batches = false;           // gradients of micro-batches are added instead of averaged
    GradientNorm gradient_norm = GradientNorm::ignored;
    double gradient_norm_limit = 1;
    /// First update (from 0) -> loss scaling from there on; empty: `loss_scaling`. It keeps small gradients within the
    /// range of 16-bit types. Updates divide by it, so that it changes results by rounding alone; in bf16 and f32, a
    /// power of two changes no bit.
    std::map<std::int64_t, double> loss_scaling_by_step;
};

/// Members of the schedules that are not selected keep their defaults.
struct LearningRateSettings {
    LrSchedule schedule = LrSchedule::stepped;
    double base_exponent = 0.0;             // without `absolute`: lr0 = 2^exponent * global batch
    std::optional<double> absolute;         // lr0
    double warmup_epochs = 0.0;             // 0: no warm-up. The gradual schedule has the next two instead
    std::int64_t warmup_iterations = 0;     // gradual: weight updates of the warm-up
    double warmup_start = 0.0;              // gradual: first rate of the warm-up, which ends at lr0
    double stepped_decay = 0.0;             // factor at each drop
    std::vector<double> stepped_fractions;  // places of the drops, as shares of the run
    double exponential_decay_rate = 0.0;    // factor at each drop
    std::int64_t exponential_drops = 0;     // evenly spaced over the epochs
    double polynomial_power = 0.0;
    double polynomial_end_ratio = 0.0;     // without `polynomial_end`: end rate = ratio * lr0
    std::optional<double> polynomial_end;  // end rate; gradual: 0 by default
};

/// Learning rate of the schedule's plateau for a global batch (samples per weight update of all processes).
inline double base_learning_rate(const LearningRateSettings& settings, std::int64_t global_batch) {
    if (settings.absolute) return *settings.absolute;
    return std::exp2(settings.base_exponent) * static_cast<double>(global_batch);
}

/// Schedules of BERT's tasks, by the number of the update, from 0 (step_rate.h). LrSchedule above has those of image
/// classification: its cosine begins with the run instead of after the warm-up, and its polynomial falls to the user's
/// end rate instead of kLowestStepRate.
enum class StepSchedule : std::uint8_t { custom, natural_exponential, polynomial, cosine };
/// As flags and configurations spell them, in the enumerators' order.
inline constexpr std::array<std::string_view, 4> kStepScheduleNames = {"custom", "natural_exponential",
                                                                       "polynomial_decay", "cosine_decay"};

struct StepRateSettings {
    StepSchedule schedule = StepSchedule::polynomial;
    double base = 2e-5;                     // at the end of the warm-up
    std::vector<double> powers = {1};       // first: of the warm-up; last: of the decay
    double warmup = 0.1;                    // number of updates, or, below 1, share of the run
    std::map<std::int64_t, double> values;  // custom: first update -> rate from there on
    std::int64_t decay_steps = 1;           // natural_exponential: updates between drops
    double decay_rate = 0;                  // natural_exponential: a drop multiplies by exp(-decay_rate)
};

inline bool warms_up(const LearningRateSettings& settings) {
    return settings.schedule == LrSchedule::gradual ? settings.warmup_iterations > 0 : settings.warmup_epochs > 0;
}

/// Decay of RMSprop's mean square; 0 if neither the decay nor the exponent is given.
inline double rmsprop_decay(const OptimiserSettings& settings, std::int64_t global_batch) {
    if (settings.rmsprop_decay) return *settings.rmsprop_decay;
    if (!settings.rmsprop_base_decay_exp) return 0;
    return 1 - std::exp2(*settings.rmsprop_base_decay_exp) * static_cast<double>(global_batch);
}

}  // namespace cnntrain::optim
