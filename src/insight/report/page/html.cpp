#include "insight/report/page/html.h"

#include <cstdint>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::report {

namespace {

/// One character of UTF-8.
struct Character {
    std::uint32_t code = 0;
    std::size_t bytes = 0;  // 0: the first byte begins no character
};

Character character_at(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return {first, 1};
    const std::size_t bytes = first >= 0xF0 && first < 0xF5   ? 4
                              : first >= 0xE0 && first < 0xF0 ? 3
                              : first >= 0xC2 && first < 0xE0 ? 2
                                                              : 0;
    if (bytes == 0 || bytes > text.size()) return {};
    std::uint32_t code = first & (0xFFU >> (bytes + 1));
    for (std::size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        code = code << 6 | (byte(i) & 0x3FU);
    }
    constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code < kLeast[bytes] || code > 0x10FFFF || surrogate ? Character{} : Character{code, bytes};
}

/// True for control characters, and characters that make text look like other text.
bool is_hidden(std::uint32_t code) {
    const bool control = (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0);
    const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E ||
                           code == 0x200F || code == 0x061C;
    const bool no_character = (code & 0xFFFEU) == 0xFFFE || (code >= 0xFDD0 && code <= 0xFDEF) || code == 0xFEFF;
    return control || direction || no_character || code == 0x2028 || code == 0x2029;
}

void append(std::string& result, const Character& one, std::string_view bytes) {
    switch (one.code) {
        case '&':
            result += "&amp;";
            return;
        case '<':
            result += "&lt;";
            return;
        case '>':
            result += "&gt;";
            return;
        case '"':
            result += "&quot;";
            return;
        case '\'':
            result += "&#39;";
            return;
        default:
            break;
    }
    if (!is_hidden(one.code)) {
        result += bytes;
    } else {
        result += formatted(one.code < 0x100 ? "\\x%02x" : "\\u%04x", static_cast<unsigned>(one.code));
    }
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const Character one = character_at(text.substr(at));
        if (one.bytes == 0) {
            result += formatted("\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(text[at])));
            ++at;
            continue;
        }
        append(result, one, text.substr(at, one.bytes));
        at += one.bytes;
    }
    return result;
}

void Html::begin(Literal tag, const std::vector<Attribute>& attributes) {
    text_ += '<';
    text_ += tag.view();
    for (const Attribute& attribute : attributes) {
        text_ += ' ';
        text_ += attribute.name.view();
        text_ += "=\"" + escaped(attribute.value) + '"';
    }
}

Html& Html::open(Literal tag, const std::vector<Attribute>& attributes) {
    begin(tag, attributes);
    text_ += '>';
    open_.push_back(tag.view());
    return *this;
}

Html& Html::close() {
    CNNTRAIN_CHECK(!open_.empty(), "no element is open");
    text_ += "</";
    text_ += open_.back();
    text_ += open_.back() == "span" ? ">" : ">\n";  // spans stand within text
    open_.pop_back();
    return *this;
}

Html& Html::leaf(Literal tag, std::string_view text, const std::vector<Attribute>& attributes) {
    return open(tag, attributes).text(text).close();
}

Html& Html::empty(Literal tag, const std::vector<Attribute>& attributes) {
    begin(tag, attributes);
    text_ += "/>";
    return *this;
}

Html& Html::text(std::string_view text) {
    text_ += escaped(text);
    return *this;
}

Html& Html::literal(Literal markup) {
    text_ += markup.view();
    return *this;
}

Html& Html::add(const Html& part) {
    text_ += part.finished();
    return *this;
}

const std::string& Html::finished() const {
    CNNTRAIN_CHECK(open_.empty(), "an element is not closed");
    return text_;
}

}  // namespace cnntrain::report
