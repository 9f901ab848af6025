// Runs command lines as a user's shell does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::cli {

struct Outcome {
    int exit_code = -1;  // stays so when the line could not be run, or ended by a signal
    std::string text;    // both streams, unless the line sends one elsewhere
};

Outcome shell(const std::string& line);

/// Runs the built program with these arguments.
Outcome run(const std::string& arguments);

/// Returns the number of times the part occurs in the text.
std::size_t count_of(const std::string& part, const std::string& text);

/// Expects that the program ends with the exit code of this kind, and that its error has these parts.
void expect_error(const std::string& arguments, ErrorKind kind, const std::vector<std::string>& parts);

}  // namespace cnntrain::cli
