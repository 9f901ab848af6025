// Words in a sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

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

/// "1 stage", "2 stages"; "2 batches" with the ending "es".
inline std::string counted(std::int64_t count, const std::string& noun, const std::string& ending = "s") {
    return std::to_string(count) + " " + noun + (count == 1 ? "" : ending);
}

}  // namespace cnntrain
