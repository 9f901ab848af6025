// Labelled texts as tokens and numbers: a whole file, one row behind the other.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/field.h"
#include "cnntrain/data/labelled_text_settings.h"

namespace cnntrain::data {

struct LabelledTokens {
    std::int64_t length = 0;  // S
    std::vector<std::string> classes;
    std::vector<std::int32_t> labels;  // of each row
    /// In 16 bits where all ids fit.
    std::variant<std::vector<std::uint16_t>, std::vector<std::uint32_t>> ids;
    std::vector<std::uint64_t> begins;       // of each row among the ids, and the end of the last one
    std::vector<std::uint32_t> second_part;  // tokens of each row in front of the second text's
    std::int64_t truncated = 0;              // rows that lost tokens

    std::uint64_t memory_bytes() const;
    /// Writes the fields of data/labelled_text.h.
    void store(std::size_t row, SampleView out) const;
};

/// The fields of a sample that counts for nothing.
void store_empty_text(SampleView out);

/// Arguments and errors are those of open_labelled_text().
LabelledTokens read_labelled_tokens(const LabelledTextSettings& settings, int threads,
                                    const std::vector<std::string>& classes, const FileSystem& files);

}  // namespace cnntrain::data
