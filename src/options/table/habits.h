// Words that users know from other programs, and their meaning here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cnntrain/options/option.h"

namespace cnntrain::options {

/// A flag with a value that this program does not have, or not in this form. It is consulted only where the line as
/// typed does not work: no flag, old name or abbreviation of this program ever means something else because of a row.
struct Habit {
    std::string_view flag;  // or several, separated by blanks
    /// The values: words in any case, in which `#` stands for a whole number, `X` for a number and `*` for any text.
    /// kNone: the flag has no value. kAny: anything or nothing. kSeveral: more than one word.
    std::string_view value;
    /// The words that it is read as if all their flags exist here, where {} is the text of the first wildcard, {value}
    /// the first value, {others} are the values after it and {values} all.
    std::string_view reads;
    std::uint32_t commands = kAll;
};
inline constexpr std::string_view kNoFlag;  // words that belong to no flag; a row whose option is given does not count
inline constexpr std::string_view kNone;
inline constexpr std::string_view kAny = "**";
inline constexpr std::string_view kSeveral = "* *";

/// All rows. The first one that fits counts, of the rows with a flag.
std::span<const Habit> habits();

/// A command of other programs.
struct CommandHabit {
    std::string_view word;
    std::string_view reads;  // a command of this program, or --version
};
std::span<const CommandHabit> command_habits();

}  // namespace cnntrain::options
