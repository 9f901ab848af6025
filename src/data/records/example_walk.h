// Traverses a tf.Example in place: Example > Features > map entries > Feature > list > values. Field numbers and
// nesting: example.proto.
//
// All functions return false if the bytes are malformed or contain what no writer produces: an entry with two values, a
// Feature with lists of two types. A visitor returns false to stop; the traversal then returns false.
//
// Everything is inline because every training record is parsed by this code.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cnntrain/base/wire.h"
#include "cnntrain/data/inspect.h"
#include "data/records/record_frame.h"

namespace cnntrain::data {

/// Calls `visit(reader)` for each field of a message.
template <typename Visit> bool for_each_field(std::span<const std::byte> message, Visit visit) {
    WireReader reader(message);
    while (reader.next()) {
        if (!visit(reader)) return false;
    }
    return reader.ok();
}

inline bool is_message(const WireReader& reader, std::uint32_t field) {
    return reader.field() == field && reader.type() == WireType::bytes;
}

/// A map entry; the members are views of the record. `feature` is empty if the entry has no value.
struct FeatureEntry {
    std::string_view key;
    std::span<const std::byte> feature;
};
inline std::optional<FeatureEntry> read_feature_entry(std::span<const std::byte> entry) {
    constexpr std::uint32_t kKey = 1;
    constexpr std::uint32_t kFeature = 2;
    FeatureEntry result;
    int values = 0;
    const bool ok = for_each_field(entry, [&](const WireReader& reader) {
        if (is_message(reader, kKey))
            result.key = {reinterpret_cast<const char*>(reader.bytes().data()), reader.bytes().size()};
        if (!is_message(reader, kFeature)) return true;
        result.feature = reader.bytes();
        return ++values == 1;
    });
    return ok ? std::optional(result) : std::nullopt;
}

/// Calls `visit(entry)` for each entry in record order. Of several entries with one key, the last is valid.
template <typename Visit> bool for_each_feature(std::span<const std::byte> record, Visit visit) {
    constexpr std::uint32_t kFeatures = 1;
    constexpr std::uint32_t kEntry = 1;
    return for_each_field(record, [&](const WireReader& example) {
        if (!is_message(example, kFeatures)) return true;
        return for_each_field(example.bytes(), [&](const WireReader& features) {
            if (!is_message(features, kEntry)) return true;
            const std::optional<FeatureEntry> entry = read_feature_entry(features.bytes());
            return entry && visit(*entry);
        });
    });
}

/// The type of the feature's list.
inline std::optional<FeatureType> list_type(std::span<const std::byte> feature) {
    FeatureType type = FeatureType::none;
    const bool ok = for_each_field(feature, [&](const WireReader& list) {
        if (list.type() != WireType::bytes || list.field() > 3) return true;
        const auto found = static_cast<FeatureType>(list.field());  // the enumerators equal the message's field numbers
        if (type != FeatureType::none && type != found) return false;
        type = found;
        return true;
    });
    return ok ? std::optional(type) : std::nullopt;
}

/// Calls `visit(reader)` for each value, or run of packed values, in the feature's list of that type.
template <typename Visit> bool for_each_value(std::span<const std::byte> feature, FeatureType type, Visit visit) {
    constexpr std::uint32_t kValues = 1;
    return for_each_field(feature, [&](const WireReader& list) {
        if (!is_message(list, static_cast<std::uint32_t>(type))) return true;
        return for_each_field(list.bytes(),
                              [&](const WireReader& value) { return value.field() != kValues || visit(value); });
    });
}

// Calls `put(value)` for each value of a list, packed or not. Skips values of another wire type, as all readers do.

template <typename Put> bool for_each_bytes(std::span<const std::byte> feature, Put put) {
    return for_each_value(feature, FeatureType::bytes, [&](const WireReader& value) {
        if (value.type() == WireType::bytes) put(value.bytes());
        return true;
    });
}

template <typename Put> bool for_each_float(std::span<const std::byte> feature, Put put) {
    return for_each_value(feature, FeatureType::floats, [&](const WireReader& value) {
        if (value.type() == WireType::fixed32) put(std::bit_cast<float>(static_cast<std::uint32_t>(value.number())));
        if (value.type() != WireType::bytes) return true;
        std::span<const std::byte> packed = value.bytes();
        for (; packed.size() >= sizeof(float); packed = packed.subspan(sizeof(float)))
            put(std::bit_cast<float>(load_little_endian<std::uint32_t>(packed)));
        return packed.empty();
    });
}

template <typename Put> bool for_each_integer(std::span<const std::byte> feature, Put put) {
    return for_each_value(feature, FeatureType::integers, [&](const WireReader& value) {
        if (value.type() == WireType::varint) put(static_cast<std::int64_t>(value.number()));
        if (value.type() != WireType::bytes) return true;
        std::span<const std::byte> packed = value.bytes();
        for (std::uint64_t bits = 0; !packed.empty();) {
            if (!take_varint(packed, bits)) return false;
            put(static_cast<std::int64_t>(bits));
        }
        return true;
    });
}

}  // namespace cnntrain::data
