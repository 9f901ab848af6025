// Words in a sentence.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cnntrain {

/// "a", "a and b", "a, b and c"; `joint`: "and".
inline std::string listed(const std::vector<std::string>& words, const std::string& joint = "and") {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i)
        text += (i == 0 ? "" : i + 1 == words.size() ? " " + joint + " " : ", ") + words[i];
    return text;
}

}  // namespace cnntrain
