// Runs command lines as a user's shell does.
#pragma once

#include <string>

namespace cnntrain::cli {

struct Outcome {
    int exit_code = -1;  // stays so when the line could not be run, or ended by a signal
    std::string text;    // both streams, unless the line sends one elsewhere
};

Outcome shell(const std::string& line);

/// The built program with these arguments.
Outcome run(const std::string& arguments);

}  // namespace cnntrain::cli
