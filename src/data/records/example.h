// Reads and writes tf.Examples.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/wire.h"
#include "cnntrain/data/inspect.h"
#include "cnntrain/data/sets.h"
#include "data/records/tfrecord.h"

namespace cnntrain::data {

// Parses the tf.Example of one ImageNet record.

/// Box of an object in coordinates relative to the image, 0..1.
struct Box {
    float x_min = 0;
    float y_min = 0;
    float x_max = 1;
    float y_max = 1;
    bool operator==(const Box&) const = default;
};

struct ImageExample {
    std::span<const std::byte> jpeg;  // a view of the record; empty if missing
    std::int64_t label = -1;          // as stored: 1..classes
    std::vector<Box> boxes;
};

/// Replaces the contents of `example`; its `jpeg` is a view of `record`. Allocates only if there are more boxes than in
/// all earlier records. Throws Error(data) if the bytes are not a tf.Example or a key has the wrong type; the caller
/// adds file and record.
void parse_image_example(std::span<const std::byte> record, ImageExample& example);

// Field numbers of tf.Example, as tensorflow/core/example has them. A Feature's list has the number of its FeatureType.

inline constexpr std::uint32_t kFeatures = 1;      // of Example
inline constexpr std::uint32_t kFeatureEntry = 1;  // of Features; entries of a map
inline constexpr std::uint32_t kEntryKey = 1;
inline constexpr std::uint32_t kEntryFeature = 2;
inline constexpr std::uint32_t kListValues = 1;  // packed, except those of bytes

/// Encodes a tf.Example directly to bytes, for data sets of millions of records. Equal features in the same order give
/// equal bytes; readers accept any order.
class ExampleEncoder {
public:
    void add(std::string_view key, std::span<const std::uint32_t> integers);
    void add(std::string_view key, std::span<const std::int64_t> integers);
    void add(std::string_view key, std::span<const float> floats);
    void add(std::string_view key, std::string_view bytes);  // a list of one value
    /// Appends the tf.Example with the features so far to `bytes`, and starts a new one.
    void finish(std::string& bytes);

private:
    void add_list(std::string_view key, FeatureType type, std::string_view values);

    std::string values_;  // values of one packed list
    std::string features_;
};

// Traverses a tf.Example in place: Example > Features > map entries > Feature > list > values.
//
// All functions return false if the bytes are malformed or contain what no writer produces: an entry with two values, a
// Feature with lists of two types. A visitor returns false to stop; the traversal then returns false.
//
// Everything is inline because every training record is parsed by this code.

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
    FeatureEntry result;
    int values = 0;
    const bool ok = for_each_field(entry, [&](const WireReader& reader) {
        if (is_message(reader, kEntryKey))
            result.key = {reinterpret_cast<const char*>(reader.bytes().data()), reader.bytes().size()};
        if (!is_message(reader, kEntryFeature)) return true;
        result.feature = reader.bytes();
        return ++values == 1;
    });
    return ok ? std::optional(result) : std::nullopt;
}

/// Calls `visit(entry)` for each entry in record order. Of several entries with one key, the last is valid.
template <typename Visit> bool for_each_feature(std::span<const std::byte> record, Visit visit) {
    return for_each_field(record, [&](const WireReader& example) {
        if (!is_message(example, kFeatures)) return true;
        return for_each_field(example.bytes(), [&](const WireReader& features) {
            if (!is_message(features, kFeatureEntry)) return true;
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
    return for_each_field(feature, [&](const WireReader& list) {
        if (!is_message(list, static_cast<std::uint32_t>(type))) return true;
        return for_each_field(list.bytes(),
                              [&](const WireReader& value) { return value.field() != kListValues || visit(value); });
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

// Parses the tf.Example of one pretraining record.

/// The user setting that determines the length of a key's list or limits its values.
enum class PretrainingLimit : std::uint8_t {
    none,
    sequence_length,
    max_predictions,
    vocabulary_size,
    max_positions,
    type_vocabulary,
};

/// A key that is read into one field.
struct PretrainingKey {
    std::string_view key;
    std::string_view field;
    FeatureType type = FeatureType::integers;
    std::int64_t length = 0;
    PretrainingLimit length_from = PretrainingLimit::none;
    std::int64_t least = 0;  // smallest value; `most` is the largest
    std::int64_t most = 0;
    PretrainingLimit most_from = PretrainingLimit::none;
    bool counts_sequences = false;  // 1, ..., 1, 2, ..., and 0 from some place on
};
/// Keys in the order of pretraining_fields().
std::vector<PretrainingKey> pretraining_keys(const PretrainingSettings& settings);

/// A fault in a record.
struct PretrainingFault {
    enum class Kind : std::uint8_t { not_an_example, missing_key, wrong_type, wrong_length, wrong_value };
    Kind kind = Kind::not_an_example;
    std::string what;                                 // such as "input_ids has 128 values, not 384"
    PretrainingLimit limit = PretrainingLimit::none;  // the setting that the length or value violates
    std::int64_t found = 0;                           // that length or value
};

/// Writes the fields, or returns the fault. Allocates only for a fault.
std::optional<PretrainingFault> parse_pretraining_example(std::span<const std::byte> record,
                                                          std::span<const PretrainingKey> keys, SampleView out);

/// The settings that fit a record, as far as it shows them: layout and lengths. Other limits are set to their maximum.
/// Empty if the bytes are not a tf.Example.
std::optional<PretrainingSettings> settings_of_record(std::span<const std::byte> record);

// The keys of pretraining records in the plain, the static and the packed layout.

inline constexpr std::string_view kInputIds = "input_ids";                       // int64[S]
inline constexpr std::string_view kInputMask = "input_mask";                     // int64[S], plain
inline constexpr std::string_view kInputPosition = "input_position";             // int64[S], static, packed
inline constexpr std::string_view kSequenceNumbers = "sequence_numbers";         // int64[S], packed
inline constexpr std::string_view kSegmentIds = "segment_ids";                   // int64[S]
inline constexpr std::string_view kMaskPaddingIndex = "mask_padding_index";      // int64[1], static
inline constexpr std::string_view kSeqPaddingIndex = "seq_padding_index";        // int64[1], static
inline constexpr std::string_view kMaskedLmPositions = "masked_lm_positions";    // int64[M]; static: without padding
inline constexpr std::string_view kMaskedLmIds = "masked_lm_ids";                // int64[M]
inline constexpr std::string_view kMaskedLabels = "masked_labels";               // int64[M], static
inline constexpr std::string_view kMaskedLmWeights = "masked_lm_weights";        // float[M]
inline constexpr std::string_view kNextSentenceLabels = "next_sentence_labels";  // int64[1]; packed: [K]
inline constexpr std::string_view kNextSentencePositions = "next_sentence_positions";  // int64[K], packed
inline constexpr std::string_view kNextSentenceWeights = "next_sentence_weights";      // float[K], packed

}  // namespace cnntrain::data
