#include "tasks/bert/samples.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/data/dataset.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/run/weights.h"

namespace cnntrain::tasks {
namespace {

// Adds the positions of tokens to sequences without them.

class NumberedTokens final : public data::Dataset {
public:
    explicit NumberedTokens(std::shared_ptr<const data::Dataset> dataset) : dataset_(std::move(dataset)) {
        const std::int64_t length = data::field_desc(dataset_->fields(), nn::kInputIds).elements();
        for (std::int64_t i = 0; i < length; ++i)
            numbers_.push_back(static_cast<std::int32_t>(i));
    }

    std::int64_t size() const override { return dataset_->size(); }
    data::Origin origin() const override { return dataset_->origin(); }
    std::string describe(std::int64_t index) const override { return dataset_->describe(index); }
    std::vector<data::Field> fields() const override {
        std::vector<data::Field> fields = dataset_->fields();
        fields.push_back({std::string(nn::kInputPosition), {DType::i32, {static_cast<std::int64_t>(numbers_.size())}}});
        return fields;
    }
    data::SampleState read(std::int64_t index, data::SamplePosition position, data::SampleView out,
                           data::Workspace& workspace) const override {
        number(out);
        return dataset_->read(index, position, out.first(out.size() - 1), workspace);
    }
    void pad(data::SampleView out) const override {
        number(out);
        dataset_->pad(out.first(out.size() - 1));
    }
    void will_need(std::int64_t index) const noexcept override { dataset_->will_need(index); }
    std::uint64_t memory_bytes() const override { return dataset_->memory_bytes(); }
    std::int64_t damaged() const override { return dataset_->damaged(); }

private:
    void number(data::SampleView out) const {
        std::memcpy(out.back().data(), numbers_.data(), numbers_.size() * sizeof(std::int32_t));
    }

    std::shared_ptr<const data::Dataset> dataset_;
    std::vector<std::int32_t> numbers_;
};

/// The data set itself if it has the field nn::kInputPosition. Otherwise the same data set with that field after the
/// others: 0, 1, 2, ... in every sequence.
std::shared_ptr<const data::Dataset> with_numbered_tokens(std::shared_ptr<const data::Dataset> dataset) {
    const std::vector<data::Field> fields = dataset->fields();
    if (std::ranges::find(fields, nn::kInputPosition, &data::Field::name) != fields.end()) return dataset;
    return std::make_shared<NumberedTokens>(std::move(dataset));
}

}  // namespace

std::unique_ptr<run::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                           std::uint64_t seed) {
    return run::dataset_samples(with_numbered_tokens(std::move(dataset)), split, seed);
}

}  // namespace cnntrain::tasks
