// Options of pretraining: what is run, its folder and checkpoints, its logs.
#include "config/table/option.h"

namespace cnntrain::config {

namespace {

std::vector<Option> run_folder_options() {
    return {
        {.flag = "--save-path",
         .type = Type::text,
         .fallback = "checkpoints",
         .help = "Folder in which run folders are made.",
         .commands = kP,
         .bind = to<&Settings::logging, &train::LoggingSettings::log_dir>()},
        {.flag = "--init-checkpoint",
         .type = Type::text,
         .help = "Checkpoint to begin with, weights and optimiser's state; the step stays 0.",
         .commands = kP,
         .numerics = true,
         .bind = to<&Settings::training, &train::TrainingSettings::init_path>()},
        {.flag = "--restore-dir",
         .type = Type::text,
         .help = "Folder of the run to resume at its latest checkpoint; --init-checkpoint then says how it began.",
         .commands = kP,
         .bind = to<&Settings::main, &train::MainSettings::restore_path>()},
        {.flag = "--evaluate",
         .fallback = false,
         .help = "Train nothing: losses and accuracies of a checkpoint (--init-checkpoint) or of all of a run "
                 "(--restore-dir) on the sequences of --valid-file. The options of the model, of its sequences and "
                 "--micro-batch-size are needed as for the training; those of batches, steps, optimiser and learning "
                 "rate are not.",
         .commands = kP,
         .bind = to<&Settings::pretraining, &train::PretrainingSettings::evaluates>()},
        {.flag = "--steps-per-ckpts",
         .type = Type::integer,
         .fallback = std::int64_t{256},
         .help = "Steps between checkpoints; 0: the first and the last only.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .commands = kP,
         .bind = to<&Settings::pretraining, &train::PretrainingSettings::steps_per_checkpoint>()},
        {.flag = "--max-to-keep",
         .type = Type::integer,
         .fallback = std::int64_t{5},
         .help = "Newest checkpoints of the run that are kept; 0: all.",
         .range = between(0, kMostIterations),
         .commands = kP,
         .bind = to<&Settings::checkpoint, &train::CheckpointSettings::keep>()},
        {.flag = "--save-optimiser-to-checkpoint",
         .fallback = true,
         .help = "Checkpoints hold the optimiser's state.",
         .commands = kP,
         .idle = "a run could not be resumed without it; convert leaves it out"},
        {.flag = "--restore-optimiser-from-checkpoint",
         .fallback = true,
         .help = "Checkpoints are read with the optimiser's state.",
         .commands = kP,
         .idle = "the original programs never read it"},
    };
}

}  // namespace

std::vector<Option> pretraining_main_options() {
    std::vector<Option> all = {
        {.flag = "--task",
         .type = Type::choice,
         .fallback = "pretraining",
         .help = "What is trained.",
         .choices = {"pretraining", "SQuAD", "GLUE"},
         .commands = kP,
         .numerics = true,
         .missing_choices = {"SQuAD", "GLUE"},
         .missing_in = kP},
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
         .commands = kP,
         .bind = to<&Settings::pretraining, &train::PretrainingSettings::steps_per_log>()},
        {.flag = "--steps-per-tensorboard",
         .type = Type::integer,
         .fallback = std::int64_t{0},
         .help =
             "Steps between histograms of all variables in the event file, each with its norm as L2/<name>; from the "
             "second on, a checkpoint is written, too. 0 or less: none.",
         .unit = "steps",
         .range = between(-1, kMostIterations),
         .commands = kP,
         .bind = to<&Settings::pretraining, &train::PretrainingSettings::steps_per_histogram>()},
        {.flag = "--wandb-name",
         .type = Type::text,
         .help = "Name of the run at Weights & Biases; without it, that of its folder.",
         .commands = kP,
         .needs = {{"wandb"}},
         .idle = "the run has the name of its folder"},
        {.flag = "--wandb-project",
         .type = Type::text,
         .fallback = "tf-bert",
         .help = "Weights & Biases project.",
         .commands = kP,
         .needs = {{"wandb"}},
         .bind = to<&Settings::logging, &train::LoggingSettings::wandb_project>()},
        {.flag = "--log-all-workers",
         .fallback = false,
         .help = "Every process writes logs, into a run folder of its own.",
         .commands = kP,
         .needs_processes = true,
         .bind = to<&Settings::logging, &train::LoggingSettings::all_instances>()},
        {.flag = "--log-dir",
         .type = Type::text,
         .fallback = "./logs/",
         .help = "Folder of logs.",
         .commands = kP,
         .idle = "logs are in the run's folder, below --save-path"},
        {.flag = "--name",
         .type = Type::text,
         .help = "Name of the run.",
         .commands = kP,
         .idle = "the run's folder is named by task, optimiser and time"},
        {.flag = "--name-suffix",
         .type = Type::text,
         .help = "End of the run's name.",
         .commands = kP,
         .idle = "the run's folder is named by task, optimiser and time"},
    };
}

}  // namespace cnntrain::config
