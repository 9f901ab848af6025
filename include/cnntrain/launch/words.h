// Command lines as words, and back.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::launch {

/// Words as a POSIX shell splits them: quotes and backslashes, nothing else. Error(data) for an open quote.
std::vector<std::string> split_words(std::string_view text);

/// The inverse, for people: words that need it are in single quotes.
std::string quoted(const std::vector<std::string>& words);

/// Every word in single quotes.
std::string all_quoted(const std::vector<std::string>& words);

}  // namespace cnntrain::launch
