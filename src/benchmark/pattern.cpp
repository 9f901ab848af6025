#include "benchmark/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "cnntrain/base/error.h"

namespace cnntrain::benchmark {
namespace {

constexpr std::size_t kLongestLine = 1'000'000;
constexpr std::size_t kMostMatches = 1000;  // per line, because each match may scan the rest of the line

[[noreturn]] void refuse(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

[[noreturn]] void not_there(const std::string& feature) {
    refuse(feature +
           " cannot be used: patterns are matched in linear time, without lookaround, backreferences, "
           "conditional, atomic and possessive parts");
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_octal(char c) {
    return c >= '0' && c <= '7';
}
bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Translates a pattern in one run from left to right.
class Translator {
public:
    explicit Translator(std::string_view pattern) : left_(pattern) {}

    std::string whole() {
        while (!left_.empty()) {
            const char c = left_.front();
            if (c == '\\') {
                escape();
            } else if (c == '[') {
                set();
            } else if (left_.starts_with("(?")) {
                group();
            } else if (c == '*' || c == '+' || c == '?' || c == '{') {
                quantifier();
            } else {
                keep(1);
            }
        }
        return std::move(out_);
    }

private:
    void keep(std::size_t count) {
        out_ += left_.substr(0, count);
        left_.remove_prefix(std::min(count, left_.size()));
    }
    char at(std::size_t place) const { return place < left_.size() ? left_[place] : '\0'; }

    void escape(bool in_set = false) {
        if (left_.size() < 2) refuse("it ends with a backslash");
        const char c = at(1);
        if (is_digit(c)) {
            number_escape(in_set);
        } else if (c == 'x') {
            hexadecimal(2);
        } else if (c == 'u') {
            hexadecimal(4);
        } else if (c == 'U') {
            hexadecimal(8);
        } else if (in_set && c == 'b') {
            replace(2, "\\x08");
        } else if (!in_set && c == 'Z') {
            replace(2, "\\z");
        } else if (is_letter(c)) {
            constexpr std::string_view kKnown = "AbBdDsSwWafnrtv";
            constexpr std::string_view kKnownInSet = "dDsSwWafnrtv";
            if (c == 'N') not_there("a named character (\\N)");
            const bool known = (in_set ? kKnownInSet : kKnown).find(c) != std::string_view::npos;
            if (!known) refuse(std::string("\\") + c + " is no escape of Python's patterns");
            keep(2);
        } else {
            const bool plain =
                c == '_' || (static_cast<unsigned char>(c) & 0x80U) != 0;  // RE2 does not accept escapes of these
            if (plain) left_.remove_prefix(1);
            keep(plain ? 1 : 2);
        }
    }

    /// \0 and \123 are characters, \1 is a backreference to the first group.
    void number_escape(bool in_set) {
        const bool octal = at(1) == '0' || in_set || (is_octal(at(1)) && is_octal(at(2)) && is_octal(at(3)));
        if (!octal) not_there(std::string("a backreference (\\") + at(1) + ")");
        std::size_t digits = 1;
        while (digits < 4 && is_octal(at(digits)))
            ++digits;
        if (digits == 1) refuse(std::string("\\") + at(1) + " is no escape of Python's patterns");
        replace(digits, "\\x{" + hex_of_octal(left_.substr(1, digits - 1)) + "}");
    }

    static std::string hex_of_octal(std::string_view octal) {
        unsigned value = 0;
        for (const char c : octal)
            value = value * 8 + static_cast<unsigned>(c - '0');
        constexpr std::string_view kDigits = "0123456789abcdef";
        return {kDigits[value >> 8U & 15U], kDigits[value >> 4U & 15U], kDigits[value & 15U]};
    }

    void hexadecimal(std::size_t digits) {
        for (std::size_t i = 0; i < digits; ++i) {
            if (!is_hex(at(2 + i)))
                refuse(std::string("\\") + at(1) + " expects " + std::to_string(digits) + " hexadecimal digits");
        }
        replace(2 + digits, "\\x{" + std::string(left_.substr(2, digits)) + "}");
    }

    void replace(std::size_t count, const std::string& by) {
        out_ += by;
        left_.remove_prefix(count);
    }

    void set() {
        keep(at(1) == '^' ? 2 : 1);
        if (at(0) == ']') keep(1);
        while (!left_.empty() && at(0) != ']') {
            if (at(0) == '\\') {
                escape(/*in_set=*/true);
            } else if (at(0) == '[') {
                replace(1, "\\[");  // in Python, [:alpha:] has no special meaning
            } else {
                keep(1);
            }
        }
        if (left_.empty()) refuse("a set ([...]) is never closed");
        keep(1);
    }

    /// Translates a construct that starts with "(?".
    void group() {
        struct Feature {
            std::string_view begin;
            std::string_view name;
        };
        constexpr std::array<Feature, 7> kMissing = {{{"(?=", "a lookahead"},
                                                      {"(?!", "a negative lookahead"},
                                                      {"(?<=", "a lookbehind"},
                                                      {"(?<!", "a negative lookbehind"},
                                                      {"(?P=", "a backreference"},
                                                      {"(?>", "an atomic group"},
                                                      {"(?(", "a conditional"}}};
        for (const Feature& feature : kMissing) {
            if (left_.starts_with(feature.begin))
                not_there(std::string(feature.name) + " " + std::string(feature.begin) + "...)");
        }
        if (left_.starts_with("(?#")) {
            const std::size_t end = left_.find(')');
            if (end == std::string_view::npos) refuse("a comment ((?#...) is never closed");
            left_.remove_prefix(end + 1);
        } else if (left_.starts_with("(?P<")) {
            keep(4);
        } else {
            flags();
        }
    }

    /// Translates "(?:", "(?i)", "(?s-i:". The flags a (ASCII) and u (Unicode) are dropped: they do not affect how
    /// numbers match.
    void flags() {
        std::string kept;
        std::size_t i = 2;
        for (; i < left_.size() && left_[i] != ':' && left_[i] != ')'; ++i) {
            const char c = left_[i];
            if (c == 'x' || c == 'L') not_there(std::string("the flag ") + c);
            if (c == 'i' || c == 'm' || c == 's' || c == '-') {
                kept += c;
            } else if (c != 'a' && c != 'u') {
                refuse("'" + std::string(left_.substr(0, i + 1)) + "' begins no group of Python's patterns");
            }
        }
        if (i == left_.size()) refuse("'" + std::string(left_) + "' is never closed");
        const bool whole_pattern = left_[i] == ')';
        if (!whole_pattern || !kept.empty()) out_ += "(?" + kept + left_[i];
        left_.remove_prefix(i + 1);
    }

    void quantifier() {
        const std::size_t length = quantifier_length();
        if (length == 0) return keep(1);  // a literal brace
        if (left_.starts_with("{,")) {
            replace(2, "{0,");
            keep(length - 2);
        } else {
            keep(length);
        }
        if (at(0) == '+') not_there("a possessive quantifier (a second +)");
        if (at(0) == '?') keep(1);
    }

    /// 0: not a quantifier.
    std::size_t quantifier_length() const {
        if (at(0) != '{') return 1;
        std::size_t i = 1;
        while (is_digit(at(i)))
            ++i;
        const bool low = i > 1;
        if (at(i) == ',') {
            ++i;
            while (is_digit(at(i)))
                ++i;
        } else if (!low) {
            return 0;
        }
        return at(i) == '}' ? i + 1 : 0;
    }

    std::string_view left_;
    std::string out_;
};

bool is_ascii(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return (static_cast<unsigned char>(c) & 0x80U) == 0; });
}

}  // namespace

std::string translated(std::string_view regexp) {
    return Translator(regexp).whole();
}

Pattern::Pattern(const std::string& regexp) {
    RE2::Options options;
    options.set_log_errors(false);
    // Lines may contain bytes that are not UTF-8. Only a pattern with non-ASCII characters needs to know where
    // characters end.
    if (is_ascii(regexp)) options.set_encoding(RE2::Options::EncodingLatin1);
    engine_ = std::make_unique<RE2>(translated(regexp), options);
    if (!engine_->ok()) {
        const std::string& where = engine_->error_arg();
        refuse("cannot be read as a pattern: " + engine_->error() + (where.empty() ? "" : " (at '" + where + "')"));
    }
    const int groups = engine_->NumberOfCapturingGroups();
    if (groups != 1) refuse("expected exactly one group in parentheses, has " + std::to_string(groups));
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

std::vector<std::string> Pattern::matches(std::string_view line) const {
    const re2::StringPiece text(line.data(), std::min(line.size(), kLongestLine));
    std::vector<std::string> found;
    std::array<re2::StringPiece, 2> groups;  // the whole match and the group
    std::size_t begin = 0;
    while (found.size() < kMostMatches && begin <= text.size() &&
           engine_->Match(text, begin, text.size(), RE2::UNANCHORED, groups.data(), static_cast<int>(groups.size()))) {
        found.emplace_back(groups[1].data(), groups[1].size());
        const auto end = static_cast<std::size_t>(groups[0].data() - text.data()) + groups[0].size();
        begin = groups[0].empty() ? end + 1 : end;
    }
    return found;
}

}  // namespace cnntrain::benchmark
