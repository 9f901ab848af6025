// Common steps of the commands that run a model.
#pragma once

#include <functional>

#include "cli/commands.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"

namespace cnntrain::cli {

/// The host with this process's console, terminal and stop signal.
run::Host process_host(const Invocation& invocation);

/// Error(unsupported) if the machine has too little memory for threads and libraries. Called before OpenMP and other
/// libraries are used, because some of them end the process when allocation fails.
void require_run_memory(const options::Settings& settings, options::Command command);

/// Throws Error(usage) with the line that works, for commands whose work several processes cannot share.
[[noreturn]] void refuse_processes(const comm::World& world, const Invocation& invocation);

/// Parses, handles --help and --print-config, prints notices, refuses unavailable options, and then calls `run`.
/// `complete` may replace the parsed arguments, as `restore` does.
int parse_and_run(options::Command command, const Invocation& invocation,
                  const std::function<int(const options::ParseResult&, const run::Host&)>& run,
                  const std::function<options::ParseResult(const options::ParseResult&)>& complete = {});

}  // namespace cnntrain::cli
