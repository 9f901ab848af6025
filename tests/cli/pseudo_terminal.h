// Runs command lines on a pseudo terminal, and shows what a person sees there.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace cnntrain::cli {

/// The rows of a terminal of any height after some output: carriage returns, line feeds, wrapping, and the escape
/// sequences that erase and colour.
std::vector<std::string> rows_of(const std::string& output, int columns);

struct TerminalRun {
    int exit_code = -1;  // stays so if a signal ended the program
    std::string output;
    double first_match_seconds = -1;  // from the start until `awaited` came
};

struct TerminalSettings {
    int columns = 80;
    std::string awaited = {};                   // text in the output, after which `then` is called once
    std::function<void(int number)> then = {};  // with the number of the process that the shell replaced
    int columns_then = 0;                       // > 0: the terminal is resized at that moment
};

/// The line must be a single command, which replaces the shell. TERM is xterm unless the line sets it by env.
TerminalRun run_on_terminal(const std::string& line, const TerminalSettings& settings = {});

}  // namespace cnntrain::cli
