// Converts the command of an entry to the words of a process.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cnntrain/launch/benchmark.h"
#include "cnntrain/launch/poprun.h"
#include "launch/benchmark/spec.h"

namespace cnntrain::benchmark {

/// Replaces `{parameter}`, and turns `{{` and `}}` into single braces; `${NAME}` is unchanged. Throws Error(data) for a
/// parameter that the entry does not have.
std::string fill_placeholders(const Entry& entry, const Variant& variant);

using launch::Environment;

/// A process to start.
struct PlannedCommand {
    std::vector<std::string> words;                          // the first word is the program
    std::string shown;                                       // the command before variables were replaced
    Environment environment;                                 // the complete environment
    std::vector<std::pair<std::string, std::string>> added;  // variables added to the caller's environment
    std::string folder;                                      // working directory
    std::set<std::string> unset;                             // required variables that are not set
    std::string skip_reason;                                 // not empty: why the command cannot run here
    std::vector<std::string> notices;
};

PlannedCommand plan_command(const Entry& entry, const Variant& variant, const Request& request, const Host& host);

/// N of "mpirun ... --np N", where each process prints its own throughput; 1 for all other commands.
int printed_processes(const std::vector<std::string>& words);

}  // namespace cnntrain::benchmark
