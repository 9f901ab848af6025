#include "data/example.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <string_view>

#include "cnntrain/base/error.h"
#include "data/wire.h"

namespace cnntrain::data {
namespace {

// Field numbers of Example, Features, its map's entries, Feature and the three lists: see example.proto.
constexpr std::uint32_t kFeatures = 1;
constexpr std::uint32_t kFeature = 1;
constexpr std::uint32_t kKey = 1;
constexpr std::uint32_t kValue = 2;
constexpr std::uint32_t kListValues = 1;

/// The number of a list in Feature's oneof.
enum class ListKind : std::uint32_t { unset = 0, bytes = 1, floats = 2, integers = 3 };

[[noreturn]] void fail() {
    throw Error(ErrorKind::data, "the record is not a tf.Example");
}

/// The fields of a message that must be well-formed to its end.
template <typename Visit> void for_each_field(std::span<const std::byte> message, Visit visit) {
    WireReader reader(message);
    while (reader.next()) {
        visit(reader);
    }
    if (!reader.ok()) fail();
}

bool is_message(const WireReader& reader, std::uint32_t field) {
    return reader.field() == field && reader.type() == WireType::bytes;
}

ListKind list_kind(std::span<const std::byte> feature) {
    ListKind kind = ListKind::unset;
    for_each_field(feature, [&](const WireReader& reader) {
        if (reader.type() != WireType::bytes || reader.field() < 1 || reader.field() > 3) return;
        const auto found = static_cast<ListKind>(reader.field());
        if (kind != ListKind::unset && kind != found) fail();  // no writer puts two into a oneof
        kind = found;
    });
    return kind;
}

/// Visits the values of the feature's list, whichever way they are packed. Nothing if the feature is not set.
template <typename Visit> void for_each_value(std::span<const std::byte> feature, std::string_view key,
                                              ListKind expected, std::string_view type_name, Visit visit) {
    const ListKind kind = list_kind(feature);
    if (kind == ListKind::unset) return;
    if (kind != expected) {
        throw Error(ErrorKind::data, "feature " + std::string(key) + " of the tf.Example is not a list of " +
                                         std::string(type_name) + " values");
    }
    for_each_field(feature, [&](const WireReader& list) {
        if (!is_message(list, static_cast<std::uint32_t>(expected))) return;
        for_each_field(list.bytes(), [&](const WireReader& value) {
            if (value.field() == kListValues) visit(value);
        });
    });
}

std::span<const std::byte> first_bytes(std::span<const std::byte> feature, std::string_view key) {
    std::optional<std::span<const std::byte>> first;
    for_each_value(feature, key, ListKind::bytes, "bytes", [&](const WireReader& value) {
        if (!first && value.type() == WireType::bytes) first = value.bytes();
    });
    return first.value_or(std::span<const std::byte>());
}

std::int64_t first_integer(std::span<const std::byte> feature, std::string_view key, std::int64_t otherwise) {
    std::optional<std::uint64_t> first;
    for_each_value(feature, key, ListKind::integers, "int64", [&](const WireReader& value) {
        std::uint64_t number = value.number();
        if (value.type() == WireType::bytes) {
            std::span<const std::byte> packed = value.bytes();
            if (packed.empty()) return;
            if (!take_varint(packed, number)) fail();
        } else if (value.type() != WireType::varint) {
            return;
        }
        if (!first) first = number;
    });
    return first ? static_cast<std::int64_t>(*first) : otherwise;
}

/// Calls `put(value)` for each.
template <typename Put> void for_each_float(std::span<const std::byte> feature, std::string_view key, Put put) {
    for_each_value(feature, key, ListKind::floats, "float", [&](const WireReader& value) {
        if (value.type() == WireType::fixed32) {
            put(std::bit_cast<float>(static_cast<std::uint32_t>(value.number())));
        } else if (value.type() == WireType::bytes) {
            const std::span<const std::byte> packed = value.bytes();
            if (packed.size() % sizeof(float) != 0) fail();
            for (std::size_t at = 0; at < packed.size(); at += sizeof(float)) {
                std::uint32_t bits = 0;
                for (std::size_t i = 0; i < sizeof bits; ++i) {
                    bits |= std::to_integer<std::uint32_t>(packed[at + i]) << (8 * i);
                }
                put(std::bit_cast<float>(bits));
            }
        }
    });
}

struct Coordinate {
    std::string_view key;
    float Box::*member;
};
constexpr std::array<Coordinate, 4> kCoordinates = {{{"image/object/bbox/ymin", &Box::y_min},
                                                     {"image/object/bbox/xmin", &Box::x_min},
                                                     {"image/object/bbox/ymax", &Box::y_max},
                                                     {"image/object/bbox/xmax", &Box::x_max}}};

/// Where the features in use stand in the record; a later entry of the same key replaces an earlier one.
struct Found {
    std::optional<std::span<const std::byte>> encoded;
    std::optional<std::span<const std::byte>> label;
    std::array<std::optional<std::span<const std::byte>>, kCoordinates.size()> coordinates;
};

void note_entry(std::span<const std::byte> entry, Found& found) {
    std::string_view key;
    std::optional<std::span<const std::byte>> value;
    for_each_field(entry, [&](const WireReader& reader) {
        const auto bytes = reader.type() == WireType::bytes ? reader.bytes() : std::span<const std::byte>();
        if (is_message(reader, kKey)) key = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
        if (!is_message(reader, kValue)) return;
        if (value) fail();  // no writer gives an entry two values
        value = bytes;
    });
    if (!value) value.emplace();
    if (key == "image/encoded") found.encoded = value;
    if (key == "image/class/label") found.label = value;
    for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
        if (key == kCoordinates[i].key) found.coordinates[i] = value;
    }
}

Found find_features(std::span<const std::byte> record) {
    Found found;
    for_each_field(record, [&](const WireReader& example) {
        if (!is_message(example, kFeatures)) return;
        for_each_field(example.bytes(), [&](const WireReader& features) {
            if (is_message(features, kFeature)) note_entry(features.bytes(), found);
        });
    });
    return found;
}

void read_boxes(const Found& found, std::vector<Box>& boxes) {
    boxes.clear();
    std::array<std::size_t, kCoordinates.size()> counts{};
    for (std::size_t i = 0; i < kCoordinates.size(); ++i) {
        if (!found.coordinates[i]) continue;
        for_each_float(*found.coordinates[i], kCoordinates[i].key, [&](float value) {
            if (counts[i] == boxes.size()) boxes.emplace_back();
            boxes[counts[i]++].*kCoordinates[i].member = value;
        });
    }
    for (const std::size_t count : counts) {
        if (count != counts.front()) {
            throw Error(ErrorKind::data, "the lists image/object/bbox/{ymin,xmin,ymax,xmax} differ in length");
        }
    }
}

}  // namespace

void parse_image_example(std::span<const std::byte> record, ImageExample& example) {
    const Found found = find_features(record);
    example.jpeg = {};
    example.label = -1;
    if (found.encoded) example.jpeg = first_bytes(*found.encoded, "image/encoded");
    if (found.label) example.label = first_integer(*found.label, "image/class/label", -1);
    read_boxes(found, example.boxes);
}

}  // namespace cnntrain::data
