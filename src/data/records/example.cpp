#include "data/records/example.h"

#include <array>
#include <bit>
#include <cstddef>
#include <string_view>

#include "cnntrain/base/error.h"
#include "cnntrain/base/wire.h"
#include "cnntrain/data/inspect.h"
#include "data/records/example_walk.h"
#include "data/records/record_frame.h"

namespace cnntrain::data {
namespace {

void require(bool ok) {
    if (!ok) throw Error(ErrorKind::data, "the record is not a tf.Example");
}

/// Returns false if the feature is not set.
bool has_list(std::span<const std::byte> feature, std::string_view key, FeatureType expected) {
    const std::optional<FeatureType> type = list_type(feature);
    require(type.has_value());
    if (*type == FeatureType::none) return false;
    if (*type == expected) return true;
    throw Error(ErrorKind::data, "feature " + std::string(key) + " of the tf.Example is not a list of " +
                                     std::string(name(expected)) + " values");
}

std::span<const std::byte> first_bytes(std::span<const std::byte> feature, std::string_view key) {
    std::optional<std::span<const std::byte>> first;
    if (!has_list(feature, key, FeatureType::bytes)) return {};
    require(for_each_bytes(feature, [&](std::span<const std::byte> value) {
        if (!first) first = value;
    }));
    return first.value_or(std::span<const std::byte>());
}

std::int64_t first_integer(std::span<const std::byte> feature, std::string_view key, std::int64_t otherwise) {
    std::optional<std::int64_t> first;
    if (!has_list(feature, key, FeatureType::integers)) return otherwise;
    require(for_each_integer(feature, [&](std::int64_t value) {
        if (!first) first = value;
    }));
    return first.value_or(otherwise);
}

struct Coordinate {
    std::string_view key;
    float Box::*member;
};
constexpr std::array<Coordinate, 4> kCoordinates = {{{"image/object/bbox/ymin", &Box::y_min},
                                                     {"image/object/bbox/xmin", &Box::x_min},
                                                     {"image/object/bbox/ymax", &Box::y_max},
                                                     {"image/object/bbox/xmax", &Box::x_max}}};

/// Encoded features in the record; empty if absent.
struct FoundFields {
    std::span<const std::byte> encoded;
    std::span<const std::byte> label;
    std::array<std::span<const std::byte>, kCoordinates.size()> coordinates;
};

FoundFields find_features(std::span<const std::byte> record) {
    FoundFields found;
    require(for_each_feature(record, [&](const FeatureEntry& entry) {
        if (entry.key == "image/encoded") found.encoded = entry.feature;
        if (entry.key == "image/class/label") found.label = entry.feature;
        for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
            if (entry.key == kCoordinates[i].key) found.coordinates[i] = entry.feature;
        }
        return true;
    }));
    return found;
}

void read_boxes(const FoundFields& found, std::vector<Box>& boxes) {
    boxes.clear();
    std::array<std::size_t, kCoordinates.size()> counts{};
    for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
        if (!has_list(found.coordinates[i], kCoordinates[i].key, FeatureType::floats)) continue;
        require(for_each_float(found.coordinates[i], [&](float value) {
            if (counts[i] == boxes.size()) boxes.emplace_back();
            boxes[counts[i]++].*kCoordinates[i].member = value;
        }));
    }
    for (const std::size_t count : counts) {
        if (count != counts.front())
            throw Error(ErrorKind::data, "the lists image/object/bbox/{ymin,xmin,ymax,xmax} differ in length");
    }
}

}  // namespace

void parse_image_example(std::span<const std::byte> record, ImageExample& example) {
    const FoundFields found = find_features(record);
    example.jpeg = first_bytes(found.encoded, "image/encoded");
    example.label = first_integer(found.label, "image/class/label", -1);
    read_boxes(found, example.boxes);
}

namespace {

// Tags of fields with wire type "bytes".
constexpr char kFirstField = 0x0a;  // Example.features, Features.feature, the key of a map entry, the values of a list
constexpr char kEntryValue = 0x12;
constexpr char kFloatList = 0x12;
constexpr char kInt64List = 0x1a;

/// Encoded size of a field with `size` bytes of content.
std::uint64_t field_size(std::uint64_t size) {
    const auto length = static_cast<std::uint64_t>(std::bit_width(size | 1) + 6) / 7;
    return 1 + length + size;
}

void begin_field(char tag, std::uint64_t size, std::string& bytes) {
    bytes += tag;
    append_varint(size, bytes);
}

}  // namespace

void ExampleEncoder::add(std::string_view key, std::span<const std::uint32_t> integers) {
    values_.clear();
    for (const std::uint32_t value : integers)
        append_varint(value, values_);
    add_list(key, kInt64List);
}

void ExampleEncoder::add(std::string_view key, std::span<const float> floats) {
    values_.clear();
    for (const float value : floats) {
        std::array<std::byte, sizeof value> bytes{};
        store_little_endian(std::bit_cast<std::uint32_t>(value), bytes);
        values_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    add_list(key, kFloatList);
}

void ExampleEncoder::add_list(std::string_view key, char list) {
    const std::uint64_t list_size = values_.empty() ? 0 : field_size(values_.size());
    const std::uint64_t feature_size = field_size(list_size);
    begin_field(kFirstField, field_size(key.size()) + field_size(feature_size), features_);
    begin_field(kFirstField, key.size(), features_);
    features_ += key;
    begin_field(kEntryValue, feature_size, features_);
    begin_field(list, list_size, features_);
    if (values_.empty()) return;
    begin_field(kFirstField, values_.size(), features_);
    features_ += values_;
}

void ExampleEncoder::finish(std::string& bytes) {
    begin_field(kFirstField, features_.size(), bytes);
    bytes += features_;
    features_.clear();
}

std::string_view name(FeatureType type) {
    constexpr std::array<std::string_view, 4> kNames = {"none", "bytes", "float", "int64"};
    return kNames[static_cast<std::size_t>(type)];
}

}  // namespace cnntrain::data
