// From the command of an entry to the words of a process.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/spec.h"
#include "cnntrain/benchmark/benchmark.h"
#include "cnntrain/launch/mpi.h"

namespace cnntrain::benchmark {

/// `{parameter}` replaced, `{{` and `}}` made single; `${NAME}` is left alone. Error(data) for a parameter that the
/// entry does not have.
std::string fill_placeholders(const Entry& entry, const Variant& variant);

using launch::Environment;

/// A process to be started.
struct PlannedCommand {
    std::vector<std::string> words;                          // the first is the program
    std::string shown;                                       // before variables were replaced
    Environment environment;                                 // all of it
    std::vector<std::pair<std::string, std::string>> added;  // to the environment of the caller
    std::string folder;                                      // where it runs
    std::set<std::string> unset;                             // variables that it needs and nobody has set
    std::string skip_reason;                                 // not empty: this program cannot run it
    std::vector<std::string> notices;
};

PlannedCommand plan_command(const Entry& entry, const Variant& variant, const Request& request, const Host& host);

/// N of "mpirun ... --np N": each of N processes prints its own throughput. 1 for everything else.
int printed_processes(const std::vector<std::string>& words);

}  // namespace cnntrain::benchmark
