#include "data/text/tokeniser.h"

#include <algorithm>
#include <array>
#include <bit>

#include "cnntrain/base/error.h"
#include "data/text/code_points.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kAscii = 128;

/// class_of() for the ASCII characters.
const std::array<CharacterClass, kAscii>& ascii_classes() {
    static const std::array<CharacterClass, kAscii> table = [] {
        std::array<CharacterClass, kAscii> classes{};
        for (std::size_t i = 0; i < kAscii; ++i)
            classes[i] = class_of(static_cast<CodePoint>(i));
        return classes;
    }();
    return table;
}

bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < kAscii;
}

/// Class of an ASCII character.
CharacterClass class_of(char c) {
    return ascii_classes()[static_cast<unsigned char>(c)];
}

char lower_ascii(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

}  // namespace

Tokeniser::Tokeniser(const Vocabulary& vocabulary, bool lower_case)
    : vocabulary_(&vocabulary), unknown_(vocabulary.special_tokens().unknown), lower_case_(lower_case) {}

void Tokeniser::append_tokens(std::string_view text, std::vector<TokenId>& ids) {
    const auto separates = [](char c) { return is_ascii(c) && class_of(c) == CharacterClass::separator; };
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at != end;) {
        if (separates(*at)) {
            ++at;
            continue;
        }
        const char* const begin = at;
        bool ascii = true;
        for (; at != end && !separates(*at); ++at)
            ascii = ascii && is_ascii(*at);
        const std::string_view chunk(begin, static_cast<std::size_t>(at - begin));
        if (ascii) {
            append_ascii(chunk, ids);
        } else {
            append_unicode(chunk, ids);
        }
    }
}

/// Fast path for ASCII text: needs no context and no decomposition.
void Tokeniser::append_ascii(std::string_view chunk, std::vector<TokenId>& ids) {
    word_.clear();
    for (const char c : chunk) {
        switch (class_of(c)) {
            case CharacterClass::word:
                word_ += lower_case_ ? lower_ascii(c) : c;
                break;
            case CharacterClass::punctuation:
                append_word(word_, word_.size(), ids);
                append_word({&c, 1}, 1, ids);
                word_.clear();
                break;
            default:  // dropped characters
                break;
        }
    }
    append_word(word_, word_.size(), ids);
}

void Tokeniser::append_unicode(std::string_view chunk, std::vector<TokenId>& ids) {
    characters_.clear();
    CodePoint value = 0;
    while (!chunk.empty()) {
        if (!take_code_point(chunk, value)) continue;
        switch (class_of(value)) {
            case CharacterClass::dropped:
                break;
            case CharacterClass::separator:
                append_characters(ids);
                break;
            case CharacterClass::ideograph:
                append_characters(ids);
                characters_.push_back(value);
                append_characters(ids);
                break;
            default:
                characters_.push_back(value);
        }
    }
    append_characters(ids);
}

/// Consumes `characters_`, a word with its punctuation.
void Tokeniser::append_characters(std::vector<TokenId>& ids) {
    if (lower_case_) {
        make_lower_case(characters_, scratch_);
        strip_accents(characters_, scratch_);
    }
    word_.clear();
    std::size_t count = 0;
    for (const CodePoint value : characters_) {
        const bool alone = class_of(value) == CharacterClass::punctuation;
        if (alone) {
            append_word(word_, count, ids);
            word_.clear();
            count = 0;
        }
        append_utf8(value, word_);
        ++count;
        if (alone) {
            append_word(word_, count, ids);
            word_.clear();
            count = 0;
        }
    }
    append_word(word_, count, ids);
    characters_.clear();
}

void Tokeniser::append_word(std::string_view word, std::size_t characters, std::vector<TokenId>& ids) {
    if (characters > kLongestWord || !vocabulary_->append_pieces(word, ids)) ids.push_back(unknown_);
}

namespace {

constexpr std::string_view kContinuation = "##";
constexpr std::size_t kFirstEdges = std::size_t{1} << 10;
/// A node number and a byte are packed into 32 bits.
constexpr std::size_t kMostNodes = std::size_t{1} << 24;

struct SpecialToken {
    std::string_view piece;
    TokenId SpecialTokens::*member;
};
constexpr std::array<SpecialToken, 4> kSpecialTokens = {{{"[UNK]", &SpecialTokens::unknown},
                                                         {"[CLS]", &SpecialTokens::beginning},
                                                         {"[SEP]", &SpecialTokens::separator},
                                                         {"[MASK]", &SpecialTokens::mask}}};

}  // namespace

Vocabulary::Vocabulary(std::string_view text) : edges_(kFirstEdges) {
    shift_ = 32 - std::countr_zero(kFirstEdges);
    std::unordered_map<std::string, std::size_t> places;  // positions in distinct_
    for (; !text.empty(); ++lines_) {
        const std::size_t end = text.find('\n');
        const std::string piece = stripped(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const auto [known, is_new] = places.emplace(piece, distinct_.size());
        if (is_new) distinct_.push_back(lines_);
        distinct_[known->second] = lines_;
        insert(piece, lines_);
    }
    continuation_ = kRoot;
    for (const char c : kContinuation)
        continuation_ = child(continuation_, static_cast<unsigned char>(c));
}

Vocabulary Vocabulary::read(const FileSystem& files, const std::string& path) {
    Vocabulary vocabulary(read_text(files, path));
    try {
        vocabulary.special_tokens();
    } catch (const Error& error) {
        throw error.within("vocabulary " + path);
    }
    return vocabulary;
}

SpecialTokens Vocabulary::special_tokens() const {
    SpecialTokens tokens;
    std::string missing;
    for (const SpecialToken& token : kSpecialTokens) {
        const std::optional<TokenId> id = find(token.piece);
        if (!id) missing += (missing.empty() ? "" : ", ") + std::string(token.piece);
        tokens.*token.member = id.value_or(0);
    }
    if (!missing.empty()) {
        throw Error(ErrorKind::data, missing + (missing.size() > 6 ? " are" : " is") + " missing among its " +
                                         std::to_string(lines_) +
                                         " lines; a WordPiece vocabulary has one piece in each line");
    }
    return tokens;
}

std::size_t Vocabulary::place(std::uint32_t from) const {
    std::size_t at = (from * 0x9e3779b1U) >> shift_;  // 2^32 / golden ratio (Knuth, volume 3, section 6.4)
    while (edges_[at].to != kNowhere && edges_[at].from != from)
        at = (at + 1) & (edges_.size() - 1);
    return at;
}

Vocabulary::Node Vocabulary::child(Node node, unsigned char byte) const {
    return edges_[place(node << 8 | byte)].to;
}

Vocabulary::Node Vocabulary::add_child(Node node, unsigned char byte) {
    if (2 * piece_at_.size() >= edges_.size()) grow();
    const std::uint32_t from = node << 8 | byte;
    Edge& edge = edges_[place(from)];
    if (edge.to != kNowhere) return edge.to;
    if (piece_at_.size() == kMostNodes) throw Error(ErrorKind::data, "the vocabulary is too large");
    edge = {from, static_cast<Node>(piece_at_.size())};
    piece_at_.push_back(kNoPiece);
    return edge.to;
}

void Vocabulary::grow() {
    std::vector<Edge> old(2 * edges_.size());
    old.swap(edges_);
    --shift_;
    for (const Edge& edge : old) {
        if (edge.to != kNowhere) edges_[place(edge.from)] = edge;
    }
}

void Vocabulary::insert(std::string_view piece, TokenId id) {
    Node node = kRoot;
    for (const char c : piece)
        node = add_child(node, static_cast<unsigned char>(c));
    piece_at_[node] = id;
}

std::optional<TokenId> Vocabulary::find(std::string_view piece) const {
    Node node = kRoot;
    for (const char c : piece) {
        node = child(node, static_cast<unsigned char>(c));
        if (node == kNowhere) return std::nullopt;
    }
    return piece_at_[node] == kNoPiece ? std::nullopt : std::optional(piece_at_[node]);
}

Vocabulary::Match Vocabulary::longest_piece(Node start, std::string_view word) const {
    Match longest;
    Node node = start;
    for (std::size_t i = 0; i < word.size(); ++i) {
        node = child(node, static_cast<unsigned char>(word[i]));
        if (node == kNowhere) break;
        if (piece_at_[node] != kNoPiece) longest = {piece_at_[node], i + 1};
    }
    return longest;
}

std::optional<SpecialPiece> special_piece(const Vocabulary& vocabulary, std::string_view text) {
    constexpr std::string_view kPieces[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
        for (const std::string_view piece : kPieces) {
            if (!text.substr(at).starts_with(piece)) continue;
            if (const std::optional<TokenId> id = vocabulary.find(piece))
                return SpecialPiece{at, at + piece.size(), *id};
        }
    }
    return std::nullopt;
}

bool Vocabulary::append_pieces(std::string_view word, std::vector<TokenId>& ids) const {
    const std::size_t before = ids.size();
    for (Node start = kRoot; !word.empty(); start = continuation_) {
        const Match longest = longest_piece(start, word);
        if (longest.bytes == 0) {
            ids.resize(before);
            return false;
        }
        ids.push_back(longest.id);
        word.remove_prefix(longest.bytes);
    }
    return true;
}

}  // namespace cnntrain::data
