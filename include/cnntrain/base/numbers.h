// What is near to a number, or in the middle of numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cnntrain {

/// The number in the middle, the upper one of two. There is at least one number.
template <typename T> T median(std::vector<T> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

}  // namespace cnntrain
