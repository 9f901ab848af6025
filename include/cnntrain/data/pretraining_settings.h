// What the user says about the sequences of BERT's pretraining (data/pretraining.h).
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::data {

struct PretrainingSettings {
    std::string files = {};              // --train-file: patterns of file names, separated by commas
    bool generated = false;              // --generated-data: random sequences; `files` is not read
    bool static_mask = false;            // --static-mask: which of the two layouts the files have
    std::int64_t sequence_length = 128;  // S, --seq-length
    std::int64_t max_predictions = 20;   // M, --max-predictions-per-seq
    /// Token ids lie below it. The published records hold every id of their vocabulary file, which may be larger than
    /// the model's table.
    std::int64_t vocabulary_size = 30522;
    std::int64_t max_positions = 512;  // rows of the table of positions
    std::int64_t type_vocabulary = 2;  // rows of the table of segments
    double cache_gb = 0;               // 1e9 bytes of memory for records, shared by the host's processes
};

}  // namespace cnntrain::data
