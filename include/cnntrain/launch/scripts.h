// Documented lines start Python scripts; this program stands for those whose names it knows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// "python" or "python3", also with a folder in front.
bool is_interpreter(std::string_view word);

/// `words` are a program and its arguments. A known script in front or behind an interpreter, and the word "cnntrain",
/// become `self`, the path of this binary, and the command; all other programs stay as they are.
std::vector<std::string> with_own_commands(std::vector<std::string> words, const std::string& self);

}  // namespace cnntrain::launch
