#include "cnntrain/base/text.h"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain {
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
