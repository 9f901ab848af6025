// User settings of a file of labelled texts (data/labelled_text.h).
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::data {

struct LabelledTextSettings {
    std::string file = {};             // TSV or CSV
    std::string vocabulary_file = {};  // vocabulary of the WordPiece tokeniser
    bool lower_case = true;            // also strips accents
    /// True: [SEP] and other special tokens in a text are divided as its words are. False: each is one token.
    bool splits_special_tokens = false;
    std::int64_t sequence_length = 128;  // S
    /// Upper limit of token ids (exclusive). The vocabulary file may have more lines than the model's embedding has
    /// rows.
    std::int64_t vocabulary_size = 30522;
    std::int64_t type_vocabulary = 2;  // rows of the segment embedding
    // Column names in the header line; empty: found by the known names and positions of data/labelled_text.h.
    std::string text_column = {};
    std::string pair_column = {};
    std::string label_column = {};
    bool needs_labels = true;  // false: a row without a label, or with one that is no class, has none
    bool keeps_texts = false;  // for LabelledText::text()
};

}  // namespace cnntrain::data
