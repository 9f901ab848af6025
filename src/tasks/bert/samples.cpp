#include "tasks/bert/samples.h"

#include <utility>

#include "cnntrain/data/loader.h"
#include "tasks/bert/numbered_tokens.h"

namespace cnntrain::tasks {

namespace {

class BertSamples final : public train::Samples {
public:
    BertSamples(std::shared_ptr<const data::Dataset> dataset, data::Split split, std::uint64_t seed)
        : dataset_(with_numbered_tokens(std::move(dataset))), split_(split), seed_(seed) {}

    std::int64_t count() const override { return dataset_->size(); }
    data::Origin origin() const override { return dataset_->origin(); }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override {
        return data::batch_fields(dataset_->fields(), completed({.micro_batch = micro_batch}));
    }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        return std::make_unique<data::Loader>(dataset_, completed(settings));
    }

private:
    data::LoaderSettings completed(data::LoaderSettings settings) const {
        settings.feed = split_ == data::Split::train ? data::Feed::training : data::Feed::sweeps;
        settings.seed = seed_;
        return settings;
    }

    std::shared_ptr<const data::Dataset> dataset_;
    data::Split split_;
    std::uint64_t seed_;
};

}  // namespace

std::unique_ptr<train::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                             std::uint64_t seed) {
    return std::make_unique<BertSamples>(std::move(dataset), split, seed);
}

}  // namespace cnntrain::tasks
