// A row of several sequences in the packed layout.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/pretraining.h"
#include "data/records/packing.h"

namespace cnntrain::data {

/// What a row of these settings has room for.
RowShare room_of_row(const PretrainingSettings& settings);

/// One sequence, without padding.
struct SequenceValues {
    std::span<const std::int32_t> ids;
    std::span<const std::int32_t> segments;
    std::span<const std::int32_t> positions = {};  // of the tokens; empty: 0, 1, ...
    std::span<const std::int32_t> masked_places;   // of the masked tokens; empty: 0, 1, ...
    std::span<const std::int32_t> masked_ids;
    std::span<const float> weights;  // of the masked tokens
    std::size_t first_token = 0;     // place of the token with position 0
    std::int32_t next_sentence_label = 0;
};

/// Writes the fields of a row; their memory must outlive it. A new row is all padding.
class PackedRow {
public:
    explicit PackedRow(SampleView out);
    /// The sequence must fit behind those before it.
    void append(const SequenceValues& sequence);

private:
    template <typename T> std::span<T> values(std::size_t field) const;

    SampleView out_;
    std::size_t tokens_ = 0;
    std::size_t predictions_ = 0;
    std::size_t sequences_ = 0;
};

}  // namespace cnntrain::data
