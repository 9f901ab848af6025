// Parses command-line words into option values by argparse's rules: an exact flag wins over an unambiguous prefix,
// lists extend to the next option, the last of repeated flags counts, and every boolean has a --no- form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/options/line.h"
#include "cnntrain/options/option_values.h"

namespace cnntrain::options {

/// All ways to write an option: its flag, its --no- form, its old names.
std::vector<Spelling> spellings_of(const Option& option);
/// All ways to write the options of a command.
std::vector<Spelling> spellings_of(const OptionSet& options, Command command);

/// Throws Error(usage) for unknown or ambiguous flags and for values that do not fit. `options`: the options in `all`
/// that exist for this command line.
Layer parse_arguments(const OptionSet& all, Command command, const std::vector<const Option*>& options,
                      const std::vector<std::string>& arguments);

// Translates abbreviated flags, --no- forms, old names and joined values into the words that CLI11 reads.

/// Precedes each value in `words`, so that no value is empty or looks like a flag.
inline constexpr char kValueMark = '=';

struct Expanded {
    std::vector<std::string> words;  // "--validation", "=false", "--variable-filter", "=conv", "=fc1"
    std::vector<std::string> flags;  // spellings of the options' flags: "--no-validation", "--variable-filter"
    std::vector<std::string> rest;   // words for another program
};

/// True for a hyphen followed by more, except for a negative number.
bool is_flag(const std::string& word);

/// The spelling with this full name, or one of those that it abbreviates if they all mean the same; else null.
const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name);

/// Writes every flag in full, followed by at least one marked value. Throws the same errors as read_line.
Expanded expand_words(const std::vector<Spelling>& known, const std::vector<std::string>& words,
                      const LineHabits& habits);

}  // namespace cnntrain::options
