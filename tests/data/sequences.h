// Pretraining records for tests, and samples read from them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/data/sets.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// The values of a record by key, for tests to change.
struct SequenceRecord {
    std::map<std::string, std::vector<std::uint32_t>, std::less<>> integers;
    std::vector<float> weights;
    std::vector<float> sentence_weights;  // of the packed layout

    std::string bytes() const {
        ExampleEncoder encoder;
        for (const auto& [key, values] : integers)
            encoder.add(key, values);
        if (!weights.empty()) encoder.add(kMaskedLmWeights, weights);
        if (!sentence_weights.empty()) encoder.add(kNextSentenceWeights, sentence_weights);
        std::string result;
        encoder.finish(result);
        return result;
    }
};

/// The fields of one sample, by name.
class Sample {
public:
    explicit Sample(const std::vector<Field>& fields) : fields_(fields) {
        for (const Field& field : fields)
            views_.emplace_back(bytes_.emplace_back(field.desc.bytes(), std::byte{0xee}));
    }
    SampleView view() const { return views_; }
    template <typename T = std::int32_t> std::vector<T> of(std::string_view name) const {
        const auto& bytes = bytes_[field_number(fields_, name)];
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), bytes.size());
        return values;
    }

private:
    std::vector<Field> fields_;
    std::vector<std::vector<std::byte>> bytes_;
    std::vector<std::span<std::byte>> views_;
};

inline Sample sample_of(const Dataset& data, std::int64_t index) {
    Sample sample(data.fields());
    Workspace workspace;
    EXPECT_EQ(data.read(index, {}, sample.view(), workspace), SampleState::counted);
    return sample;
}

/// Settings and records of four tokens and two predictions; records are sound, and different for each number below 100.
inline PretrainingSettings four_tokens(bool static_mask) {
    PretrainingSettings settings;
    settings.static_mask = static_mask;
    settings.sequence_length = 4;
    settings.max_predictions = 2;
    settings.vocabulary_size = 110;
    settings.max_positions = 9;
    return settings;
}
inline SequenceRecord four_token_record(bool static_mask, std::uint32_t number = 0) {
    SequenceRecord record;
    auto& values = record.integers;
    values["input_ids"] = {number, 101, 102, 0};
    values["segment_ids"] = {0, 0, 1, 0};
    values["masked_lm_ids"] = {number + 1, 0};
    values["next_sentence_labels"] = {number % 2};
    record.weights = {1, 0};
    if (static_mask) {
        values["input_position"] = {2, 8, 0, 1};
        values["mask_padding_index"] = {1};
        values["seq_padding_index"] = {4};
        values["masked_labels"] = {number + 1, 0};
        values["masked_lm_positions"] = {2};  // without padding
    } else {
        values["input_mask"] = {1, 1, 1, 0};
        values["masked_lm_positions"] = {2, 0};
    }
    return record;
}

}  // namespace cnntrain::data
