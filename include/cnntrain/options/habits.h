// Reads words that users know from other programs (src/options/table/habits.cpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/task_options.h"

namespace cnntrain::options {

/// A line in this program's own words.
struct OwnWords {
    std::vector<std::string> words;
    std::string notice = {};  // how the line was read; "" if it had no foreign words
};

/// Replaces the options and values of other programs that have one exact meaning here. What works as typed stays as it
/// is. Throws Error(usage) for lines that give one value twice; `lenient`: leaves them as they are.
OwnWords in_own_words(const TaskOptions& task, Command command, const std::vector<std::string>& words,
                      bool lenient = false);

/// The options as which a flag of other programs, without hyphens, is read here ("--image-size").
std::vector<std::string> meanings_of_habit(std::string_view name);

/// The command that another program's word stands for; "" for any other word.
std::string_view command_of_habit(std::string_view word);

}  // namespace cnntrain::options
