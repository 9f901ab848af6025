// Benchmarks from a benchmarks.yml: each variant of an entry runs as a process, whose output holds the metrics.
//
//   Request request{.spec_files = {"benchmarks.yml"}, .benchmarks = {"tf1_resnet50_infer_synth_1ipu"}};
//   return run(request, host);
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/launch/mpi.h"

namespace cnntrain::benchmark {

enum class LogLevel { debug, info, warning, error, critical };

/// A command-line option laid over those of every program: `--set micro-batch-size=2` appends "--micro-batch-size 2".
struct Override {
    std::string name;                  // without the hyphens
    std::optional<std::string> value;  // absent: a switch
};

/// What the user asks for.
struct Request {
    std::vector<std::string> spec_files = {"benchmarks.yml"};
    std::vector<std::string> benchmarks;  // empty: all that are not left out by their names
    bool include_convergence = false;
    bool allow_wandb = false;
    bool compile_only = false;
    bool profile = false;
    bool stop_on_error = false;
    std::optional<std::string> log_folder;  // else log_<date and time> in the current folder
    LogLevel log_level = LogLevel::info;
    std::optional<double> timeout_seconds;  // of one variant
    bool additional_metrics = false;        // more columns in the CSV file
    std::vector<std::string> csv_metrics;   // and these metrics
    double progress_seconds = 1;            // between two progress lines
    std::vector<Override> overrides;
};

/// The surroundings of a run.
struct Host {
    launch::Machine machine;                // environment of the programs; the binary that scripts stand for
    std::vector<std::string> spec_folders;  // where shipped specs are
    FileSystem* files = &posix_files();
    std::ostream* output = nullptr;  // tables and summary; never null
    std::ostream* notes = nullptr;   // the runner's own log; never null
    int terminal_width = 0;          // of `notes`; 0: no terminal, no progress
    std::function<bool()> stop_requested;
    std::chrono::milliseconds patience{3'000};  // between asking a process to stop and killing it
};

/// Runs what is asked for and returns the process's exit code: 0, 1 when a variant failed, kInterruptedExitCode after a
/// stop. Results are on disk after every variant. Error(data) for a spec that is missing or malformed and for variables
/// that are not set; Error(usage) for names that no spec has.
int run(const Request& request, const Host& host);

/// The commands that run() would start, one block per variant; nothing is started or written.
std::string planned_commands(const Request& request, const Host& host);

/// Every entry with the number of its variants.
std::string list_text(const Request& request, const Host& host);

}  // namespace cnntrain::benchmark
