// What a user may write, to the words that CLI11 reads: beginnings of flags, --no- forms, old names and joined values.
#pragma once

#include "cnntrain/config/line.h"

namespace cnntrain::config {

/// In front of each value, so that none looks like a flag or is empty.
inline constexpr char kValueMark = '=';

struct Expanded {
    std::vector<std::string> words;  // "--validation", "=false", "--variable-filter", "=conv", "=fc1"
    std::vector<std::string> rest;   // for another program
};

/// Every flag in full, with one marked value at least. Throws what read_line throws.
Expanded expand(const std::vector<Spelling>& known, const std::vector<std::string>& words, const LineHabits& habits);

}  // namespace cnntrain::config
