// The data set of BERT pretraining: TFRecord files as written by `cnntrain dataset bert`, or generated sequences.
//
// S: number of tokens in a sequence; M: maximum number of masked tokens. Fields of one sample, in this order:
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
// The static layout places the masked tokens of a sequence in its first M positions and the others after them, so that
// a graph always reads the tokens to predict at the same positions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/pretraining_settings.h"

namespace cnntrain::data {

/// The next-sentence label of padding samples; their masked_lm_weights are 0.
inline constexpr std::int32_t kNoSentenceLabel = -1;

/// Fields of one sample, as listed above.
std::vector<Field> pretraining_fields(const PretrainingSettings& settings);

/// The files that match the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell), in the order of the
/// patterns, and sorted within each. Throws Error(data) for a pattern without a match, Error(usage) without a pattern.
std::vector<std::string> pretraining_files(const std::string& patterns);

/// Opens the files, or generates sequences. `seed`: of generated sequences. `threads`: for indexing the files. Throws
/// Error(usage) for impossible settings; Error(data) for missing or damaged files, or if the layout or lengths of the
/// first record differ from the settings. Reading a sample throws Error(data), with file, record and key, for anything
/// that is not as listed above.
std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads);

}  // namespace cnntrain::data
