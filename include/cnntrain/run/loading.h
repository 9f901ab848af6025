// Loader settings of runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/run/task.h"

namespace cnntrain::run {

/// Memory of a data set's index: the place of each sample in its file, and the order of an epoch.
std::uint64_t index_bytes(std::int64_t samples);

/// Settings for loops over samples that take one micro-batch at a time.
data::LoaderSettings loader_settings(const options::Settings& settings, std::int64_t first_sample);
/// Settings for training, which may hold several batches at once. `fields`: of a batch.
data::LoaderSettings training_loader_settings(const options::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample);
/// Settings for validation. With --latency, queued batches would add their waiting time to the measurement, so the
/// queue has one batch unless --prefetch-depth is given.
data::LoaderSettings validation_loader_settings(const options::Settings& settings);
/// Settings for request threads, each of which holds one batch. `fields`: of a batch.
data::LoaderSettings request_loader_settings(const options::Settings& settings, const std::vector<data::Field>& fields);

// The samples of a task whose data are a data::Dataset.

/// The training split is shuffled and endless; the validation split is read in order, once per pass. `seed`: of the
/// order.
std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                         std::uint64_t seed);

// Compares a vocabulary with the one that the run of a checkpoint has read.

/// True if the checkpoint's run has read a vocabulary and this file is byte for byte the same; false if the checkpoint
/// records none: it is one of pretraining, of an earlier version or of another program. Error(data) for another file:
/// with it, every text would become other numbers than the network has learned.
bool is_vocabulary_of(const FileSystem& files, const std::string& checkpoint, const std::string& vocabulary);

}  // namespace cnntrain::run
