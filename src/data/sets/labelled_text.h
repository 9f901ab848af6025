// Labelled texts as token ids: all rows of a file, concatenated.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/sets.h"

namespace cnntrain::data {

struct LabelledTokens {
    std::int64_t length = 0;  // S
    nn::LabelKind kind = nn::LabelKind::single;
    std::vector<std::string> classes;
    std::vector<std::int32_t> labels;  // one per row; several: 0 or 1 for each class of each row
    std::vector<float> scores;         // one per row; NaN: the row has none
    /// Ids of the tokens, in 16 bits if all fit.
    std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> ids;
    std::vector<std::uint64_t> begins = {0};  // start of each row in `ids`, then the end of the last row
    std::vector<std::uint32_t> second_part;   // tokens of each row before those of the second text
    std::int64_t truncated = 0;               // number of rows that lost tokens
    std::int64_t with_special_tokens = 0;     // number of rows that have some in their texts
    std::vector<std::string> texts;           // of each row, if the settings keep them
    std::vector<OriginPart> parts;            // the files that were read

    std::size_t rows() const { return begins.size() - 1; }
    /// The field of labels of a sample.
    TensorDesc label_desc() const;
    /// A row's class; 0 for a score or several labels; kNoLabel for a row without a label.
    std::int32_t class_of(std::size_t row) const;
    std::uint64_t memory_bytes() const;

    /// Writes the fields listed in data/sets.h.
    void store(std::size_t row, SampleView out) const;
};

/// Writes the fields of a padding sample.
SampleState store_empty_text(SampleView out);

/// Arguments and errors as in open_labelled_text().
LabelledTokens read_labelled_tokens(const LabelledTextSettings& settings, int threads,
                                    const std::vector<std::string>& classes, const FileSystem& files);

}  // namespace cnntrain::data
