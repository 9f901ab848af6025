// The data set of BERT pretraining: TFRecord files as written by `cnntrain dataset bert`, or generated sequences.
//
// S: number of tokens in a row; M: maximum number of its masked tokens; K: most_sequences(), in the packed layout.
// A sample is a row: one sequence, or in the packed layout up to K of them. Its fields, in this order:
//
//   name                     type    normal  static  packed  values
//   input_ids                i32[S]  yes     yes     yes     0..vocabulary_size-1
//   segment_ids              i32[S]  yes     yes     yes     0..type_vocabulary-1
//   input_position           i32[S]  -       yes     yes     0..max_positions-1; packed: from 0 on in each sequence
//   input_mask               i32[S]  yes     -       -       1: a token, 0: padding
//   sequence_numbers         i32[S]  -       -       yes     1: first sequence, 2: second, ...; 0: padding
//   mask_padding_index       i32[1]  -       yes     -       0..M: masked tokens in front
//   seq_padding_index        i32[1]  -       yes     -       M..S: the padding begins there
//   masked_lm_positions      i32[M]  yes     -       yes     0..S-1
//   masked_lm_ids            i32[M]  yes     yes     yes     0..vocabulary_size-1; called masked_labels if static
//   masked_lm_weights        f32[M]  yes     yes     yes     0..1; 0: there is no such prediction
//   next_sentence_positions  i32[K]  -       -       yes     0..S-1: the first token of each sequence
//   next_sentence_labels     i32[1]  yes     yes     [K]     1: the second part was drawn at random; kNoSentenceLabel:
//                                                            padding, except if packed
//   next_sentence_weights    f32[K]  -       -       yes     1: there is such a sequence, 0: there is none
//
// The static layout places the masked tokens of a sequence in its first M positions and the others after them, so that
// a graph always reads the tokens to predict at the same positions. The packed layout has the sequences of a row one
// after the other, and the padding after all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/dataset.h"

namespace cnntrain::data {

// User settings of the sequences for BERT pretraining (data/pretraining.h).

struct PretrainingSettings {
    std::string files = {};              // --train-file: file name patterns, separated by commas
    bool generated = false;              // --generated-data: random sequences instead of `files`
    bool static_mask = false;            // --static-mask: the layout of the files
    bool packed = false;                 // --packed: several sequences in a row, whatever the layout of the files
    std::int64_t sequence_length = 128;  // S, --seq-length
    std::int64_t max_predictions = 20;   // M, --max-predictions-per-seq
    /// Upper limit of token ids (exclusive). The published records use all ids of their vocabulary file, which may be
    /// larger than the model's embedding.
    std::int64_t vocabulary_size = 30522;
    std::int64_t max_positions = 512;  // rows of the position embedding
    std::int64_t type_vocabulary = 2;  // rows of the segment embedding
};

/// The next-sentence label of padding samples; their masked_lm_weights are 0.
inline constexpr std::int32_t kNoSentenceLabel = -1;

/// K: the sequences for which a row of the packed layout has room.
constexpr std::int64_t most_sequences(const PretrainingSettings& settings) {
    constexpr std::int64_t kTokensEach = 8;
    return std::max<std::int64_t>(2, settings.sequence_length / kTokensEach);
}

/// Fields of one sample, as listed above.
std::vector<Field> pretraining_fields(const PretrainingSettings& settings);

/// The files that match the comma-separated patterns (`*`, `?`, `[...]` and `~` as in a shell), in the order of the
/// patterns, and sorted within each. Throws Error(data) for a pattern without a match, Error(usage) without a pattern.
std::vector<std::string> pretraining_files(const std::string& patterns);

/// Opens the files, or generates sequences. With `packed`, files of the other layouts are read once and their sequences
/// packed into rows: the same ones whenever the same files are opened. `seed`: of generated sequences. `threads`: for
/// indexing and packing the files. Throws
/// Error(usage) for impossible settings; Error(data) for missing or damaged files, or if the layout or lengths of the
/// first record differ from the settings. Reading a sample throws Error(data), with file, record and key, for anything
/// that is not as listed above.
std::shared_ptr<const Dataset> open_pretraining(const PretrainingSettings& settings, std::uint64_t seed, int threads);

}  // namespace cnntrain::data
