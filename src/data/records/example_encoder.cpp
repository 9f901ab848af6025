#include "data/records/example_encoder.h"

#include <array>
#include <bit>

#include "cnntrain/base/wire.h"
#include "data/records/record_frame.h"

namespace cnntrain::data {
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

}  // namespace cnntrain::data
