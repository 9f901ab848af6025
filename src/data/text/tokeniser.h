// Converts text to WordPiece token ids as BERT's reference does: clean the text, separate ideographs, split at white
// space, convert to lower case and strip accents, split at punctuation, and divide each word into the longest
// vocabulary pieces.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cnntrain/base/io.h"

namespace cnntrain::data {

// Unicode properties for the tokeniser. They come from utf8proc; white space, final sigma and control characters follow
// the definitions of Python's `str`.

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

/// str.isalnum(): letters and numbers.
bool is_alphanumeric(CodePoint value);

/// The characters of a text, without undecodable bytes.
std::vector<CodePoint> code_points(std::string_view text);
std::string utf8(std::span<const CodePoint> characters);
/// " ".join(str.split()): the parts between white space, with one blank between two of them.
std::string collapsed(std::string_view text);

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

// The vocabulary of a WordPiece tokeniser: one piece per line; the line number is the piece's id. Pieces that do not
// begin a word start with "##".
//
// A byte trie stores the pieces, so that one walk finds the longest piece at the front of a text. A walk never ends
// inside a character, because pieces consist of whole characters.

using TokenId = std::uint32_t;

/// The special tokens that pretraining records need.
struct SpecialTokens {
    TokenId unknown = 0;    // [UNK]
    TokenId beginning = 0;  // [CLS]
    TokenId separator = 0;  // [SEP]
    TokenId mask = 0;       // [MASK]
};

/// Longer words become the unknown token, unless a tokenizer.json has another limit.
inline constexpr std::size_t kLongestWord = 200;  // characters

class Vocabulary {
public:
    /// `text`: contents of the file. White space around lines is stripped. If a piece occurs in several lines, the last
    /// one is its id.
    explicit Vocabulary(std::string_view text);
    /// A file of lines, or by its extension a tokenizer.json. Error(data) names the file if it cannot be read or lacks
    /// a special token; Error(unsupported) for a tokenizer.json of another kind of tokens.
    static Vocabulary read(const FileSystem& files, const std::string& path);

    std::optional<TokenId> find(std::string_view piece) const;
    /// Error(data) names the missing tokens.
    SpecialTokens special_tokens() const;
    /// Number of lines; every id is smaller.
    TokenId size() const { return static_cast<TokenId>(pieces_.size()); }
    /// The piece of each id.
    const std::vector<std::string>& pieces() const { return pieces_; }
    /// The ids of the distinct pieces, in order of first occurrence. Random replacements are drawn from these.
    const std::vector<TokenId>& distinct() const { return distinct_; }

    /// Special tokens that may stand in texts; none is empty.
    const std::vector<std::string>& special_pieces() const { return special_pieces_; }
    std::size_t longest_word() const { return longest_word_; }

    /// Appends the pieces of `word` (UTF-8), the longest first from the left. Returns false, and appends nothing, if no
    /// pieces cover the word.
    bool append_pieces(std::string_view word, std::vector<TokenId>& ids) const;

private:
    using Node = std::uint32_t;
    static constexpr Node kNowhere = 0;  // has no children
    static constexpr Node kRoot = 1;
    static constexpr TokenId kNoPiece = ~TokenId{0};

    struct Edge {
        std::uint32_t from = 0;  // node << 8 | byte
        Node to = kNowhere;      // kNowhere: the entry is free
    };

    struct Match {
        TokenId id = kNoPiece;
        std::size_t bytes = 0;  // 0: no piece
    };

    void insert(std::string_view piece, TokenId id);
    Match longest_piece(Node start, std::string_view word) const;
    Node child(Node node, unsigned char byte) const;
    Node add_child(Node node, unsigned char byte);
    std::size_t place(std::uint32_t from) const;
    void grow();

    std::vector<std::string> pieces_;
    std::size_t longest_word_ = kLongestWord;
    std::vector<std::string> special_pieces_ = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    std::vector<TokenId> distinct_;
    std::vector<TokenId> piece_at_ = {kNoPiece, kNoPiece};  // by node
    std::vector<Edge> edges_;       // hash table, open addressing; size a power of two, half full
    int shift_ = 0;                 // from hash to table position
    Node continuation_ = kNowhere;  // the node after "##"
};

/// A special token that stands in a text.
struct SpecialPiece {
    std::size_t begin = 0, end = 0;  // in the text
    TokenId id = 0;
};
/// The first one in a text, of several the longest.
std::optional<SpecialPiece> special_piece(const Vocabulary& vocabulary, std::string_view text);

/// Not thread-safe: it reuses its buffers.
class Tokeniser {
public:
    /// `vocabulary` must outlive this object. Error(data) if the vocabulary lacks a special token.
    Tokeniser(const Vocabulary& vocabulary, bool lower_case);

    /// Appends the tokens of `text` (UTF-8; undecodable bytes are dropped).
    void append_tokens(std::string_view text, std::vector<TokenId>& ids);
    /// The same, but special tokens that stand in the text are one token each, unless they are split.
    void append(std::string_view text, bool splits_special_tokens, std::vector<TokenId>& ids);

private:
    friend std::string basic_words(std::string_view text, bool lower_case);
    /// Without a vocabulary: collects words.
    explicit Tokeniser(bool lower_case) : vocabulary_(nullptr), unknown_(0), lower_case_(lower_case) {}

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
    std::string words_;  // with a blank between two of them; used without a vocabulary
};

/// The words that a Tokeniser divides into pieces, with a blank between two of them.
std::string basic_words(std::string_view text, bool lower_case);

}  // namespace cnntrain::data
