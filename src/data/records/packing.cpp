#include "data/records/packing.h"

#include <algorithm>
#include <numeric>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kWindow = 8192;

/// A row that is being filled.
struct OpenRow {
    RowShare room;
    std::vector<std::uint32_t> sequences;
};

bool fits(const RowShare& share, const RowShare& room) {
    return share.tokens <= room.tokens && share.predictions <= room.predictions && share.sequences <= room.sequences;
}

class Window {
public:
    explicit Window(const RowShare& row) : row_(row), by_room_(static_cast<std::size_t>(row.tokens) + 1) {}

    void place(std::uint32_t number, const RowShare& share) {
        CNNTRAIN_CHECK(fits(share, row_), "a sequence that fits into no row");
        const std::size_t row = take_row(share);
        OpenRow& open = rows_[row];
        open.sequences.push_back(number);
        open.room.tokens -= share.tokens;
        open.room.predictions -= share.predictions;
        open.room.sequences -= share.sequences;
        by_room_[static_cast<std::size_t>(open.room.tokens)].push_back(row);
    }

    std::vector<OpenRow> rows() {
        for (OpenRow& row : rows_)
            std::ranges::sort(row.sequences);
        std::ranges::sort(rows_, {}, [](const OpenRow& row) { return row.sequences.front(); });
        return std::move(rows_);
    }

private:
    /// The row with the least room that is enough, of equal ones the one that got its last sequence first; else a new
    /// one.
    std::size_t take_row(const RowShare& share) {
        for (auto room = static_cast<std::size_t>(share.tokens); room < by_room_.size(); ++room) {
            std::vector<std::size_t>& rows = by_room_[room];
            const auto found =
                std::ranges::find_if(rows, [&](std::size_t row) { return fits(share, rows_[row].room); });
            if (found == rows.end()) continue;
            const std::size_t row = *found;
            rows.erase(found);
            return row;
        }
        rows_.push_back({row_, {}});
        return rows_.size() - 1;
    }

    RowShare row_;
    std::vector<OpenRow> rows_;
    std::vector<std::vector<std::size_t>> by_room_;  // numbers of rows, by the tokens that they have room for
};

}  // namespace

void Packing::add_row(std::span<const std::uint32_t> sequences) {
    numbers_.insert(numbers_.end(), sequences.begin(), sequences.end());
    ends_.push_back(numbers_.size());
}

std::uint64_t Packing::memory_bytes() const {
    return numbers_.capacity() * sizeof numbers_[0] + ends_.capacity() * sizeof ends_[0];
}

Packing pack(std::span<const RowShare> sequences, const RowShare& row) {
    Packing packing;
    for (std::size_t first = 0; first < sequences.size(); first += kWindow) {
        std::vector<std::uint32_t> order(std::min(kWindow, sequences.size() - first));
        std::iota(order.begin(), order.end(), static_cast<std::uint32_t>(first));
        std::ranges::stable_sort(order, std::ranges::greater(),
                                 [&](std::uint32_t number) { return sequences[number].tokens; });
        Window window(row);
        for (const std::uint32_t number : order)
            window.place(number, sequences[number]);
        for (const OpenRow& filled : window.rows())
            packing.add_row(filled.sequences);
    }
    return packing;
}

}  // namespace cnntrain::data
