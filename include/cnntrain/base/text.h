// Text for users to read (columns, lists, times, numbers, CSV, XML), patterns, checks of JSON, names of enumerators.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace cnntrain {

using TextRows = std::vector<std::vector<std::string>>;

inline constexpr std::size_t kAllColumns = std::numeric_limits<std::size_t>::max();

/// Columns as wide as their widest cell, separated by two blanks; each row ends with a line end. The first `left`
/// columns are left-aligned, the others right-aligned. No row has more cells than the first one.
inline std::string in_columns(const TextRows& rows, std::size_t left = 0) {
    std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
    for (const auto& row : rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string padding(widths[i] - row[i].size(), ' ');
            line += (i == 0 ? "" : "  ") + (i < left ? row[i] + padding : padding + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

/// The text with blanks after it up to a column, at least `least` of them.
inline std::string padded(std::string text, std::size_t column, std::size_t least = 1) {
    text.resize(std::max(text.size() + least, column), ' ');
    return text;
}

/// Every line of the text further to the right.
inline std::string indented(const std::string& text, std::size_t blanks) {
    std::string result;
    for (std::size_t start = 0; start < text.size();) {
        const std::size_t end = std::min(text.find('\n', start), text.size() - 1) + 1;
        result += std::string(blanks, ' ') + text.substr(start, end - start);
        start = end;
    }
    return result;
}

// Comma-separated values as RFC 4180 describes them.

inline std::string csv_quoted(const std::string& text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"') quoted += '"';
        quoted += c;
    }
    return quoted + '"';
}

/// A cell of a CSV file, quoted if it has a comma, a quote or a line end.
inline std::string csv_field(const std::string& text) {
    return text.find_first_of(",\"\r\n") == std::string::npos ? text : csv_quoted(text);
}

// Names from files and command lines, as a console can show them.

bool is_utf8(std::string_view text);

/// The text with its control characters, and with bytes that are no UTF-8, as \xNN.
std::string printable(std::string_view text);
/// The same, but line ends and tabs stay: for whole messages and tables.
std::string printable_lines(std::string_view text);

// Parts of a text, as views of it.

/// The parts between the separators; one empty part for an empty text.
inline std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(at, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

/// The lines without their ends; a last line end begins no line.
inline std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines = split(text, '\n');
    if (lines.back().empty()) lines.pop_back();
    return lines;
}

/// The lines of a text of any system: they may end with "\r\n".
inline std::vector<std::string> whole_lines(std::string_view text) {
    std::vector<std::string> lines;
    for (const std::string_view line : lines_of(text))
        lines.emplace_back(line.ends_with('\r') ? line.substr(0, line.size() - 1) : line);
    return lines;
}

/// The text without the blanks at both ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " ") {
    text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
    return text.substr(0, text.find_last_not_of(blanks) + 1);  // npos + 1 is 0
}

/// True if the word is one of the words, which blanks separate.
inline bool has_word(std::string_view words, std::string_view word) {
    const std::vector<std::string_view> all = split(words, ' ');
    return std::ranges::find(all, word) != all.end();
}

/// The text with small letters instead of ASCII's capital ones.
inline std::string in_lower_case(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

inline bool equal_but_case(std::string_view a, std::string_view b) {
    return in_lower_case(a) == in_lower_case(b);
}

/// The number if the whole text is one, as std::from_chars() reads it: without blanks or a plus.
template <typename T> std::optional<T> as_number(std::string_view text) {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && read == end ? std::optional(value) : std::nullopt;
}

// Words in a sentence.

/// "a", "a and b", "a, b and c"; `joint`: "and".
inline std::string listed(const std::vector<std::string>& words, const std::string& joint = "and") {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " " + joint + " " : ", ") + words[i];
    return text;
}

/// "a, b, c": the text of each item of a range.
template <typename Range, typename Text>
std::string joined(const Range& items, std::string_view between, const Text& text_of) {
    std::string text;
    bool first = true;
    for (const auto& item : items) {
        if (!first) text += between;
        text += text_of(item);
        first = false;
    }
    return text;
}

/// "a, b, c"
inline std::string joined(const std::vector<std::string>& words, std::string_view between = ", ") {
    return joined(words, between, [](const std::string& word) { return std::string_view(word); });
}

/// " a b c": each of the words behind the lead.
inline std::string each_behind(std::string_view lead, const std::vector<std::string>& words) {
    return words.empty() ? "" : std::string(lead) + joined(words, lead);
}

/// "a, b and 3 more": at most this number of the words.
inline std::string some_listed(const std::vector<std::string>& words, std::size_t most) {
    if (words.size() <= most) return joined(words);
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(most);
    return joined({words.begin(), end}) + " and " + std::to_string(words.size() - most) + " more";
}

/// "a, b and c", "a, b and 3 more": at most this number of the words.
inline std::string listed(const std::vector<std::string>& words, std::size_t most) {
    return words.size() <= most ? listed(words) : some_listed(words, most);
}

/// "1 stage", "2 stages"; "2 batches" with the ending "es".
inline std::string counted(std::int64_t count, const std::string& noun, const std::string& ending = "s") {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

// printf into a string.

template <typename... Args> std::string formatted(const char* pattern, Args... args) {
    const int length = std::snprintf(nullptr, 0, pattern, args...);
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    std::snprintf(text.data(), text.size(), pattern, args...);
    text.pop_back();
    return text;
}

// Numbers for users to read.

/// "3.1"
inline std::string decimal(double value, int digits = 1) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.*f", digits, value);
    return text.data();
}

/// "512 bytes", "26.3 MB": powers of 1000.
inline std::string size_text(std::uint64_t bytes) {
    if (bytes < 1000) return std::to_string(bytes) + " bytes";
    constexpr std::array<const char*, 5> kUnits = {" kB", " MB", " GB", " TB", " PB"};
    double value = static_cast<double>(bytes) / 1000;
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < kUnits.size(); ++unit)
        value /= 1000;
    return decimal(value) + kUnits[unit];
}

// A moment of the clock as text.

using Moment = std::chrono::system_clock::time_point;
enum class Zone { local, utc };

/// The moment in the pattern of strftime().
inline std::string clock_text(const char* pattern, std::time_t when = std::time(nullptr), Zone zone = Zone::local) {
    std::tm fields{};
    (zone == Zone::utc ? gmtime_r : localtime_r)(&when, &fields);
    std::array<char, 64> text{};
    std::strftime(text.data(), text.size(), pattern, &fields);
    return text.data();
}
inline std::string clock_text(const char* pattern, Moment when) {
    return clock_text(pattern, std::chrono::system_clock::to_time_t(when));
}

/// The part of the moment below a second, in this unit.
template <typename Unit> long long below_second(Moment when) {
    return std::chrono::duration_cast<Unit>(when.time_since_epoch()).count() % (std::chrono::seconds(1) / Unit(1));
}

// Text inside XML: JUnit reports, SVG pictures.

/// Escapes text as content of an element or of a quoted attribute; characters that XML cannot hold become '?'.
inline std::string xml_text(std::string_view text) {
    constexpr std::pair<char, const char*> kEscapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    std::string result;
    for (const char c : text) {
        const auto* escape = std::ranges::find(kEscapes, c, &std::pair<char, const char*>::first);
        if (escape != std::end(kEscapes)) {
            result += escape->second;
        } else {
            result += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' ? '?' : c;
        }
    }
    return result;
}

// Parts of paths, as text: no file is looked for.

/// The part after the last slash: "c" of "a/b/c", "" of "a/", all of a path without a slash. A view of `path`.
inline std::string_view last_part(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

/// Up to the last slash, with it: "a/b/" of "a/b/c", "" of "c".
inline std::string folder_part(const std::string& path) {
    return path.substr(0, path.size() - last_part(path).size());
}

/// The part of a name between a prefix and a suffix; empty if it does not have both. A view of `name`.
inline std::string_view framed(std::string_view name, std::string_view begin, std::string_view end) {
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return {};
    return name.substr(begin.size(), name.size() - begin.size() - end.size());
}

/// True for digits alone, at least one.
inline bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Bytes as text: base 64 (RFC 4648, section 4).

inline std::string base64(std::string_view bytes) {
    constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
        std::uint32_t word = 0;
        for (std::size_t k = 0; k < 3; ++k)
            word = word << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
        for (std::size_t k = 0; k < 4; ++k)
            text += k <= count ? kLetters[word >> (18 - 6 * k) & 63U] : '=';
    }
    return text;
}

}  // namespace cnntrain

namespace re2 {

// Regular expressions that select names, in RE2's syntax.

class RE2;
}  // namespace re2

namespace cnntrain {

class Patterns {
public:
    /// Error(usage) describes the first expression that is wrong; the message begins with `what`.
    explicit Patterns(const std::vector<std::string>& expressions, const std::string& what = "pattern");

    /// True if any of them matches a part of the name.
    bool match(std::string_view name) const;
    /// The expressions that match none of the names.
    std::vector<std::string> idle(const std::vector<std::string>& names) const;

private:
    std::vector<std::shared_ptr<const re2::RE2>> engines_;
};

// Checks on every JSON text before it is parsed, because parsers accept texts whose trees exhaust stack or memory.

/// Error(data) with line and column, unless `text` is one JSON value, nested at most 64 deep, with at most two million
/// values and without duplicate keys.
void check_json(std::string_view text);

// The number and the names of the enumerators of an enumeration, as the source has them.

namespace detail {

template <auto value> constexpr std::string_view signature() {
    return __PRETTY_FUNCTION__;
}

/// "cnntrain::nn::Family::resnet". GCC and Clang print a value without a name as a cast: "(cnntrain::nn::Family)3".
template <auto value> constexpr std::string_view printed() {
    constexpr std::string_view kBefore = "value = ";
    constexpr std::size_t kBegin = signature<value>().find(kBefore) + kBefore.size();
    return signature<value>().substr(kBegin, signature<value>().find_first_of(";]", kBegin) - kBegin);
}

}  // namespace detail

/// Number of enumerators of an enumeration with the values 0, 1, 2, ...
template <typename Enum, std::size_t index = 0> constexpr std::size_t enumerator_count() {
    if constexpr (detail::printed<static_cast<Enum>(index)>().front() != '(') {
        return enumerator_count<Enum, index + 1>();
    } else {
        return index;
    }
}

/// Names of the enumerators of such an enumeration: "resnet", "resnext", ...
template <typename Enum> constexpr auto enumerator_names() {
    return []<std::size_t... index>(std::index_sequence<index...>) {
        constexpr auto kName = [](std::string_view printed) { return printed.substr(printed.rfind(':') + 1); };
        return std::array{kName(detail::printed<static_cast<Enum>(index)>())...};
    }
    (std::make_index_sequence<enumerator_count<Enum>()>());
}

template <typename Enum> constexpr std::string_view enumerator_name(Enum value) {
    return enumerator_names<Enum>().at(static_cast<std::size_t>(value));
}

/// The entry of an enumerator in a table that has one for each of them, in their order.
template <typename Enum, typename Entry, std::size_t size>
constexpr Entry entry_of(const Entry (&table)[size], Enum value) {
    static_assert(size == enumerator_count<Enum>(), "one entry for each enumerator, in their order");
    return table[static_cast<std::size_t>(value)];
}

// The words by which users know the enumerators: an enumeration that options take has a function spellings(Enum) beside
// it, which returns one for each enumerator in their order.

template <typename Enum> constexpr std::string_view spelling(Enum value) {
    constexpr auto kAll = spellings(Enum{});
    static_assert(kAll.size() == enumerator_count<Enum>(), "one spelling for each enumerator, in their order");
    return kAll.at(static_cast<std::size_t>(value));
}

/// The enumerator with exactly this spelling.
template <typename Enum> constexpr std::optional<Enum> named(std::string_view word) {
    for (std::size_t i = 0; i < enumerator_count<Enum>(); ++i) {
        if (spelling(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace cnntrain
