// What the tokeniser asks of Unicode characters. The properties are utf8proc's; what Python calls white space, a final
// sigma and a control character follows the definitions of its `str`.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

using CodePoint = char32_t;

/// Of the tables: "15.0.0".
std::string unicode_version();

/// Takes the character at the front of `text`, which then begins behind it. Bytes that belong to no character are
/// dropped one at a time: false.
bool take_code_point(std::string_view& text, CodePoint& value);
void append_utf8(CodePoint value, std::string& text);

/// str.isspace(): category Zs, or bidirectional class WS, B or S.
bool is_white_space(CodePoint value);
/// Nothing but white space and undecodable bytes?
bool is_blank(std::string_view text);
/// Without white space at both ends and without undecodable bytes.
std::string stripped(std::string_view text);

/// Of the basic tokeniser.
enum class CharacterClass : std::uint8_t {
    word,
    dropped,      // controls and formats (Cc, Cf) but tab, line feed and carriage return; U+0000; U+FFFD
    separator,    // these three, the blank, Zs, and the separators of lines and paragraphs
    ideograph,    // of the CJK blocks: a word of its own
    punctuation,  // category P, and the ASCII signs that are neither letters nor digits: likewise
};
CharacterClass class_of(CodePoint value);

// Of a whole word; `scratch` is overwritten.

/// As str.lower() does: with the special cases of the final sigma and of the capital I with a dot.
void make_lower_case(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch);
/// Canonical decomposition (NFD) without the marks that take no room (category Mn).
void strip_accents(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch);

}  // namespace cnntrain::data
