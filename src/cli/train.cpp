#include "cli/commands.h"
#include "cli/run_options.h"

namespace cnntrain::cli {

int train_command(const Invocation& invocation) {
    return parse_and_run(config::Command::train, invocation, train::run_training);
}

}  // namespace cnntrain::cli
