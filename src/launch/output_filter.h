// Selects one instance's part of mpirun's output.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "launch/process.h"

namespace cnntrain::launch {

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
