// tf.Examples of any keys, written by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace cnntrain::data::wire {

using Entry = std::pair<std::string, std::string>;  // key, feature

inline std::string varint(std::uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7)
        text.push_back(static_cast<char>(value | 0x80));
    text.push_back(static_cast<char>(value));
    return text;
}

/// A field of the wire type "bytes".
inline std::string field(unsigned number, const std::string& content) {
    return varint(number << 3 | 2) + varint(content.size()) + content;
}

inline std::string fixed32(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::string text;
    for (unsigned shift = 0; shift < 32; shift += 8)
        text.push_back(static_cast<char>(bits >> shift));
    return text;
}

inline std::string bytes(const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values)
        list += field(1, value);
    return field(1, list);
}

inline std::string floats(const std::vector<float>& values) {
    std::string packed;
    for (const float value : values)
        packed += fixed32(value);
    return field(2, field(1, packed));
}

inline std::string unpacked_floats(const std::vector<float>& values) {
    std::string list;
    for (const float value : values)
        list += varint(1 << 3 | 5) + fixed32(value);
    return field(2, list);
}

inline std::string integers(const std::vector<std::int64_t>& values) {
    std::string packed;
    for (const std::int64_t value : values)
        packed += varint(static_cast<std::uint64_t>(value));
    return field(3, field(1, packed));
}

inline std::string unpacked_integers(const std::vector<std::int64_t>& values) {
    std::string list;
    for (const std::int64_t value : values)
        list += varint(1 << 3 | 0) + varint(static_cast<std::uint64_t>(value));
    return field(3, list);
}

inline std::string example(const std::vector<Entry>& entries) {
    std::string features;
    for (const auto& [key, feature] : entries)
        features += field(1, field(1, key) + field(2, feature));
    return field(1, features);
}

}  // namespace cnntrain::data::wire
