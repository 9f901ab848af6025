#include "data/records/packing.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

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

HeldSample::HeldSample(const Dataset& dataset, std::span<const std::size_t> bytes, std::int64_t number,
                       SamplePosition position, Workspace& workspace)
    : count_(bytes.size()) {
    CNNTRAIN_CHECK(count_ <= kMostFields, "a sample with more fields");
    const std::size_t total = std::accumulate(bytes.begin(), bytes.end(), std::size_t{0});
    workspace.levels.resize(std::max(workspace.levels.size(), total));
    std::span<std::byte> left = std::as_writable_bytes(std::span(workspace.levels));
    for (std::size_t i = 0; i < count_; ++i) {
        fields_[i] = left.first(bytes[i]);
        left = left.subspan(bytes[i]);
    }
    dataset.read(number, position, fields(), workspace);
}

std::vector<RowShare> shares_of_all(std::int64_t count, int threads,
                                    const std::function<RowShare(std::int64_t, Workspace&)>& share) {
    constexpr std::size_t kGrain = 256;
    std::vector<RowShare> all(static_cast<std::size_t>(count));
    const auto read_some = [&](const tbb::blocked_range<std::size_t>& range) {
        Workspace workspace;
        for (std::size_t i = range.begin(); i < range.end(); ++i)
            all[i] = share(static_cast<std::int64_t>(i), workspace);
    };
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] { tbb::parallel_for(tbb::blocked_range<std::size_t>(0, all.size(), kGrain), read_some); });
    return all;
}

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

namespace {

/// Fields in the order of pretraining_fields().
enum PackedField : std::uint8_t {
    ids,
    segments,
    positions,
    numbers,
    masked_positions,
    masked_ids,
    masked_weights,
    first_tokens,
    labels,
    label_weights,
    field_count
};

std::int32_t value_at(std::span<const std::int32_t> values, std::size_t i) {
    return values.empty() ? static_cast<std::int32_t>(i) : values[i];
}

}  // namespace

RowShare room_of_row(const PretrainingSettings& settings) {
    return {settings.sequence_length, settings.max_predictions, most_sequences(settings)};
}

PackedRow::PackedRow(SampleView out) : out_(out) {
    CNNTRAIN_CHECK(out.size() == field_count, "fields of another layout");
    for (const std::span<std::byte> field : out)
        std::memset(field.data(), 0, field.size());
}

template <typename T> std::span<T> PackedRow::values(std::size_t field) const {
    return {reinterpret_cast<T*>(out_[field].data()), out_[field].size() / sizeof(T)};
}

void PackedRow::append(const SequenceValues& sequence) {
    const std::size_t tokens = sequence.ids.size();
    const std::size_t predictions = sequence.masked_ids.size();
    CNNTRAIN_CHECK(tokens_ + tokens <= values<std::int32_t>(ids).size() &&
                       predictions_ + predictions <= values<std::int32_t>(masked_ids).size() &&
                       sequences_ < values<std::int32_t>(labels).size(),
                   "a row has no room for the sequence");
    std::ranges::copy(sequence.ids, values<std::int32_t>(ids).begin() + static_cast<std::ptrdiff_t>(tokens_));
    std::ranges::copy(sequence.segments, values<std::int32_t>(segments).begin() + static_cast<std::ptrdiff_t>(tokens_));
    for (std::size_t i = 0; i < tokens; ++i) {
        values<std::int32_t>(positions)[tokens_ + i] = value_at(sequence.positions, i);
        values<std::int32_t>(numbers)[tokens_ + i] = static_cast<std::int32_t>(sequences_ + 1);
    }
    for (std::size_t i = 0; i < predictions; ++i) {
        const std::int32_t place = value_at(sequence.masked_places, i) + static_cast<std::int32_t>(tokens_);
        values<std::int32_t>(masked_positions)[predictions_ + i] = place;
        values<std::int32_t>(masked_ids)[predictions_ + i] = sequence.masked_ids[i];
        values<float>(masked_weights)[predictions_ + i] = sequence.weights[i];
    }
    values<std::int32_t>(first_tokens)[sequences_] = static_cast<std::int32_t>(tokens_ + sequence.first_token);
    values<std::int32_t>(labels)[sequences_] = sequence.next_sentence_label;
    values<float>(label_weights)[sequences_] = 1;
    tokens_ += tokens;
    predictions_ += predictions;
    ++sequences_;
}

}  // namespace cnntrain::data
