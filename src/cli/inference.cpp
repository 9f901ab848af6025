#include "cli/commands.h"
#include "cli/run_options.h"

namespace cnntrain::cli {

int inference_command(const Invocation& invocation) {
    return parse_and_run(config::Command::inference, invocation, train::run_inference);
}

}  // namespace cnntrain::cli
