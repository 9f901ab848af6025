// Parses the tf.Example of one pretraining record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/inspect.h"
#include "cnntrain/data/sets.h"

namespace cnntrain::data {

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
