// Reads a command line for any program of this project: option spellings in, option values out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/options/task_options.h"

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

// Reads words that users know from other programs (src/options/table/habits.cpp).

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

/// Replaces names of published weights, in the line and its configuration, by the paths that `find` finds.
void replace_names_of_weights(const TaskOptions& task, Command command, OwnWords& line, Layer& config,
                              const FindWeights& find);

/// The options as which a flag of other programs, without hyphens, is read here ("--image-size").
std::vector<std::string> meanings_of_habit(std::string_view name);

/// The command that another program's word stands for; "" for any other word.
std::string_view command_of_habit(std::string_view word);

// Reads YAML text and enforces size limits before it is parsed: with anchors, a short file can expand without bound.

/// The text of a file of at most 1 MB, checked by check_yaml(). Throws Error(data) if the file cannot be read, and
/// check_yaml()'s Error(kind) otherwise; both name the file.
std::string yaml_text(const std::string& file, ErrorKind kind);

/// Throws Error(kind), with the line, if `text` is not valid YAML, holds more than one document, has an anchor that
/// contains itself, or, with all references (*name) expanded, holds more than 20000 values or nests deeper than 64
/// levels.
void check_yaml(std::string_view text, ErrorKind kind);

}  // namespace cnntrain::options
