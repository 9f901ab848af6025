// All options of pretraining: shared rows and its own.
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

const OptionSet& pretraining_options() {
    static const auto rows = [](std::initializer_list<std::string_view> flags) {
        return for_one_command(shared(flags));
    };
    static const OptionSet options({
        {"Main",
         concatenated({rows({"--help", "--config", "--wandb-id"}), for_one_command(pretraining_main_options())})},
        {kThisProgram, rows({"--help-all",
                             "--backend",
                             "--threads",
                             "--thread-independent",
                             "--input-threads",
                             "--stop-on-nan",
                             "--checkpoint-dtype",
                             "--trust-edited-checkpoint",
                             "--accept-other-data",
                             "--verbose",
                             "--quiet",
                             "--log-format",
                             "--profile-steps",
                             "--dry-run",
                             "--print-config",
                             "--validate-every",
                             "--validate-every-updates",
                             "--keep-best",
                             "--early-stop",
                             "--ema-decay",
                             "--ema"})},
        {kModelGroup, for_one_command(pretraining_model_options())},
        {"Data", for_one_command(pretraining_data_options())},
        {"Training", concatenated({for_one_command(pretraining_training_options()),
                                   rows({"--comm-overlap", "--comm-wire", "--comm-route", "--comm-timeout",
                                         "--min-remote-tensor-size"})})},
        {"Device", concatenated({rows({"--seed", "--dataset-benchmark", "--compile-only", "--prefetch-depth",
                                       "--select-ipu", "--fp-exceptions"}),
                                 for_one_command(pretraining_ipu_options())})},
        {"Logging", concatenated({rows({"--logs-path", "--overwrite", "--no-logs", "--tensorboard", "--wandb"}),
                                  for_one_command(pretraining_logging_options())})},
    });
    return options;
}

}  // namespace cnntrain::tasks
