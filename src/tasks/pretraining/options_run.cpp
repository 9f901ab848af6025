// Options of pretraining: task, run folder, checkpoints, logs.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {
namespace {

std::vector<Option> run_folder_options() {
    return {
        {.flag = "--save-path",
         .fallback = "checkpoints",
         .help = "Folder in which run folders are created.",
         .main_in = kAll,
         .bind = to<&Settings::logging, &train::LoggingSettings::log_dir>()},
        refine(shared("--init-path"),
               {.flag = "--init-checkpoint",
                .help = "Checkpoint to start from, with weights and optimiser state; steps count from 0.",
                .expands = true}),
        refine(shared("--restore-path"), {.flag = "--restore-dir",
                                          .help = "Folder of the run to resume from its latest checkpoint; "
                                                  "--init-checkpoint is then the checkpoint with which it began.",
                                          .expands = true}),
        {.flag = "--evaluate",
         .help = "Evaluate one checkpoint (--init-checkpoint) or all checkpoints of a run (--restore-dir) on "
                 "--valid-file. Options of the model and its sequences and --micro-batch-size come from the run's "
                 "arguments.json unless they are given; options of training are not needed.",
         .main_in = kAll,
         .bind = to<&PretrainingSettings::evaluates>()},
        {.flag = "--steps-per-ckpts",
         .help = "Steps between checkpoints; 0: only the first and the last.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_checkpoint>()},
        refine(shared("--keep-ckpts"), {.flag = "--max-to-keep", .fallback = std::int64_t{5}}),
        {.flag = "--save-optimiser-to-checkpoint",
         .fallback = true,
         .help = "Save the optimiser's state in checkpoints.",
         .idle = "a run cannot be resumed without it; cnntrain convert leaves it out"},
        {.flag = "--restore-optimiser-from-checkpoint",
         .fallback = true,
         .help = "Read the optimiser's state from checkpoints.",
         .idle = "the original programs never read it"},
    };
}

}  // namespace

std::vector<Option> pretraining_main_options() {
    std::vector<Option> all = {
        refine(shared("--task"), {.fallback = "pretraining",
                                  .help = "Task to run.",
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
         .help = "Steps between log lines; 0: only the first line.",
         .unit = "steps",
         .range = between(0, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_log>()},
        {.flag = "--steps-per-tensorboard",
         .help = "Steps between histograms of all variables in the event file, with norms as L2/<name>. From the "
                 "second on, a checkpoint is written, too. 0 or less: none.",
         .unit = "steps",
         .range = between(-1, kMostIterations),
         .bind = to<&PretrainingSettings::steps_per_histogram>()},
        {.flag = "--wandb-name",
         .type = Type::text,
         .help = "Name of the run at Weights & Biases.",
         .needs = {{"wandb"}},
         .idle = "the name is that of the run's folder"},
        refine(shared("--wandb-project"), {.fallback = "tf-bert"}),
        refine(shared("--log-all-instances"), {.flag = "--log-all-workers", .type = Type::boolean, .fallback = false}),
        refine(
            shared("--log-dir"),
            {.help = "Folder of logs.", .idle = "logs are in the run's folder, below --save-path", .bind = Binding()}),
        {.flag = "--name",
         .type = Type::text,
         .help = "Name of the run.",
         .idle = "the run's folder is named by task, optimiser and time"},
        refine(shared("--name-suffix"), {.help = "Suffix of the run's name.",
                                         .idle = "the run's folder is named by task, optimiser and time",
                                         .bind = Binding()}),
    };
}

}  // namespace cnntrain::tasks
