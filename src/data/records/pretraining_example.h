// The tf.Example of one pretraining record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/feature_type.h"
#include "cnntrain/data/pretraining.h"

namespace cnntrain::data {

/// What decides how long a key's list is, or how large its values may be: a setting that the user can change.
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
    std::int64_t least = 0;  // values, `most` included
    std::int64_t most = 0;
    PretrainingLimit most_from = PretrainingLimit::none;
};
/// In the order of pretraining_fields().
std::vector<PretrainingKey> pretraining_keys(const PretrainingSettings& settings);

/// What is wrong with a record.
struct PretrainingFault {
    enum class Kind : std::uint8_t { not_an_example, missing_key, wrong_type, wrong_length, wrong_value };
    Kind kind = Kind::not_an_example;
    std::string what;                                 // "input_ids has 128 values, not 384"
    PretrainingLimit limit = PretrainingLimit::none;  // that the length or the value does not fit
    std::int64_t found = 0;                           // that length or value
};

/// Writes the fields, or says what is wrong. Allocates only for that.
std::optional<PretrainingFault> parse_pretraining_example(std::span<const std::byte> record,
                                                          std::span<const PretrainingKey> keys, SampleView out);

/// The settings that a record fits, as far as it tells: layout and lengths; the other limits are the largest there are.
/// Nothing if the bytes are no tf.Example.
std::optional<PretrainingSettings> settings_of_record(std::span<const std::byte> record);

}  // namespace cnntrain::data
