// Numbers for people.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

namespace cnntrain {

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

}  // namespace cnntrain
