// The way in for training and validation: opened and checked data of one split, as batches.
//
//     InputSettings settings{{.dataset = DatasetId::cifar10}, find_data_folder(DatasetId::cifar10, dir)};
//     InputData train(settings, Split::train);           // opens and checks files, counts images
//     auto stream = train.stream({.micro_batch = 32, .first_sample = resumed_position, .threads = 2});
//     executable.train_step(*stream, scalars);
#pragma once

#include <memory>
#include <vector>

#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

class InputData {
public:
    /// Error(data) when files are missing or damaged, Error(usage) for settings that cannot be.
    InputData(const InputSettings& settings, Split split);

    /// Counted in the files; the published count for generated and synthetic data.
    std::int64_t samples() const { return samples_; }
    /// Of the micro-batches that the stream delivers.
    std::vector<Field> fields(std::int64_t micro_batch) const;

    /// The split's stream: training batches for Split::train, passes for Split::validation. `settings.feed` and
    /// `settings.seed` are set here.
    std::unique_ptr<Stream> stream(LoaderSettings settings) const;

private:
    InputSettings settings_;
    Split split_;
    std::shared_ptr<const Dataset> dataset_;  // null unless real
    std::int64_t samples_ = 0;
};

struct SampleCount {
    std::int64_t samples = 0;
    bool exact = true;  // false: estimated from the sizes of the files
};

/// The samples that a run uses of the files in `settings.folder`, by their index, sizes and headers; nothing is
/// written. It takes about a second at most. Error(data) when files are missing or damaged.
SampleCount count_samples(const InputSettings& settings, Split split);

/// The ring of the split's stream, when the data are real. No file is looked for.
RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader);

}  // namespace cnntrain::data
