// The data set of BERT pretraining: TFRecord files that `cnntrain dataset bert` writes, or generated sequences.
//
// S: tokens of a sequence; M: masked tokens that a sequence has at most. Fields of one sample, in this order:
//
//   name                   type    normal  static  values
//   input_ids              i32[S]  yes     yes     0..vocabulary_size-1
//   segment_ids            i32[S]  yes     yes     0..type_vocabulary-1
//   input_position         i32[S]  -       yes     0..max_positions-1
//   input_mask             i32[S]  yes     -       1: a token, 0: padding
//   mask_padding_index     i32[1]  -       yes     0..M: masked tokens in front
//   seq_padding_index      i32[1]  -       yes     M..S: the padding begins there
//   masked_lm_positions    i32[M]  yes     -       0..S-1
//   masked_lm_ids          i32[M]  yes     yes     0..vocabulary_size-1; called masked_labels in static records
//   masked_lm_weights      f32[M]  yes     yes     0..1; 0: there is no such prediction
//   next_sentence_labels   i32[1]  yes     yes     1: the second part was drawn at random; kNoSentenceLabel: padding
//
// The static layout has the masked tokens of a sequence in its first M places and the others behind them, so that a
// graph reads what it must predict at places that never change.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/pretraining_settings.h"

namespace cnntrain::data {

/// The next-sentence label of samples that count for nothing; their masked_lm_weights are 0.
inline constexpr std::int32_t kNoSentenceLabel = -1;

/// Of one sample, as listed above.
std::vector<Field> pretraining_fields(const PretrainingSettings& settings);

/// The files that the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell) name: pattern by pattern,
/// those of one pattern sorted. Error(data) for a pattern that no file fits, Error(usage) when there is no pattern.
std::vector<std::string> pretraining_files(const std::string& patterns);

/// Opens the files, or generates: `seed` is that of the generated sequences, `threads` index the files.
/// Error(usage) for settings that cannot be. Error(data) for missing and damaged files, and when the first record has
/// another layout or other lengths than the settings say. Reading a sample gives Error(data) with file, record and key
/// for everything that is not as listed above.
std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads);

}  // namespace cnntrain::data
