// What the commands that run a model have in common.
#pragma once

#include <functional>
#include <string>

#include "cli/commands.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::cli {

/// The process's console, terminal and stop signal.
train::Host process_host(const Invocation& invocation);

/// Before OpenMP and other libraries are used, some of which end the process when they get no memory.
/// Error(unsupported).
void require_run_memory(const config::Settings& settings, config::Command command);

/// Parses, answers --help and --print-config, prints the notices, refuses what is not there yet, and then runs.
/// `complete` may replace the arguments that the line gives by those that it means.
int parse_and_run(config::Command command, const Invocation& invocation,
                  const std::function<int(const config::ParseResult&, const train::Host&)>& run,
                  const std::function<config::ParseResult(const config::ParseResult&)>& complete = {});

}  // namespace cnntrain::cli
