// Options of learning rate schedules; each exists only if its schedule is selected.
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {
namespace {

const std::vector<Need> kStepped = {{"lr_schedule", {"stepped"}}};
const std::vector<Need> kExponential = {{"lr_schedule", {"exponential"}}};
const std::vector<Need> kPolynomial = {{"lr_schedule", {"polynomial_decay_lr"}}};
const std::vector<Need> kGradual = {{"lr_schedule", {"gradual_warmup_then_dec"}}};
const std::vector<Need> kWithEnd = {{"lr_schedule", {"polynomial_decay_lr", "gradual_warmup_then_dec"}}};
const std::vector<Need> kByEpochs = {{"lr_schedule", {"stepped", "cosine", "exponential", "polynomial_decay_lr"}}};

}  // namespace

std::vector<Option> schedule_options() {
    return {
        {.flag = "--warmup-epochs",
         .fallback = 5.0,
         .help = "Length of the linear warm-up of the learning rate; 0: none.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .commands = kT,
         .exists_with = kByEpochs,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_epochs>()},
        {.flag = "--learning-rate-decay",
         .fallback = 0.1,
         .help = "stepped: factor at each drop.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kStepped,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_decay>()},
        {.flag = "--learning-rate-schedule",
         .left_open = true,
         .help = "stepped: positions of the drops, as comma-separated fractions of the run; without it, the model's.",
         .range = between(0, 1),
         .commands = kT,
         .exists_with = kStepped,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::stepped_fractions>()},
        {.flag = "--lr-decay-rate",
         .left_open = true,
         .help = "exponential: factor at each drop.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kExponential,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_decay_rate>()},
        {.flag = "--lr-drops",
         .left_open = true,
         .help = "exponential: number of drops, spread evenly over the run.",
         .range = between(0, kMostIterations),
         .commands = kT,
         .exists_with = kExponential,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::exponential_drops>()},
        {.flag = "--poly-lr-decay-power",
         .fallback = 2.0,
         .help = "polynomial_decay_lr: exponent.",
         .range = between(0, 1000),
         .commands = kT,
         .exists_with = kPolynomial,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_power>()},
        {.flag = "--poly-lr-end-ratio",
         .fallback = 1e-5,
         .help = "polynomial_decay_lr: final learning rate as a share of the base.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kPolynomial,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end_ratio>()},
        {.flag = "--abs-end-learning-rate",
         .help = "polynomial_decay_lr: final learning rate; overrides the ratio. gradual_warmup_then_dec: learning "
                 "rate at the end of the decay; without it, 0.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kWithEnd,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::polynomial_end>()},
        {.flag = "--warmup-iterations",
         .help = "gradual_warmup_then_dec: length of the linear warm-up to the base learning rate; 0: none.",
         .unit = "iterations",
         .range = between(0, kMostIterations),
         .commands = kT,
         .exists_with = kGradual,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_iterations>()},
        {.flag = "--warmup-start-learning-rate",
         .help = "gradual_warmup_then_dec: learning rate of the first warm-up iteration.",
         .range = at_least(0),
         .commands = kT,
         .exists_with = kGradual,
         .numerics = true,
         .bind = to<&ImageSettings::learning_rate, &optim::LearningRateSettings::warmup_start>()},
    };
}

}  // namespace cnntrain::tasks
