#include "data/features.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "data/wire.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

// Field numbers of the messages in example.proto.
constexpr std::uint32_t kFeaturesOfExample = 1;
constexpr std::uint32_t kEntryOfFeatures = 1;
constexpr std::uint32_t kKeyOfEntry = 1;
constexpr std::uint32_t kFeatureOfEntry = 2;
constexpr std::uint32_t kValuesOfList = 1;

bool is_bytes(const WireReader& reader, std::uint32_t field) {
    return reader.field() == field && reader.type() == WireType::bytes;
}

void add_integer(std::uint64_t bits, FeatureSummary& summary) {
    const auto value = static_cast<std::int64_t>(bits);
    if (summary.length++ == 0) summary.first_integer = value;
    summary.integers.add(value);
}

void add_float(std::uint32_t bits, FeatureSummary& summary) {
    ++summary.length;
    const float value = std::bit_cast<float>(bits);
    if (std::isfinite(value)) summary.floats.add(static_cast<double>(value));
}

void add_bytes(Bytes value, FeatureSummary& summary) {
    if (summary.length++ == 0) summary.first_bytes = value;
    summary.value_bytes.add(static_cast<std::int64_t>(value.size()));
}

bool add_packed_floats(Bytes packed, FeatureSummary& summary) {
    for (; packed.size() >= 4; packed = packed.subspan(4)) {
        std::uint32_t bits = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            bits |= std::to_integer<std::uint32_t>(packed[i]) << (8 * i);
        }
        add_float(bits, summary);
    }
    return packed.empty();
}

bool add_packed_integers(Bytes packed, FeatureSummary& summary) {
    std::uint64_t bits = 0;
    while (!packed.empty()) {
        if (!take_varint(packed, bits)) return false;
        add_integer(bits, summary);
    }
    return true;
}

/// One value of the list, or several that are packed. A value of another wire type is skipped, as by any reader.
bool add_values(const WireReader& value, FeatureSummary& summary) {
    const bool packed = value.type() == WireType::bytes;
    switch (summary.type) {
        case FeatureType::bytes:
            if (packed) add_bytes(value.bytes(), summary);
            return true;
        case FeatureType::floats:
            if (packed) return add_packed_floats(value.bytes(), summary);
            if (value.type() == WireType::fixed32) add_float(static_cast<std::uint32_t>(value.number()), summary);
            return true;
        case FeatureType::integers:
            if (packed) return add_packed_integers(value.bytes(), summary);
            if (value.type() == WireType::varint) add_integer(value.number(), summary);
            return true;
        case FeatureType::none:
            return true;
    }
    return true;
}

bool summarise(Bytes feature, FeatureSummary& summary) {
    WireReader lists(feature);
    while (lists.next()) {
        if (lists.type() != WireType::bytes || lists.field() > 3) continue;
        const auto type = static_cast<FeatureType>(lists.field());  // numbered as in the message
        if (type != summary.type) summary = {};                     // of several kinds, the last one counts
        summary.type = type;
        WireReader values(lists.bytes());
        while (values.next()) {
            if (values.field() == kValuesOfList && !add_values(values, summary)) return false;
        }
        if (!values.ok()) return false;
    }
    return lists.ok();
}

}  // namespace

bool visit_features(Bytes record, const std::function<void(std::string_view, const FeatureSummary&)>& visit) {
    WireReader example(record);
    while (example.next()) {
        if (!is_bytes(example, kFeaturesOfExample)) continue;
        WireReader features(example.bytes());
        while (features.next()) {
            if (!is_bytes(features, kEntryOfFeatures)) continue;
            Bytes key;
            Bytes feature;
            WireReader entry(features.bytes());
            while (entry.next()) {
                if (is_bytes(entry, kKeyOfEntry)) key = entry.bytes();
                if (is_bytes(entry, kFeatureOfEntry)) feature = entry.bytes();
            }
            FeatureSummary summary;
            if (!entry.ok() || !summarise(feature, summary)) return false;
            visit({reinterpret_cast<const char*>(key.data()), key.size()}, summary);
        }
        if (!features.ok()) return false;
    }
    return example.ok();
}

}  // namespace cnntrain::data
