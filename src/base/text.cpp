#include "cnntrain/base/text.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"

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

Patterns::Patterns(const std::vector<std::string>& expressions, const std::string& what) {
    re2::RE2::Options options;
    options.set_log_errors(false);
    for (const std::string& expression : expressions) {
        auto engine = std::make_shared<const re2::RE2>(expression, options);
        if (!engine->ok()) {
            throw Error(ErrorKind::usage,
                        what + " '" + expression + "' is no regular expression of RE2: " + engine->error());
        }
        engines_.push_back(std::move(engine));
    }
}

bool Patterns::match(std::string_view name) const {
    const re2::StringPiece text(name.data(), name.size());
    return std::ranges::any_of(engines_, [&](const auto& engine) { return re2::RE2::PartialMatch(text, *engine); });
}

std::vector<std::string> Patterns::idle(const std::vector<std::string>& names) const {
    std::vector<std::string> result;
    for (const auto& engine : engines_) {
        const bool hit =
            std::ranges::any_of(names, [&](const std::string& name) { return re2::RE2::PartialMatch(name, *engine); });
        if (!hit) result.push_back(engine->pattern());
    }
    return result;
}

namespace {

using nlohmann::json;

constexpr std::size_t kDeepest = 64;  // a tensor's shape in a checkpoint's header is 3 deep
constexpr std::size_t kMostValues = 2'000'000;

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

std::string place(std::string_view text, std::size_t at) {
    const std::string_view before = text.substr(0, std::min(at, text.size()));
    const std::size_t line_begin = before.rfind('\n') + 1;  // 0 when there is none
    return "line " + std::to_string(std::ranges::count(before, '\n') + 1) + ", column " +
           std::to_string(before.size() - line_begin + 1);
}

/// Limits the depth before the text is parsed, because the parser's own memory grows with the depth.
void check_depth(std::string_view text) {
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t at = 0; at < text.size(); ++at) {
        const char c = text[at];
        if (quoted) {
            if (c == '\\') ++at;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > kDeepest)
                fail(place(text, at) + ": brackets are nested more than " + std::to_string(kDeepest) + " deep");
        } else if ((c == '}' || c == ']') && depth > 0) {
            --depth;
        }
    }
}

/// Sees every value and key as the parser meets it, and keeps only the keys of the objects that are open.
class Checker : public nlohmann::json_sax<json> {
public:
    explicit Checker(std::string_view text) : text_(text) {}

    bool null() override { return count(); }
    bool boolean(bool /*value*/) override { return count(); }
    bool number_integer(number_integer_t /*value*/) override { return count(); }
    bool number_unsigned(number_unsigned_t /*value*/) override { return count(); }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return count(); }
    bool string(string_t& /*value*/) override { return count(); }
    bool binary(binary_t& /*value*/) override { return count(); }
    bool start_object(std::size_t /*elements*/) override {
        open_.emplace_back();
        return count();
    }
    bool key(string_t& name) override {
        if (!open_.back().insert(name).second) fail("the key '" + name + "' stands twice in one object");
        return true;
    }
    bool end_object() override {
        open_.pop_back();
        return true;
    }
    bool start_array(std::size_t /*elements*/) override { return count(); }
    bool end_array() override { return true; }
    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) override {
        fail(place(text_, position == 0 ? 0 : position - 1) + ": this is not valid JSON");
    }

private:
    bool count() {
        if (++values_ > kMostValues) fail("it holds more than " + std::to_string(kMostValues) + " values");
        return true;
    }

    std::string_view text_;
    std::size_t values_ = 0;
    std::vector<std::unordered_set<std::string>> open_;
};

}  // namespace

void check_json(std::string_view text) {
    check_depth(text);
    Checker checker(text);
    json::sax_parse(text.begin(), text.end(), &checker);
}

}  // namespace cnntrain
