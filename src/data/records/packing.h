// Packs sequences into rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cnntrain/data/sets.h"

namespace cnntrain::data {

/// Room that a sequence takes of a row, or that a row has.
struct RowShare {
    std::int64_t tokens = 0;
    std::int64_t predictions = 0;
    std::int64_t sequences = 1;
};

/// Rows of sequences, which are numbered as given.
class Packing {
public:
    std::int64_t rows() const { return static_cast<std::int64_t>(ends_.size()); }
    /// Numbers of the sequences in a row, ascending.
    std::span<const std::uint32_t> sequences(std::int64_t row) const {
        const auto index = static_cast<std::size_t>(row);
        const std::size_t begin = index == 0 ? 0 : ends_[index - 1];
        return std::span(numbers_).subspan(begin, ends_[index] - begin);
    }
    void add_row(std::span<const std::uint32_t> sequences);
    std::uint64_t memory_bytes() const;

private:
    std::vector<std::uint32_t> numbers_;  // of the sequences, row by row
    std::vector<std::uint64_t> ends_;     // of the rows
};

/// A sample from which a row is made, in memory of the workspace.
class HeldSample {
public:
    /// `bytes` has the size of each field.
    HeldSample(const Dataset& dataset, std::span<const std::size_t> bytes, std::int64_t number, SamplePosition position,
               Workspace& workspace);
    std::span<const std::span<std::byte>> fields() const { return std::span(fields_).first(count_); }

private:
    static constexpr std::size_t kMostFields = 8;
    std::array<std::span<std::byte>, kMostFields> fields_;
    std::size_t count_;
};

/// The shares of samples 0..count-1, found by `threads` threads.
std::vector<RowShare> shares_of_all(std::int64_t count, int threads,
                                    const std::function<RowShare(std::int64_t number, Workspace& workspace)>& share);

/// Best fit, the longest sequence first, in windows of 8192 consecutive sequences. The rows of a window are in the
/// order of their first sequences. Each sequence must fit into an empty row.
Packing pack(std::span<const RowShare> sequences, const RowShare& row);

// A row of several sequences in the packed layout.

/// Room in a row of these settings.
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
    /// Appends a sequence, which must fit after those before it.
    void append(const SequenceValues& sequence);

private:
    template <typename T> std::span<T> values(std::size_t field) const;

    SampleView out_;
    std::size_t tokens_ = 0;
    std::size_t predictions_ = 0;
    std::size_t sequences_ = 0;
};

}  // namespace cnntrain::data
