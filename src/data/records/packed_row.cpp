#include "data/records/packed_row.h"

#include <algorithm>
#include <cstring>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
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
