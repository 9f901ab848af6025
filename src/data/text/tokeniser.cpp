#include "data/text/tokeniser.h"

#include <algorithm>
#include <array>

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

/// For an ASCII character.
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

}  // namespace cnntrain::data
