// Unicode properties for the tokeniser. They come from utf8proc; white space, final sigma and control characters follow
// the definitions of Python's `str`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

using CodePoint = char32_t;

/// Version of the tables, such as "15.0.0".
std::string unicode_version();

/// Removes the character at the front of `text` and stores it in `value`. Returns false, after removing one byte, if
/// the bytes are no valid character.
bool take_code_point(std::string_view& text, CodePoint& value);
void append_utf8(CodePoint value, std::string& text);

/// str.isspace(): category Zs, or bidirectional class WS, B or S.
bool is_white_space(CodePoint value);
/// True if `text` consists of white space and undecodable bytes only.
bool is_blank(std::string_view text);
/// The text without undecodable bytes and without white space at both ends.
std::string stripped(std::string_view text);

/// Character classes of BERT's basic tokeniser.
enum class CharacterClass : std::uint8_t {
    word,
    dropped,      // controls and formats (Cc, Cf) except tab, line feed, carriage return; U+0000; U+FFFD
    separator,    // tab, line feed, carriage return, blank, Zs, line and paragraph separators
    ideograph,    // in the CJK blocks: a word of its own
    punctuation,  // category P, and ASCII signs other than letters and digits: a word of its own
};
CharacterClass class_of(CodePoint value);

// These functions change a whole word; `scratch` is overwritten.

/// Does what Python's str.lower() does, with its special cases for final sigma and capital I with a dot.
void make_lower_case(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch);
/// Canonical decomposition (NFD), without nonspacing marks (category Mn).
void strip_accents(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch);

}  // namespace cnntrain::data
