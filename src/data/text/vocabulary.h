// The vocabulary of a WordPiece tokeniser: one piece in each line, whose number is its id; pieces that do not begin a
// word have "##" in front.
//
// The pieces stand in a trie of bytes, so that the longest one at the front of a text is found in one walk. A walk over
// bytes never ends inside a character, because pieces are whole characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

using TokenId = std::uint32_t;

/// The pieces that pretraining records cannot be made without.
struct SpecialTokens {
    TokenId unknown = 0;    // [UNK]
    TokenId beginning = 0;  // [CLS]
    TokenId separator = 0;  // [SEP]
    TokenId mask = 0;       // [MASK]
};

class Vocabulary {
public:
    /// `text`: of the file. Lines are stripped of white space; of a piece that stands in several lines the last one
    /// counts.
    explicit Vocabulary(std::string_view text);
    /// Error(data) names the file when it cannot be read or lacks a special token.
    static Vocabulary read(const FileSystem& files, const std::string& path);

    std::optional<TokenId> find(std::string_view piece) const;
    /// Error(data) names those that are missing.
    SpecialTokens special_tokens() const;
    /// Number of lines: every id is below it.
    TokenId size() const { return lines_; }
    /// The different pieces in order of their first lines, as ids: what random replacements are drawn from.
    const std::vector<TokenId>& distinct() const { return distinct_; }

    /// Appends the pieces of `word` (UTF-8), longest first from the left. False, and nothing appended, if they do not
    /// cover it.
    bool append_pieces(std::string_view word, std::vector<TokenId>& ids) const;

private:
    using Node = std::uint32_t;
    static constexpr Node kNowhere = 0;  // has no children
    static constexpr Node kRoot = 1;
    static constexpr TokenId kNoPiece = ~TokenId{0};

    struct Edge {
        std::uint32_t from = 0;  // node << 8 | byte
        Node to = kNowhere;      // kNowhere: the place is free
    };

    struct Match {
        TokenId id = kNoPiece;
        std::size_t bytes = 0;  // 0: there is none
    };

    void insert(std::string_view piece, TokenId id);
    Match longest_piece(Node start, std::string_view word) const;
    Node child(Node node, unsigned char byte) const;
    Node add_child(Node node, unsigned char byte);
    std::size_t place(std::uint32_t from) const;
    void grow();

    TokenId lines_ = 0;
    std::vector<TokenId> distinct_;
    std::vector<TokenId> piece_at_ = {kNoPiece, kNoPiece};  // by node
    std::vector<Edge> edges_;                               // open addressing; a power of two, half empty
    int shift_ = 0;                                         // of hashes to places
    Node continuation_ = kNowhere;                          // behind "##"
};

}  // namespace cnntrain::data
