// Shared options: validation during training, and what follows from its results.
#include "cnntrain/config/shared_options.h"

namespace cnntrain::config {

std::vector<Option> shared_validation_options() {
    return {
        {.flag = "--validate-every",
         .help = "Epochs between validations during training (0.5: twice an epoch), instead of a validation of all "
                 "checkpoints after it. Their rows also have the loss, and of tasks with classes the balanced accuracy "
                 "and, with more than five classes, the top-5 accuracy; validation_classes.csv has the counts of each "
                 "class. The end of the training is always validated. 0: validation follows training.",
         .unit = "epochs",
         .range = between(0, kMostEpochs),
         .commands = kT | kR,
         .main_in = kT,
         .bind = to<&Settings::validation, &train::ValidationSettings::epochs_per_validation>()},
        {.flag = "--validate-every-updates",
         .help = "Weight updates between validations during training, instead of --validate-every.",
         .unit = "updates",
         .range = between(0, kMostIterations),
         .commands = kT | kR,
         .bind = to<&Settings::validation, &train::ValidationSettings::updates_per_validation>()},
        {.flag = "--keep-best",
         .help = "Keep the best weights as RUN/ckpt-best.safetensors: by this result of validations during training. "
                 "Without --validate-every, every epoch is validated.",
         .commands = kT | kR,
         .main_in = kT,
         .bind = to<&Settings::validation, &train::ValidationSettings::keep_best>()},
        {.flag = "--early-stop",
         .help = "End the training after so many validations without a better result; that of --keep-best counts, "
                 "or else the accuracy (without accuracies: the loss). 0: never. Without --validate-every, every epoch "
                 "is validated.",
         .unit = "validations",
         .range = between(0, kMostIterations),
         .commands = kT | kR,
         .main_in = kT,
         .bind = to<&Settings::validation, &train::ValidationSettings::early_stop>()},
        {.flag = "--ema-decay",
         .help = "Keep an exponential moving average of all weights in float32, average = D * average + (1 - D) * "
                 "weights after each update, for example 0.999. Validations during training have a row of it, "
                 "--keep-best and --early-stop go by it, checkpoints hold it (--ema reads it), and the end of the "
                 "training writes it as ckpt/weight_avg_ema.safetensors. 0: none.",
         .range = between(0, 0.9999999),
         .commands = kT | kR,
         .bind = to<&Settings::training, &train::TrainingSettings::ema_decay>()},
        {.flag = "--ema",
         .help = "Take the moving averages of --ema-decay from a checkpoint instead of its weights.",
         .commands = kV | kE,
         .bind = to<&Settings::main, &train::MainSettings::averaged_weights>()},
    };
}

}  // namespace cnntrain::config
