// A child process that leaves no process behind.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// The beginning and the end of a text that may be of any length.
class BoundedText {
public:
    explicit BoundedText(std::size_t most_of_each) : most_(most_of_each) {}

    void add(std::string_view chunk);
    /// Bytes that text() leaves out; 0: it is complete.
    std::uint64_t left_out() const { return left_out_; }
    /// If bytes are left out, a line between beginning and end says so.
    std::string text() const;

private:
    std::size_t most_;
    std::string begin_;
    std::string end_;  // cut when it has grown to twice `most_`
    std::uint64_t left_out_ = 0;
};

enum class Stream { out, err };

struct ProcessRequest {
    std::vector<std::string> words;
    std::map<std::string, std::string> environment;
    std::string folder;
    bool keeps_input = false;   // it inherits this process's standard input; else its input is empty
    bool keeps_output = false;  // it inherits this process's output streams, and nothing is captured
    std::optional<double> timeout_seconds;
    std::chrono::milliseconds patience{3'000};             // between SIGTERM and SIGKILL
    std::size_t most_output_bytes = std::size_t{8} << 20;  // kept of the beginning and of the end of each stream
    /// For a program that ends with its children, as mpirun does: a variable in the environments of the children. A
    /// stop signals these first, and the program itself only when they take longer than `patience`. The program is
    /// killed when it stays for five seconds after all of them: mpirun (Open MPI 4.1) may hang at its end after a rank
    /// died.
    std::string asked_first;
    std::function<void(int number)> on_start;                              // of the process
    std::function<void(Stream stream, std::string_view chunk)> on_output;  // as it comes
    std::function<void()> on_tick;                                         // about ten times a second
    std::function<bool()> stop_requested;
};

/// stayed_behind: killed, because it did not end with its children (ProcessRequest::asked_first).
enum class ProcessEnd { exited, timed_out, stopped, stayed_behind };

struct ProcessResult {
    ProcessEnd end = ProcessEnd::exited;
    int exit_code = 0;  // negative: the signal that ended it
    std::string out;
    std::string err;
    std::uint64_t left_out_bytes = 0;  // of both streams
    double seconds = 0;
};

/// Runs a program to its end, or stops it and all its descendants, in whatever session: SIGTERM, then SIGKILL. The same
/// happens when the calling process is killed meanwhile. Descendants that outlive the program are killed. Returns at
/// most `patience` and a second after the end, the time limit or the stop; with `asked_first`, 5 seconds later.
/// Error(data) when the program cannot be started.
ProcessResult run_process(const ProcessRequest& request);

/// The file that a shell would start for `program`; "" if there is none.
std::string find_program(const std::string& program, const std::map<std::string, std::string>& environment);

}  // namespace cnntrain::launch
