// Names from files and command lines, as a console can show them.
#pragma once

#include <string>
#include <string_view>

namespace cnntrain {

bool is_utf8(std::string_view text);

/// The text with its control characters, and with bytes that are no UTF-8, as \xNN.
std::string printable(std::string_view text);
/// The same, but line ends and tabs stay: for whole messages and tables.
std::string printable_lines(std::string_view text);

}  // namespace cnntrain
