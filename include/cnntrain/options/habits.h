// Reads words that users know from other programs (src/options/table/habits.cpp).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/task_options.h"

namespace cnntrain::options {

/// A line in this program's own words.
struct OwnWords {
    std::vector<std::string> words;
    std::string notice = {};   // how the line was read; "" if it had no foreign words
    std::string refusal = {};  // why the line says two things; "" if it does not
    std::map<std::string, std::string, std::less<>> values = {};  // first word of each option's last value, by flag

    /// A value before the line is checked: words that are no options of the task are skipped.
    std::optional<std::string> value(std::string_view flag) const;
};

/// Replaces the options and values of other programs that have one exact meaning here. What works as typed stays as it
/// is.
OwnWords in_own_words(const TaskOptions& task, Command command, const std::vector<std::string>& words);

/// The options as which a flag of other programs, without hyphens, is read here ("--image-size").
std::vector<std::string> meanings_of_habit(std::string_view name);

/// The command that another program's word stands for; "" for any other word.
std::string_view command_of_habit(std::string_view word);

}  // namespace cnntrain::options
