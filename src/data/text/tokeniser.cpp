#include "data/text/tokeniser.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>

#include "cnntrain/base/error.h"

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
    if (vocabulary_ == nullptr) {
        if (!word.empty()) (words_ += words_.empty() ? "" : " ") += word;
        return;
    }
    if (characters > vocabulary_->longest_word() || !vocabulary_->append_pieces(word, ids)) ids.push_back(unknown_);
}

void Tokeniser::append(std::string_view text, bool splits_special_tokens, std::vector<TokenId>& ids) {
    if (splits_special_tokens) return append_tokens(text, ids);
    while (const std::optional<SpecialPiece> piece = special_piece(*vocabulary_, text)) {
        append_tokens(text.substr(0, piece->begin), ids);
        ids.push_back(piece->id);
        text.remove_prefix(piece->end);
    }
    append_tokens(text, ids);
}

std::string basic_words(std::string_view text, bool lower_case) {
    Tokeniser tokeniser(lower_case);
    std::vector<TokenId> none;
    tokeniser.append_tokens(text, none);
    return std::move(tokeniser.words_);
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
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        const std::string& piece = pieces_.emplace_back(stripped(text.substr(0, end)));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const TokenId id = size() - 1;
        const auto [known, is_new] = places.emplace(piece, distinct_.size());
        if (is_new) distinct_.push_back(id);
        distinct_[known->second] = id;
        insert(piece, id);
    }
    continuation_ = kRoot;
    for (const char c : kContinuation)
        continuation_ = child(continuation_, static_cast<unsigned char>(c));
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
                                         std::to_string(size()) +
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
    std::optional<SpecialPiece> first;
    for (const std::string& piece : vocabulary.special_pieces()) {
        const std::size_t at = text.find(piece);
        if (at == std::string_view::npos) continue;
        const std::size_t end = at + piece.size();
        if (first && (at > first->begin || (at == first->begin && end <= first->end))) continue;
        if (const std::optional<TokenId> id = vocabulary.find(piece)) first = SpecialPiece{at, end, *id};
    }
    return first;
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

namespace {

constexpr CodePoint kReplacement = 0xfffd;
constexpr CodePoint kCapitalSigma = 0x3a3;
constexpr CodePoint kSmallSigma = 0x3c3;
constexpr CodePoint kFinalSigma = 0x3c2;
constexpr CodePoint kCapitalDottedI = 0x130;
constexpr CodePoint kDotAbove = 0x307;

struct Block {
    CodePoint first;
    CodePoint last;
    bool holds(CodePoint value) const { return value >= first && value <= last; }
};

/// The ideographs that the multilingual BERT repository separates; other CJK characters (kana, Hangul) form words.
constexpr Block kIdeographs[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                                 {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
constexpr Block kAsciiSigns[] = {{33, 47}, {58, 64}, {91, 96}, {123, 126}};
constexpr Block kHangulSyllables = {0xac00, 0xd7a3};

/// Characters with Word_Break MidLetter, MidNumLet or Single_Quote, which utf8proc does not provide; they are
/// case-ignorable (Unicode standard, section 3.13, definition 136).
constexpr CodePoint kInsideWords[] = {0x27,   0x2e,   0x3a,   0xb7,   0x387,  0x55f,  0x5f4,  0x2018, 0x2019,
                                      0x2024, 0x2027, 0xfe13, 0xfe52, 0xfe55, 0xff07, 0xff0e, 0xff1a};
/// Cased characters without a cased category or a case mapping (Other_Lowercase, Other_Uppercase).
constexpr Block kCasedSigns[] = {
    {0xaa, 0xaa}, {0xba, 0xba}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

template <std::size_t N> bool in_any(const Block (&blocks)[N], CodePoint value) {
    return std::any_of(std::begin(blocks), std::end(blocks), [&](const Block& block) { return block.holds(value); });
}

const utf8proc_property_t& property(CodePoint value) {
    return *utf8proc_get_property(static_cast<utf8proc_int32_t>(value));
}

bool is_case_ignorable(CodePoint value) {
    switch (property(value).category) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK:
            return true;
        default:
            return std::find(std::begin(kInsideWords), std::end(kInsideWords), value) != std::end(kInsideWords);
    }
}

bool is_cased(CodePoint value) {
    switch (property(value).category) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
            return true;
        default:
            break;
    }
    const auto as_is = static_cast<utf8proc_int32_t>(value);
    return utf8proc_tolower(as_is) != as_is || utf8proc_toupper(as_is) != as_is || in_any(kCasedSigns, value);
}

/// True if the first character that is not case-ignorable is cased.
template <typename Iterator> bool meets_cased(Iterator begin, Iterator end) {
    const Iterator found = std::find_if_not(begin, end, is_case_ignorable);
    return found != end && is_cased(*found);
}

/// Unicode standard, table 3-17: a cased letter precedes it in the word and none follows.
bool is_final_sigma(const std::vector<CodePoint>& word, std::size_t at) {
    const auto here = word.begin() + static_cast<std::ptrdiff_t>(at);
    return meets_cased(std::make_reverse_iterator(here), word.rend()) && !meets_cased(here + 1, word.end());
}

bool has_no_decomposition(CodePoint value) {
    return property(value).decomp_seqindex == UINT16_MAX && !kHangulSyllables.holds(value);
}

/// Canonical ordering: sorts each run of marks by combining class (Unicode standard, definition 109).
void order_marks(std::vector<CodePoint>& word) {
    const auto is_starter = [](CodePoint value) { return property(value).combining_class == 0; };
    for (auto at = word.begin(); at != word.end();) {
        at = std::find_if_not(at, word.end(), is_starter);
        const auto end = std::find_if(at, word.end(), is_starter);
        std::stable_sort(at, end, [](CodePoint a, CodePoint b) {
            return property(a).combining_class < property(b).combining_class;
        });
        at = end;
    }
}

}  // namespace

std::string unicode_version() {
    return utf8proc_unicode_version();
}

bool take_code_point(std::string_view& text, CodePoint& value) {
    utf8proc_int32_t found = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                    static_cast<utf8proc_ssize_t>(text.size()), &found);
    text.remove_prefix(bytes > 0 ? static_cast<std::size_t>(bytes) : 1);
    value = static_cast<CodePoint>(found);
    return bytes > 0;
}

void append_utf8(CodePoint value, std::string& text) {
    std::array<utf8proc_uint8_t, 4> bytes{};
    const utf8proc_ssize_t count = utf8proc_encode_char(static_cast<utf8proc_int32_t>(value), bytes.data());
    text.append(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(count));
}

bool is_alphanumeric(CodePoint value) {
    const auto category = property(value).category;
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO) ||
           (category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO);
}

std::vector<CodePoint> code_points(std::string_view text) {
    std::vector<CodePoint> characters;
    CodePoint value = 0;
    while (!text.empty()) {
        if (take_code_point(text, value)) characters.push_back(value);
    }
    return characters;
}

std::string utf8(std::span<const CodePoint> characters) {
    std::string text;
    for (const CodePoint value : characters)
        append_utf8(value, text);
    return text;
}

std::string collapsed(std::string_view text) {
    std::string result;
    bool space = false;
    for (const CodePoint value : code_points(text)) {
        if (is_white_space(value)) {
            space = !result.empty();
            continue;
        }
        if (space) result += ' ';
        space = false;
        append_utf8(value, result);
    }
    return result;
}

bool is_white_space(CodePoint value) {
    const utf8proc_property_t& known = property(value);
    return known.category == UTF8PROC_CATEGORY_ZS || known.bidi_class == UTF8PROC_BIDI_CLASS_WS ||
           known.bidi_class == UTF8PROC_BIDI_CLASS_B || known.bidi_class == UTF8PROC_BIDI_CLASS_S;
}

bool is_blank(std::string_view text) {
    CodePoint value = 0;
    while (!text.empty()) {
        if (take_code_point(text, value) && !is_white_space(value)) return false;
    }
    return true;
}

std::string stripped(std::string_view text) {
    std::string result;
    std::size_t end = 0;  // end of the kept part of `result`
    CodePoint value = 0;
    while (!text.empty()) {
        if (!take_code_point(text, value)) continue;
        const bool space = is_white_space(value);
        if (space && result.empty()) continue;
        append_utf8(value, result);
        if (!space) end = result.size();
    }
    result.resize(end);
    return result;
}

CharacterClass class_of(CodePoint value) {
    if (value == '\t' || value == '\n' || value == '\r') return CharacterClass::separator;
    if (value == kReplacement) return CharacterClass::dropped;
    if (in_any(kAsciiSigns, value)) return CharacterClass::punctuation;
    switch (property(value).category) {
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
            return CharacterClass::dropped;
        case UTF8PROC_CATEGORY_ZS:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP:
            return CharacterClass::separator;
        case UTF8PROC_CATEGORY_PC:
        case UTF8PROC_CATEGORY_PD:
        case UTF8PROC_CATEGORY_PS:
        case UTF8PROC_CATEGORY_PE:
        case UTF8PROC_CATEGORY_PI:
        case UTF8PROC_CATEGORY_PF:
        case UTF8PROC_CATEGORY_PO:
            return CharacterClass::punctuation;
        default:
            return in_any(kIdeographs, value) ? CharacterClass::ideograph : CharacterClass::word;
    }
}

void make_lower_case(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch) {
    scratch.clear();
    for (std::size_t i = 0; i < word.size(); ++i) {
        const CodePoint value = word[i];
        if (value == kCapitalSigma) {
            scratch.push_back(is_final_sigma(word, i) ? kFinalSigma : kSmallSigma);
        } else if (value == kCapitalDottedI) {
            scratch.insert(scratch.end(), {'i', kDotAbove});
        } else {
            scratch.push_back(static_cast<CodePoint>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value))));
        }
    }
    word.swap(scratch);
}

void strip_accents(std::vector<CodePoint>& word, std::vector<CodePoint>& scratch) {
    constexpr utf8proc_ssize_t kLongest = 32;  // decompositions have at most four characters
    scratch.clear();
    bool marks = false;
    for (const CodePoint value : word) {
        const std::size_t before = scratch.size();
        if (has_no_decomposition(value)) {
            scratch.push_back(value);
        } else {
            std::array<utf8proc_int32_t, kLongest> parts{};
            int boundary = 0;
            const utf8proc_ssize_t count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(value), parts.data(),
                                                                   kLongest, UTF8PROC_DECOMPOSE, &boundary);
            scratch.insert(scratch.end(), parts.begin(), parts.begin() + count);
        }
        for (std::size_t i = before; i < scratch.size(); ++i)
            marks = marks || property(scratch[i]).combining_class != 0;
    }
    // Also affects marks that stay: the spacing marks.
    if (marks) order_marks(scratch);
    std::erase_if(scratch, [](CodePoint value) { return property(value).category == UTF8PROC_CATEGORY_MN; });
    word.swap(scratch);
}

}  // namespace cnntrain::data
