// `cnntrain train`, `restore`, `validation` and `inference`: what each does with its parsed options.
#include "cli/commands.h"
#include "cli/run_options.h"

namespace cnntrain::cli {

int train_command(const Invocation& invocation) {
    return parse_and_run(config::Command::train, invocation, train::run_training);
}

int restore_command(const Invocation& invocation) {
    config::ParseResult line;
    return parse_and_run(
        config::Command::restore, invocation,
        [&line](const config::ParseResult&, const train::Host& host) { return train::run_restored(line, host); },
        [&line](const config::ParseResult& given) {
            line = given;
            return train::restored_arguments(line, posix_files());
        });
}

int validation_command(const Invocation& invocation) {
    return parse_and_run(config::Command::validation, invocation, train::run_validation);
}

int inference_command(const Invocation& invocation) {
    return parse_and_run(config::Command::inference, invocation, train::run_inference);
}

}  // namespace cnntrain::cli
