// Translates abbreviated flags, --no- forms, old names and joined values into the words that CLI11 reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/config/line.h"

namespace cnntrain::config {

/// Precedes each value in `words`, so that no value is empty or looks like a flag.
inline constexpr char kValueMark = '=';

struct Expanded {
    std::vector<std::string> words;  // "--validation", "=false", "--variable-filter", "=conv", "=fc1"
    std::vector<std::string> rest;   // words for another program
};

/// True for a hyphen followed by more, except for a negative number.
bool is_flag(const std::string& word);

/// The spelling with this full name, or one of those that it abbreviates if they all mean the same; else null.
const Spelling* spelling_of(const std::vector<Spelling>& known, std::string_view name);

/// Writes every flag in full, followed by at least one marked value. Throws the same errors as read_line.
Expanded expand_words(const std::vector<Spelling>& known, const std::vector<std::string>& words,
                      const LineHabits& habits);

}  // namespace cnntrain::config
