// Runs a child process and leaves no descendant behind.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// Keeps the beginning and the end of a text of any length.
class BoundedText {
public:
    explicit BoundedText(std::size_t most_of_each) : most_(most_of_each) {}

    void add(std::string_view chunk);
    /// Number of bytes omitted from text(); 0: it is complete.
    std::uint64_t left_out() const { return left_out_; }
    /// The text; if bytes are omitted, a line in between says so.
    std::string text() const;

private:
    std::size_t most_;
    std::string begin_;
    std::string end_;  // shortened when it reaches twice `most_`
    std::uint64_t left_out_ = 0;
};

enum class Stream { out, err };

struct ProcessRequest {
    std::vector<std::string> words;
    std::map<std::string, std::string> environment;
    std::string folder;
    bool keeps_input = false;   // inherit this process's standard input; otherwise the input is empty
    bool keeps_output = false;  // inherit this process's output streams and capture nothing
    std::optional<double> timeout_seconds;
    std::chrono::milliseconds patience{3'000};             // time between SIGTERM and SIGKILL
    std::size_t most_output_bytes = std::size_t{8} << 20;  // size kept of the beginning and of the end of each stream
    /// Name of a variable in the environments of the program's children, for a program that ends with its children,
    /// such as mpirun. A stop signals these children first, and the program itself only if they take longer than
    /// `patience`. Background processes that the children leave are ended within two seconds: mpirun waits for every
    /// process that may still write into its pipes. If the program stays for five seconds after all of them have ended,
    /// it is killed: mpirun (Open MPI 4.1) may hang after a rank died.
    std::string asked_first;
    std::function<void(int number)> on_start;                              // of the process
    std::function<void(Stream stream, std::string_view chunk)> on_output;  // called as output arrives
    std::function<void()> on_tick;                                         // called about ten times per second
    std::function<bool()> stop_requested;
};

/// stayed_behind: the program was killed because it did not end with its children (ProcessRequest::asked_first).
enum class ProcessEnd { exited, timed_out, stopped, stayed_behind };

struct ProcessResult {
    ProcessEnd end = ProcessEnd::exited;
    int exit_code = 0;  // negative: minus the signal that ended the process
    std::string out;
    std::string err;
    std::uint64_t left_out_bytes = 0;  // in both streams
    double seconds = 0;
};

/// Runs a program until it ends, or stops it and all its descendants in any session: SIGTERM, then SIGKILL. The same
/// happens if the calling process is killed. Descendants that outlive the program are killed. Returns at most
/// `patience` plus a second after the end, the time limit or the stop; with `asked_first`, at most 5 seconds later.
/// Throws Error(data) if the program cannot be started.
ProcessResult run_process(const ProcessRequest& request);

/// The file that a shell would execute for `program`; "" if there is none.
std::string find_program(const std::string& program, const std::map<std::string, std::string>& environment);

// Documented command lines start Python scripts; this program runs in place of the scripts it knows.

/// True for "python" or "python3", also with a folder in front.
bool is_interpreter(std::string_view word);

/// `words`: a program and its arguments. A known script (alone or after an interpreter) and the word "cnntrain" are
/// replaced by `self`, the path of this executable, and the command. Other programs are unchanged. Throws
/// Error(unsupported) for an original script that this program lacks.
std::vector<std::string> with_own_commands(std::vector<std::string> words, const std::string& self);

/// True if these words, as with_own_commands() returns them, only print the meaning of a line of this program
/// (--dry-run, --print-config, --help).
bool only_describes(const std::vector<std::string>& words, const std::string& self);

// Selects one instance's part of mpirun's output.

/// Reads mpirun's tagged output ("[1,0]<stdout>:text", by Open MPI 5 with a blank before the text) as it arrives and
/// forwards the output of the shown instance and of mpirun itself, with tags. Keeps the last lines of the other
/// instances' standard error.
class OutputFilter {
public:
    using Sink = std::function<void(Stream, std::string_view)>;

    OutputFilter(int shown, Sink sink) : shown_(shown), sink_(std::move(sink)) {}

    void add(Stream stream, std::string_view chunk);
    /// Call it when the output has ended.
    void finish();

    /// The hidden instance that failed, with the last lines of its standard error. If mpirun has not reported which
    /// instance failed, all hidden instances that wrote to it.
    std::map<int, std::string> last_lines_of_failed() const;

private:
    /// One of mpirun's two output streams.
    struct Input {
        std::string pending;       // may start with an incomplete tag
        std::optional<int> owner;  // instance that the following text belongs to; empty: mpirun
    };
    void take(Stream stream, std::string_view text);
    void read_verdict(std::string_view text);

    int shown_;
    Sink sink_;
    std::array<Input, 2> inputs_;
    std::map<int, std::deque<std::string>> last_lines_;  // of hidden instances; the newest line may be incomplete
    std::string verdict_line_;                           // the current line of mpirun's own output
    std::optional<int> failed_;
};

}  // namespace cnntrain::launch
