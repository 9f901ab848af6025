// Runs benchmarks from a benchmarks.yml: each variant of an entry is a process, and its output contains the metrics.
//
//   Request request{.spec_files = {"benchmarks.yml"}, .benchmarks = {"tf1_resnet50_infer_synth_1ipu"}};
//   return run(request, host);
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/launch/poprun.h"

namespace cnntrain::benchmark {

enum class LogLevel { debug, info, warning, error, critical };
constexpr auto spellings(LogLevel) {
    return std::to_array<std::string_view>({"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"});
}

/// A command-line option appended to every program: `--set micro-batch-size=2` appends "--micro-batch-size 2" and
/// replaces the program's own.
struct Override {
    std::string name;                  // without hyphens
    std::optional<std::string> value;  // empty: a switch
};

/// The user's request.
struct Request {
    std::vector<std::string> spec_files = {"benchmarks.yml"};
    std::vector<std::string> benchmarks;  // empty: all, except those excluded by their names
    bool include_convergence = false;
    bool allow_wandb = false;
    bool compile_only = false;
    bool profile = false;
    bool stop_on_error = false;
    std::optional<std::string> log_folder;  // default: log_<date and time> in the current folder
    LogLevel log_level = LogLevel::info;
    std::optional<double> timeout_seconds;  // per variant
    bool additional_metrics = false;        // more columns in the CSV file
    std::vector<std::string> csv_metrics;   // metrics to add as CSV columns
    double progress_seconds = 1;            // interval between progress lines
    std::vector<Override> overrides;
};

/// Resources that a benchmark run gets from its process.
struct Host {
    launch::Machine machine;                // environment of the programs; executable that replaces scripts
    std::vector<std::string> spec_folders;  // folders of shipped specs
    FileSystem* files = &posix_files();
    std::ostream* output = nullptr;  // for tables and summary; never null
    std::ostream* notes = nullptr;   // for the runner's own log; never null
    int terminal_width = 0;          // of `notes`; 0: no terminal, so no progress line
    std::function<bool()> stop_requested;
    std::chrono::milliseconds patience{3'000};  // time between asking a process to stop and killing it
};

/// Runs the requested benchmarks and returns the exit code: 0, 1 if a variant failed, kInterruptedExitCode after a
/// stop. Results are written to disk after every variant. Throws Error(data) for a missing or malformed spec and for
/// unset variables, Error(usage) for names that no spec contains.
int run(const Request& request, const Host& host);

/// The commands that run() would start, one block per variant. Starts and writes nothing.
std::string planned_commands(const Request& request, const Host& host);

/// All entries with their numbers of variants.
std::string list_text(const Request& request, const Host& host);

}  // namespace cnntrain::benchmark
