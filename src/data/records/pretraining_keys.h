// The keys of pretraining records in the plain, the static and the packed layout.
#pragma once

#include <string_view>

namespace cnntrain::data {

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
