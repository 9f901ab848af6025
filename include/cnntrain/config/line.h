// Reads the command line of every program here: the spellings of its options in, what the line gives out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::config {

/// The words that a flag takes, besides one that is joined to it (--flag=word).
enum class Takes : std::uint8_t {
    nothing,
    optional,  // one or none
    one,
    any,      // the next word, even if it looks like a flag
    several,  // every word up to the next flag
};

/// One way to write an option.
struct Spelling {
    std::string flag;    // "--no-validation", "-h"; a name without hyphens is that of a word without a flag
    std::string option;  // the option's own flag: "--validation"
    Takes takes = Takes::one;
    std::string value = "true";  // of the option, when the line gives none
    bool preferred = true;       // its beginnings go before those of other spellings
};

/// Where programs differ in how they read a line.
struct LineHabits {
    std::string program = {};    // named in errors; may be empty
    bool quotes = false;         // errors name a "flag '--x'" and not an "option --x"
    bool underscores = false;    // --data_dir is --data-dir
    bool gathers = false;        // like argparse: all words up to the next flag belong to the flag before them
    bool hyphen_values = false;  // only words with two hyphens end the words of a flag
    bool trims = false;          // blanks in front of words are dropped, and empty words between options
    /// Does another program read this word, in the place of a flag? `follows`: the word before it was such a word.
    std::function<bool(const std::string& word, bool follows)> foreign = {};
    /// Is asked before a flag is refused that has no spelling, or several. May throw a better error.
    std::function<std::optional<Spelling>(const std::string& word, bool ambiguous)> unknown = {};
};

struct GivenValues {
    std::string option;
    std::vector<std::string> values;  // one at least
};

struct Line {
    std::vector<GivenValues> options;  // in the order of the line; repeated ones stay
    std::vector<std::string> rest;     // the foreign words
};

/// Unambiguous beginnings of flags are enough. Error(usage) for unknown flags, with the nearest name, and for values
/// that are missing or too many.
Line read_line(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits);

/// A whole number in [least, most]. Error(usage) says that `name` expects one.
std::int64_t whole_number(const std::string& name, std::string_view word, std::int64_t least, std::int64_t most);

/// Empty when the word is not a number from its first letter to its last.
std::optional<double> decimal_number(std::string_view word);

}  // namespace cnntrain::config
