// Reads along the labels of an evaluation's batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cnntrain/data/batch.h"

namespace cnntrain::train {

/// Forwards batches and keeps the labels and the place of the last one.
class LabelTap final : public data::BatchSource {
public:
    LabelTap(data::BatchSource& source, std::string_view field)
        : source_(source), field_(data::field_number(source.fields(), field)) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override {
        data::Batch batch = source_.next();
        const auto labels = batch.as<std::int32_t>(field_);
        labels_.assign(labels.begin(), labels.end());
        first_sample_ = batch.first_sample;
        return batch;
    }

    const std::vector<std::int32_t>& labels() const { return labels_; }
    std::int64_t first_sample() const { return first_sample_; }

private:
    data::BatchSource& source_;
    std::size_t field_;
    std::vector<std::int32_t> labels_;
    std::int64_t first_sample_ = 0;
};

}  // namespace cnntrain::train
