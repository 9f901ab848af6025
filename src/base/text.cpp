#include "cnntrain/base/text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace cnntrain {

bool is_utf8(std::string_view text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::type_error&) {
        return false;
    }
}

namespace {

/// Terminals take U+0080 to U+009F, two bytes in UTF-8, for control characters, too.
bool is_wide_control(std::string_view text, std::size_t at) {
    constexpr char kLead = '\xc2';
    const auto is = [&](std::size_t place, auto holds) {
        return place < text.size() && holds(static_cast<unsigned char>(text[place]));
    };
    const auto continues = [](unsigned char byte) { return byte >= 0x80 && byte < 0xa0; };
    const bool begins = text[at] == kLead && is(at + 1, continues);
    return begins || (at > 0 && text[at - 1] == kLead && is(at, continues));
}

std::string shown(std::string_view text, std::string_view kept) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (std::ranges::all_of(text, is_plain)) return std::string(text);
    const bool is_text = is_utf8(text);
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool is_kept = kept.find(text[i]) != std::string_view::npos;
        const bool hidden = byte < 0x20 || byte == 0x7f || (!is_text && byte >= 0x80) || is_wide_control(text, i);
        shown += hidden && !is_kept ? formatted("\\x%02x", static_cast<unsigned>(byte)) : std::string(1, text[i]);
    }
    return shown;
}

}  // namespace

std::string printable(std::string_view text) {
    return shown(text, "");
}

std::string printable_lines(std::string_view text) {
    return shown(text, "\n\t");
}

}  // namespace cnntrain
