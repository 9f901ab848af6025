// Converts text to WordPiece token ids as BERT's reference does: clean the text, separate ideographs, split at white
// space, convert to lower case and strip accents, split at punctuation, and divide each word into the longest
// vocabulary pieces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "data/text/code_points.h"
#include "data/text/vocabulary.h"

namespace cnntrain::data {

/// Longer words become the unknown token.
inline constexpr std::size_t kLongestWord = 200;  // characters

/// Not thread-safe: it reuses its buffers.
class Tokeniser {
public:
    /// `vocabulary` must outlive this object. Error(data) if the vocabulary lacks a special token.
    Tokeniser(const Vocabulary& vocabulary, bool lower_case);

    /// Appends the tokens of `text` (UTF-8; undecodable bytes are dropped).
    void append_tokens(std::string_view text, std::vector<TokenId>& ids);

private:
    void append_ascii(std::string_view chunk, std::vector<TokenId>& ids);
    void append_unicode(std::string_view chunk, std::vector<TokenId>& ids);
    void append_characters(std::vector<TokenId>& ids);
    void append_word(std::string_view word, std::size_t characters, std::vector<TokenId>& ids);

    const Vocabulary* vocabulary_;
    TokenId unknown_;
    bool lower_case_;
    std::string word_;                   // in UTF-8
    std::vector<CodePoint> characters_;  // of a word before its punctuation is split off
    std::vector<CodePoint> scratch_;
};

}  // namespace cnntrain::data
