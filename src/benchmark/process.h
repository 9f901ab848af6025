// A child process with both outputs captured, that leaves no process behind.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::benchmark {

struct ProcessRequest {
    std::vector<std::string> words;
    std::map<std::string, std::string> environment;
    std::string folder;
    std::optional<double> timeout_seconds;
    std::chrono::milliseconds patience{10'000};       // between SIGTERM and SIGKILL
    std::function<void(std::string_view)> on_output;  // both streams, as it comes
    std::function<void()> on_tick;                    // about ten times a second
    std::function<bool()> stop_requested;
};

enum class ProcessEnd { exited, timed_out, stopped };

struct ProcessResult {
    ProcessEnd end = ProcessEnd::exited;
    int exit_code = 0;  // negative: the signal that ended it
    std::string out;
    std::string err;
    double seconds = 0;
};

/// Runs it to its end, or stops it and everything that it has started, in whatever session: SIGTERM, then SIGKILL. The
/// same happens when the calling process is killed meanwhile. What is left behind at its end is killed. Returns at most
/// twice `patience` after the end, the time limit or the stop. Error(data) when it cannot be started.
ProcessResult run_process(const ProcessRequest& request);

/// The file that a shell would start for `program`; "" if there is none.
std::string find_program(const std::string& program, const std::map<std::string, std::string>& environment);

}  // namespace cnntrain::benchmark
