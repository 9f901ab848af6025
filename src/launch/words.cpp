#include "cnntrain/launch/poprun.h"

#include <algorithm>
#include <cctype>

#include "cnntrain/base/error.h"

namespace cnntrain::launch {
namespace {

bool is_blank(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

std::string single_quoted(const std::string& word) {
    std::string result = "'";
    for (const char c : word)
        result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

}  // namespace

std::vector<std::string> split_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool inside = false;  // inside a word, which may be empty: ''
    char quote = '\0';
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        const bool last = i + 1 == text.size();
        const bool escapes = quote == '\0' || (quote == '"' && !last && (text[i + 1] == '"' || text[i + 1] == '\\'));
        if (c == '\\' && !last && escapes) {
            word += text[++i];
            inside = true;
        } else if (quote != '\0' && c == quote) {
            quote = '\0';
        } else if (quote != '\0') {
            word += c;
        } else if (c == '"' || c == '\'') {
            quote = c;
            inside = true;
        } else if (is_blank(c)) {
            if (inside) words.push_back(std::move(word));
            word.clear();
            inside = false;
        } else {
            word += c;
            inside = true;
        }
    }
    if (quote != '\0') throw Error(ErrorKind::data, "the quote " + std::string(1, quote) + " is never closed");
    if (inside) words.push_back(word);
    return words;
}

std::string quoted(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "%+,-./:=@_{}$";
    std::string result;
    for (const std::string& word : words) {
        const bool plain = !word.empty() && std::ranges::all_of(word, [&](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) != 0 || kPlain.find(c) != std::string_view::npos;
        });
        if (!result.empty()) result += ' ';
        if (plain) {
            result += word;
            continue;
        }
        result += single_quoted(word);
    }
    return result;
}

std::string all_quoted(const std::vector<std::string>& words) {
    std::string result;
    for (const std::string& word : words)
        result += (result.empty() ? "" : " ") + single_quoted(word);
    return result;
}

}  // namespace cnntrain::launch
