// User settings of the sequences for BERT pretraining (data/pretraining.h).
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::data {

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
    double cache_gb = 0;               // memory for records in 1e9 bytes, shared by all processes of the host
};

}  // namespace cnntrain::data
