// Packs sequences into rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cnntrain::data {

/// What a sequence takes of a row, or what a row has.
struct RowShare {
    std::int64_t tokens = 0;
    std::int64_t predictions = 0;
    std::int64_t sequences = 1;
};

/// Rows of sequences, which are numbered as given.
class Packing {
public:
    std::int64_t rows() const { return static_cast<std::int64_t>(ends_.size()); }
    /// Ascending.
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

/// Best fit, the longest sequence first, in windows of 8192 consecutive sequences. The rows of a window are in the
/// order of their first sequences. Each sequence must fit into an empty row.
Packing pack(std::span<const RowShare> sequences, const RowShare& row);

}  // namespace cnntrain::data
