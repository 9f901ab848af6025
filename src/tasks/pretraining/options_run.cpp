// Options of pretraining: what is run, its folder and checkpoints, its logs.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

namespace {

std::vector<Option> run_folder_options() {
    return {
        {.flag = "--save-path",
         .type = Type::text,
         .fallback = "checkpoints",
         .help = "Folder in which run folders are made.",
         .bind = to<&Settings::logging, &train::LoggingSettings::log_dir>()},
        refine(shared("--init-path"),
               {.flag = "--init-checkpoint",
                .help = "Checkpoint to begin with, weights and optimiser's state; the step stays 0.",
                .expands = true}),
        refine(
            shared("--restore-path"),
            {.flag = "--restore-dir",
             .help = "Folder of the run to resume at its latest checkpoint; --init-checkpoint then says how it began.",
             .expands = true}),
        {.flag = "--evaluate",
         .fallback = false,
         .help = "Train nothing: losses and accuracies of a checkpoint (--init-checkpoint) or of all of a run "
                 "(--restore-dir) on the sequences of --valid-file. The options of the model, of its sequences and "
                 "--micro-batch-size are those of the run, from the arguments.json beside the checkpoint, unless they "
                 "are given; those of batches, steps, optimiser and learning rate are not needed.",
         .bind = to<&PretrainingSettings::evaluates>()},
        {.flag = "--steps-per-ckpts",
         .type = Type::integer,
         .fallback = std::int64_t{256},
         .help = "Steps between checkpoints; 0: the first and the last only.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_checkpoint>()},
        refine(shared("--keep-ckpts"), {.flag = "--max-to-keep", .fallback = std::int64_t{5}}),
        {.flag = "--save-optimiser-to-checkpoint",
         .fallback = true,
         .help = "Checkpoints hold the optimiser's state.",
         .idle = "a run could not be resumed without it; convert leaves it out"},
        {.flag = "--restore-optimiser-from-checkpoint",
         .fallback = true,
         .help = "Checkpoints are read with the optimiser's state.",
         .idle = "the original programs never read it"},
    };
}

}  // namespace

std::vector<Option> pretraining_main_options() {
    std::vector<Option> all = {
        refine(shared("--task"), {.fallback = "pretraining",
                                  .choices = std::vector<std::string_view>{"pretraining", "SQuAD", "GLUE"},
                                  .numerics = true,
                                  .missing_choices = std::vector<std::string_view>{"SQuAD", "GLUE"}}),
    };
    const std::vector<Option> folder = run_folder_options();
    all.insert(all.end(), folder.begin(), folder.end());
    return all;
}

std::vector<Option> pretraining_logging_options() {
    return {
        {.flag = "--steps-per-logs",
         .type = Type::integer,
         .fallback = std::int64_t{1},
         .help = "Steps between log lines; 0: the first only.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_log>()},
        {.flag = "--steps-per-tensorboard",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help =
             "Steps between histograms of all variables in the event file, each with its norm as L2/<name>; from the "
             "second on, a checkpoint is written, too. 0 or less: none.",
         .unit = "steps",
         .range = between(-1, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_histogram>()},
        {.flag = "--wandb-name",
         .type = Type::text,
         .help = "Name of the run at Weights & Biases; without it, that of its folder.",
         .needs = {{"wandb"}},
         .idle = "the run has the name of its folder"},
        refine(shared("--wandb-project"), {.fallback = "tf-bert"}),
        refine(shared("--log-all-instances"), {.flag = "--log-all-workers", .type = Type::boolean, .fallback = false}),
        refine(
            shared("--log-dir"),
            {.help = "Folder of logs.", .idle = "logs are in the run's folder, below --save-path", .bind = Binding()}),
        {.flag = "--name",
         .type = Type::text,
         .help = "Name of the run.",
         .idle = "the run's folder is named by task, optimiser and time"},
        refine(shared("--name-suffix"), {.help = "End of the run's name.",
                                         .idle = "the run's folder is named by task, optimiser and time",
                                         .bind = Binding()}),
    };
}

}  // namespace cnntrain::tasks
