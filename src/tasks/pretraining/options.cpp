// All options of pretraining: shared rows and its own.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

const OptionSet& pretraining_options() {
    static const auto rows = [](std::initializer_list<std::string_view> flags) {
        return for_one_command(shared(flags));
    };
    static const OptionSet options({
        {"Main", rows({"--help", "--config", "--wandb-id"})},
        {kThisProgram, rows({"--backend", "--threads", "--thread-independent", "--input-threads", "--stop-on-nan",
                             "--checkpoint-dtype", "--trust-edited-checkpoint", "--accept-other-data",
                             "--profile-steps", "--dry-run", "--print-config", "--validate-every",
                             "--validate-every-updates", "--keep-best", "--early-stop", "--ema-decay", "--ema"})},
        {"Training",
         rows({"--comm-overlap", "--comm-wire", "--comm-route", "--comm-timeout", "--min-remote-tensor-size"})},
        {"IPU", rows({"--seed", "--dataset-benchmark", "--compile-only", "--prefetch-depth", "--select-ipu",
                      "--fp-exceptions"})},
        {"Logging", rows({"--logs-path", "--overwrite", "--no-logs", "--tensorboard", "--wandb"})},
        {"Pretraining", for_one_command(pretraining_main_options())},
        {kModelGroup, for_one_command(pretraining_model_options())},
        {"Data", for_one_command(pretraining_data_options())},
        {"Batches, optimiser, stages", for_one_command(pretraining_training_options())},
        {"IPUs", for_one_command(pretraining_ipu_options())},
        {"Logs", for_one_command(pretraining_logging_options())},
    });
    return options;
}

}  // namespace cnntrain::tasks
