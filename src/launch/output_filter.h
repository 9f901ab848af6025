// Selects one instance's part of mpirun's output.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cnntrain/launch/process.h"

namespace cnntrain::launch {

/// Reads mpirun's tagged output ("[1,0]<stdout>:text") as it comes, and passes on the output of the shown instance and
/// of mpirun itself, with tags. Keeps the end of the other instances' standard error.
class OutputFilter {
public:
    using Sink = std::function<void(Stream, std::string_view)>;

    OutputFilter(int shown, Sink sink) : shown_(shown), sink_(std::move(sink)) {}

    void add(Stream stream, std::string_view chunk);
    /// Nothing more comes.
    void finish();

    /// The hidden instance that failed, with the last lines of its standard error; all hidden instances that wrote some
    /// when mpirun has not said which one failed.
    std::map<int, std::string> last_lines_of_failed() const;

private:
    /// One of mpirun's two streams.
    struct Input {
        std::string pending;       // may begin with an incomplete tag
        std::optional<int> owner;  // of what comes next; none: mpirun itself
    };
    void take(Stream stream, std::string_view text);
    void read_verdict(std::string_view text);

    int shown_;
    Sink sink_;
    std::array<Input, 2> inputs_;
    std::map<int, std::deque<std::string>> last_lines_;  // of hidden instances; the newest may be incomplete
    std::string verdict_line_;                           // mpirun's own, incomplete
    std::optional<int> failed_;
};

}  // namespace cnntrain::launch
