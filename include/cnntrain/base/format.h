// printf into a string.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

namespace cnntrain {

template <typename... Args> std::string formatted(const char* pattern, Args... args) {
    const int length = std::snprintf(nullptr, 0, pattern, args...);
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    std::snprintf(text.data(), text.size(), pattern, args...);
    text.pop_back();
    return text;
}

}  // namespace cnntrain
