// Types of tf.Example features and the range of their values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace cnntrain::data {

template <typename T> struct Range {
    std::int64_t count = 0;  // if 0, the other members are meaningless
    T min{};
    T max{};
    double sum = 0;

    double mean() const { return count == 0 ? 0 : sum / static_cast<double>(count); }
    void add(T value) { add({1, value, value, static_cast<double>(value)}); }
    void add(const Range& other) {
        if (other.count == 0) return;
        min = count == 0 ? other.min : std::min(min, other.min);
        max = count == 0 ? other.max : std::max(max, other.max);
        count += other.count;
        sum += other.sum;
    }
};

enum class FeatureType { none, bytes, floats, integers };
std::string_view name(FeatureType type);  // "none", "bytes", "float", "int64"

}  // namespace cnntrain::data
