#include "data/text/code_points.h"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

namespace cnntrain::data {
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
