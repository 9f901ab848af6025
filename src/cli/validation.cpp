#include "cli/commands.h"
#include "cli/run_options.h"

namespace cnntrain::cli {

int validation_command(const Invocation& invocation) {
    return parse_and_run(config::Command::validation, invocation, train::run_validation);
}

}  // namespace cnntrain::cli
