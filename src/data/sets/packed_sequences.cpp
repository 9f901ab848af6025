#include "data/sets/packed_sequences.h"

#include <tbb/blocked_range.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "data/sets/pretraining.h"

namespace cnntrain::data {
namespace {

// Fields in the order of pretraining_fields().
namespace normal {
enum Field : std::uint8_t { ids, segments, mask, masked_positions, masked_ids, weights, label, count };
}
namespace in_front {  // static
enum Field : std::uint8_t { ids, segments, positions, masked_end, end, masked_ids, weights, label, count };
}

using Fields = std::span<const std::span<std::byte>>;

template <typename T> std::span<T> values(Fields fields, std::size_t field) {
    return {reinterpret_cast<T*>(fields[field].data()), fields[field].size() / sizeof(T)};
}

/// The values up to the last one that is not 0; empty if a 0 lies between others, too.
template <typename T> std::span<const T> leading(std::span<const T> values) {
    const auto end = std::ranges::find(values, T{0});
    const bool only_zeros = std::all_of(end, values.end(), [](T value) { return value == T{0}; });
    return values.first(only_zeros ? static_cast<std::size_t>(end - values.begin()) : 0);
}

SequenceValues normal_values(Fields fields) {
    const std::size_t tokens = leading<std::int32_t>(values<std::int32_t>(fields, normal::mask)).size();
    const auto weights = leading<float>(values<float>(fields, normal::weights));
    return {.ids = values<std::int32_t>(fields, normal::ids).first(tokens),
            .segments = values<std::int32_t>(fields, normal::segments).first(tokens),
            .masked_places = values<std::int32_t>(fields, normal::masked_positions).first(weights.size()),
            .masked_ids = values<std::int32_t>(fields, normal::masked_ids).first(weights.size()),
            .weights = weights,
            .next_sentence_label = values<std::int32_t>(fields, normal::label)[0]};
}

/// Moves the other tokens up to the masked ones in front. A prediction without a token is left out.
SequenceValues static_values(Fields fields) {
    const auto masked = static_cast<std::size_t>(values<std::int32_t>(fields, in_front::masked_end)[0]);
    const auto end = static_cast<std::size_t>(values<std::int32_t>(fields, in_front::end)[0]);
    const std::size_t predictions = values<std::int32_t>(fields, in_front::masked_ids).size();
    const std::size_t others = end - std::min(end, predictions);
    const auto tokens = [&](std::size_t field) -> std::span<const std::int32_t> {
        const std::span<std::int32_t> all = values<std::int32_t>(fields, field);
        std::ranges::copy(all.subspan(end - others, others), all.subspan(masked).begin());
        return all.first(others == 0 ? 0 : masked + others);
    };
    const auto weights = leading<float>(values<float>(fields, in_front::weights));
    const std::size_t predicted = std::min(weights.size(), masked);
    return {.ids = tokens(in_front::ids),
            .segments = tokens(in_front::segments),
            .positions = tokens(in_front::positions),
            .masked_places = {},
            .masked_ids = values<std::int32_t>(fields, in_front::masked_ids).first(predicted),
            .weights = weights.first(predicted),
            .first_token = masked,
            .next_sentence_label = values<std::int32_t>(fields, in_front::label)[0]};
}

}  // namespace

PackedSequences::PackedSequences(std::shared_ptr<const Dataset> sequences, const PretrainingSettings& settings,
                                 int threads)
    : sequences_(std::move(sequences)), settings_(settings) {
    if (sequences_->size() > std::numeric_limits<std::uint32_t>::max())
        throw Error(ErrorKind::unsupported, "more than 4294967295 sequences cannot be packed into rows");
    for (const Field& field : sequences_->fields())
        bytes_.push_back(field.desc.bytes());
    CNNTRAIN_CHECK(bytes_.size() == (settings.static_mask ? std::size_t{in_front::count} : std::size_t{normal::count}),
                   "another layout");
    static_assert(normal::count <= kMostFields && in_front::count <= kMostFields);
    const std::vector<RowShare> all = shares(threads);
    for (const RowShare& share : all)
        tokens_ += share.tokens;
    packing_ = pack(all, room_of_row(settings_));
}

SequenceValues PackedSequences::sequence(std::int64_t number, SamplePosition position, Workspace& workspace) const {
    workspace.levels.resize(
        std::max(workspace.levels.size(), std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0})));
    std::array<std::span<std::byte>, kMostFields> room;
    std::span<std::byte> left = std::as_writable_bytes(std::span(workspace.levels));
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
        room[i] = left.first(bytes_[i]);
        left = left.subspan(bytes_[i]);
    }
    const Fields fields = std::span(room).first(bytes_.size());
    sequences_->read(number, position, fields, workspace);
    return settings_.static_mask ? static_values(fields) : normal_values(fields);
}

std::vector<RowShare> PackedSequences::shares(int threads) const {
    constexpr std::size_t kGrain = 256;
    std::vector<RowShare> all(static_cast<std::size_t>(sequences_->size()));
    const auto read_some = [&](const tbb::blocked_range<std::size_t>& range) {
        Workspace workspace;
        for (std::size_t i = range.begin(); i < range.end(); ++i) {
            const auto number = static_cast<std::int64_t>(i);
            const SequenceValues read = sequence(number, {}, workspace);
            all[i] = {std::ssize(read.ids), std::ssize(read.masked_ids), 1};
            if (!read.ids.empty()) continue;
            throw Error(ErrorKind::data, sequences_->describe(number) +
                                             ": the sequence cannot be packed: it has no tokens, or padding between "
                                             "them; leave --packed out");
        }
    };
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] { tbb::parallel_for(tbb::blocked_range<std::size_t>(0, all.size(), kGrain), read_some); });
    return all;
}

SampleState PackedSequences::read(std::int64_t index, SamplePosition position, SampleView out,
                                  Workspace& workspace) const {
    PackedRow row(out);
    for (const std::uint32_t number : packing_.sequences(index))
        row.append(sequence(number, position, workspace));
    return SampleState::counted;
}

void PackedSequences::pad(SampleView out) const {
    store_empty_sequence(settings_, out);
}

Origin PackedSequences::origin() const {
    Origin origin = sequences_->origin();
    origin.samples = size();
    return origin;
}

std::string PackedSequences::describe(std::int64_t index) const {
    const auto numbers = packing_.sequences(index);
    const std::string others = numbers.size() > 1 ? " and " + std::to_string(numbers.size() - 1) + " more" : "";
    return sequences_->describe(numbers.front()) + others;
}

void PackedSequences::will_need(std::int64_t index) const noexcept {
    for (const std::uint32_t number : packing_.sequences(index))
        sequences_->will_need(number);
}

std::string PackedSequences::summary() const {
    const auto room = static_cast<double>(size() * settings_.sequence_length);
    return std::to_string(sequences_->size()) + " sequences in " + std::to_string(size()) + " rows of " +
           std::to_string(settings_.sequence_length) + " tokens, of which " +
           decimal(100 - 100 * static_cast<double>(tokens_) / room) + " % are padding";
}

}  // namespace cnntrain::data
