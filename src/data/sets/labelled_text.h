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
    std::vector<std::string> classes;
    std::vector<std::int32_t> labels;  // one per row
    /// Ids of the tokens, in 16 bits if all fit.
    std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> ids;
    std::vector<std::uint64_t> begins;       // start of each row in `ids`, then the end of the last row
    std::vector<std::uint32_t> second_part;  // tokens of each row before those of the second text
    std::int64_t truncated = 0;              // number of rows that lost tokens
    std::int64_t with_special_tokens = 0;    // number of rows that have some in their texts
    std::vector<std::string> texts;          // of each row, if the settings keep them
    std::vector<OriginPart> parts;           // the files that were read

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
