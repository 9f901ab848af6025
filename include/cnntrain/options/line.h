// Reads a command line for any program of this project: option spellings in, option values out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::options {

/// Number of words that a flag takes as its value. A word joined to the flag (--flag=word) counts as one of them.
enum class Takes : std::uint8_t {
    nothing,
    optional,  // zero or one
    one,
    any,      // the next word, even if it starts with a hyphen
    several,  // every word up to the next flag
};

/// One way to write an option.
struct Spelling {
    std::string flag;    // "--no-validation", "-h"; a name without hyphens stands for a positional word
    std::string option;  // the option's own flag: "--validation"
    Takes takes = Takes::one;
    std::string value = "true";  // the option's value if the command line gives none
    bool preferred = true;       // prefixes match preferred spellings before all others
};

/// Rules for reading a command line that differ between programs.
struct LineHabits {
    std::string program = {};    // prefix of error messages; may be empty
    bool quotes = false;         // errors say "flag '--x'" instead of "option --x"
    bool underscores = false;    // --data_dir means --data-dir
    bool gathers = false;        // as in argparse, all words up to the next flag belong to the previous flag
    bool hyphen_values = false;  // only words that start with two hyphens end a flag's list of values
    bool trims = false;          // drops leading blanks of words, and empty words between options
    /// True if `word`, read where a flag may stand, belongs to another program. `follows`: so did the previous word.
    std::function<bool(const std::string& word, bool follows)> foreign = {};
    /// Called for an unknown or ambiguous flag before it is refused. May return the spelling that was meant, or throw a
    /// more specific error.
    std::function<std::optional<Spelling>(const std::string& word, bool ambiguous)> unknown = {};
};

struct GivenValues {
    std::string option;
    std::string flag;                 // the spelling of the option on the line, in full
    std::vector<std::string> values;  // at least one
};

struct Line {
    std::vector<GivenValues> options;  // in command-line order; repeated options are all kept
    std::vector<std::string> rest;     // words of the other program (LineHabits::foreign)
};

/// A flag may be abbreviated to an unambiguous prefix. Throws Error(usage) for unknown flags, naming the nearest one,
/// and for too few or too many values.
Line read_line(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits);

/// Parses a whole number in [least, most]. Throws Error(usage), naming `name`, for anything else.
std::int64_t whole_number(const std::string& name, std::string_view word, std::int64_t least, std::int64_t most);

/// Empty unless the whole word is a number.
std::optional<double> decimal_number(std::string_view word);

}  // namespace cnntrain::options
