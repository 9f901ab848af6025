// What every JSON text is held against before anything is made of it, because parsers and their trees trust a text more
// than a file deserves.
#pragma once

#include <string_view>

namespace cnntrain {

/// Error(data) saying what and where (line and column), unless `text` is one JSON value whose brackets are nested at
/// most 64 deep, that holds at most two million values, and in which no object has a key twice.
void check_json(std::string_view text);

}  // namespace cnntrain
