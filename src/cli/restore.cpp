#include "cli/commands.h"
#include "cli/run_options.h"

namespace cnntrain::cli {

int restore_command(const Invocation& invocation) {
    return parse_and_run(
        config::Command::restore, invocation, train::run_training,
        [](const config::ParseResult& line) { return train::restored_arguments(line, posix_files()); });
}

}  // namespace cnntrain::cli
