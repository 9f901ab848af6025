// Splits command lines into words and joins words to command lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// Splits as a POSIX shell does, with quotes and backslashes but no expansion. Throws Error(data) for an open quote.
std::vector<std::string> split_words(std::string_view text);

/// The inverse, for readers: single quotes only around words that need them.
std::string quoted(const std::vector<std::string>& words);

/// All words in single quotes.
std::string all_quoted(const std::vector<std::string>& words);

}  // namespace cnntrain::launch
