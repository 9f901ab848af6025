// Documented command lines start Python scripts; this program runs in place of the scripts it knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// True for "python" or "python3", also with a folder in front.
bool is_interpreter(std::string_view word);

/// `words`: a program and its arguments. A known script (alone or after an interpreter) and the word "cnntrain" are
/// replaced by `self`, the path of this executable, and the command. Other programs are unchanged. Throws
/// Error(unsupported) for an original script that this program lacks.
std::vector<std::string> with_own_commands(std::vector<std::string> words, const std::string& self);

/// Do these words, as with_own_commands() returns them, only print what a line of this program means (--dry-run,
/// --print-config, --help)?
bool only_describes(const std::vector<std::string>& words, const std::string& self);

}  // namespace cnntrain::launch
