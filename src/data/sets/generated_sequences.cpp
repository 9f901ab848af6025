#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>

#include "cnntrain/base/rng.h"
#include "data/records/pretraining_keys.h"
#include "data/sets/pretraining.h"

namespace cnntrain::data {
namespace {

/// The random choices for one sequence.
struct Drawn {
    std::vector<std::int32_t> masked;  // positions of the tokens to predict, ascending; never 0, which is [CLS]
    std::vector<std::int32_t> order;   // positions of the tokens in the order of the layout
    std::int32_t second_part = 0;      // position at which the second part begins
};

Drawn draw(const PretrainingSettings& settings, Rng& rng) {
    Drawn drawn;
    std::vector<std::int32_t> others = {0};
    // Algorithm S of Knuth, volume 2, section 3.4.2.
    for (std::int64_t position = 1; position < settings.sequence_length; ++position) {
        const std::int64_t wanted = settings.max_predictions - std::ssize(drawn.masked);
        const bool chosen = rng.integer(0, settings.sequence_length - position) < wanted;
        (chosen ? drawn.masked : others).push_back(static_cast<std::int32_t>(position));
    }
    drawn.order = drawn.masked;
    drawn.order.insert(drawn.order.end(), others.begin(), others.end());
    if (!settings.static_mask || settings.packed) std::ranges::sort(drawn.order);
    drawn.second_part = static_cast<std::int32_t>(rng.integer(1, settings.sequence_length));
    return drawn;
}

void append_field(const PretrainingKey& key, const PretrainingSettings& settings, const Drawn& drawn, Rng& rng,
                  std::vector<std::int32_t>& values) {
    const auto append = [&](std::int32_t value) {
        values.insert(values.end(), static_cast<std::size_t>(key.length), value);
    };
    const auto append_for_parts = [&](const std::array<std::int32_t, 2>& of_parts) {
        values.insert(values.end(), of_parts.begin(), of_parts.end());
        values.insert(values.end(), static_cast<std::size_t>(key.length) - of_parts.size(), 0);
    };
    constexpr auto kOne = std::bit_cast<std::int32_t>(1.0F);
    if (key.field == kMaskedLmWeights) return append(kOne);
    if (key.field == kNextSentenceWeights) return append_for_parts({kOne, kOne});
    if (key.field == kNextSentencePositions) return append_for_parts({0, drawn.second_part});
    if (key.field == kInputMask) return append(1);
    if (key.field == kMaskPaddingIndex) return append(static_cast<std::int32_t>(settings.max_predictions));
    if (key.field == kSeqPaddingIndex) return append(static_cast<std::int32_t>(settings.sequence_length));
    for (std::size_t i = 0; i < static_cast<std::size_t>(key.length); ++i) {
        const bool in_second_part = drawn.order[i] >= drawn.second_part;
        if (key.field == kInputPosition) {
            values.push_back(drawn.order[i] - (settings.packed && in_second_part ? drawn.second_part : 0));
        } else if (key.field == kSequenceNumbers) {
            values.push_back(in_second_part ? 2 : 1);
        } else if (key.field == kMaskedLmPositions) {
            values.push_back(drawn.masked[i]);
        } else if (key.field == kSegmentIds) {
            values.push_back(in_second_part && settings.type_vocabulary > 1 ? 1 : 0);
        } else {  // tokens and the next-sentence label
            values.push_back(static_cast<std::int32_t>(rng.integer(0, key.most + 1)));
        }
    }
}

}  // namespace

GeneratedSequences::GeneratedSequences(const PretrainingSettings& settings, std::uint64_t seed) : settings_(settings) {
    const std::vector<PretrainingKey> keys = pretraining_keys(settings);
    values_.resize(keys.size());
    for (std::int64_t index = 0; index < kGeneratedSequences; ++index) {
        Rng rng(seed, RngStream::generated_data, 0, static_cast<std::uint64_t>(index));
        const Drawn drawn = draw(settings, rng);
        for (std::size_t field = 0; field < keys.size(); ++field)
            append_field(keys[field], settings, drawn, rng, values_[field]);
    }
}

SampleState GeneratedSequences::read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const {
    for (std::size_t field = 0; field < out.size(); ++field) {
        const auto values = std::as_bytes(std::span(values_[field]));
        std::memcpy(out[field].data(), values.data() + static_cast<std::size_t>(index) * out[field].size(),
                    out[field].size());
    }
    return SampleState::counted;
}

void GeneratedSequences::pad(SampleView out) const {
    store_empty_sequence(settings_, out);
}

std::uint64_t GeneratedSequences::memory_bytes() const {
    std::uint64_t total = 0;
    for (const std::vector<std::int32_t>& values : values_)
        total += values.capacity() * sizeof values[0];
    return total;
}

void store_empty_sequence(const PretrainingSettings& settings, SampleView out) {
    for (const std::span<std::byte> field : out)
        std::memset(field.data(), 0, field.size());
    if (settings.packed) return;
    std::memcpy(out.back().data(), &kNoSentenceLabel, sizeof kNoSentenceLabel);
    // Only the first token is valid, so that attention has at least one position.
    const std::string_view field = settings.static_mask ? kSeqPaddingIndex : kInputMask;
    const auto value = static_cast<std::int32_t>(settings.static_mask ? settings.max_predictions + 1 : 1);
    std::memcpy(out[field_number(pretraining_fields(settings), field)].data(), &value, sizeof value);
}

}  // namespace cnntrain::data
