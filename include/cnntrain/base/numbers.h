// Numbers near to another one, and the middle of some.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace cnntrain {

/// The number in the middle, the upper one of two. There is at least one number.
template <typename T> T median(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

// Numbers that a message proposes instead of one that does not fit.

/// The divisors of a number that are nearest to the wanted one: up to it, and above it if there is one.
inline std::vector<std::string> divisors_near(std::int64_t number, std::int64_t wanted) {
    std::int64_t below = std::min(wanted, number);
    while (number % below != 0)
        --below;
    std::int64_t above = wanted + 1;
    while (above <= number && number % above != 0)
        ++above;
    if (above > number) return {std::to_string(below)};
    return {std::to_string(below), std::to_string(above)};
}

/// The multiples of a unit that are nearest to a value: a positive one up to it, and one above it if 64 bits hold it.
inline std::vector<std::string> multiples_near(std::int64_t unit, std::int64_t value) {
    const std::int64_t below = std::max<std::int64_t>(0, value / unit * unit);
    std::vector<std::string> near;
    if (below > 0) near.push_back(std::to_string(below));
    if (below <= std::numeric_limits<std::int64_t>::max() - unit) near.push_back(std::to_string(below + unit));
    return near;
}

}  // namespace cnntrain
