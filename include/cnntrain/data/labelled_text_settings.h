// What the user says about a file of labelled texts (data/labelled_text.h).
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::data {

struct LabelledTextSettings {
    std::string file = {};               // TSV or CSV
    std::string vocabulary_file = {};    // of the WordPiece tokeniser
    bool lower_case = true;              // also without accents
    std::int64_t sequence_length = 128;  // S
    /// Token ids lie below it. The vocabulary file may have more lines than the model's table has rows.
    std::int64_t vocabulary_size = 30522;
    std::int64_t type_vocabulary = 2;  // rows of the table of segments
    // Columns by their name in the header line; empty: by the names and places of data/labelled_text.h.
    std::string text_column = {};
    std::string pair_column = {};
    std::string label_column = {};
    bool reads_labels = true;  // false: the file needs none, and those that it has are not read
};

}  // namespace cnntrain::data
