// The interface for training and validation: the opened and checked data of one split, delivered as batches.
//
//     InputSettings settings{{.dataset = DatasetId::cifar10}, find_data_folder(DatasetId::cifar10, dir)};
//     InputData train(settings, Split::train);           // opens and checks files, counts images
//     auto stream = train.stream({.micro_batch = 32, .first_sample = resumed_position, .threads = 2});
//     executable.train_step(*stream, scalars);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

class InputData : public Samples {
public:
    /// Throws Error(data) if files are missing or damaged, Error(usage) for impossible settings.
    InputData(const InputSettings& settings, Split split);

    /// Number of samples counted in the files; for generated and synthetic data, the published count.
    std::int64_t count() const override { return samples_; }
    Origin origin() const override;
    std::string unused_files() const override { return dataset_ ? dataset_->unused_files() : ""; }
    /// The number of images of each class 0..classes-1, for real data. Of TFRecords, it reads all.
    std::vector<std::int64_t> class_sizes(std::int64_t classes) const;
    std::string describe(std::int64_t index) const override;  // Dataset::describe()
    /// Dataset::name() of all samples; empty if they have none.
    std::vector<std::string> names() const override;
    std::vector<Field> fields(std::int64_t micro_batch) const override;

    std::unique_ptr<Stream> stream(const LoaderSettings& settings) const override;

private:
    InputSettings settings_;
    Split split_;
    std::shared_ptr<const Dataset> dataset_;  // null unless the data are real
    std::int64_t samples_ = 0;
};

struct SampleCount {
    std::int64_t samples = 0;
    bool exact = true;  // false: estimated from file sizes
};

/// Number of samples that a run uses from the files in `settings.folder`, found from their index, sizes and headers.
/// Writes nothing and takes about a second at most. Throws Error(data) if files are missing or damaged.
SampleCount count_samples(const InputSettings& settings, Split split);

/// InputData::fields() of a split that need not be there. Reads no file.
std::vector<Field> batch_fields(const InputSettings& settings, Split split, std::int64_t micro_batch);

/// Size of the ring of the split's stream, for real data. Reads no file.
RingSize ring_size(const InputSettings& settings, Split split, LoaderSettings loader);

}  // namespace cnntrain::data
