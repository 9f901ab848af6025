// Loader settings of runs.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/data/field.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// Memory of a data set's index: the place of each sample in its file, and the order of an epoch.
std::uint64_t index_bytes(std::int64_t samples);

/// For loops over samples that take one micro-batch at a time.
data::LoaderSettings loader_settings(const config::Settings& settings, std::int64_t first_sample);
/// For training, which may hold several batches at once. `fields`: of a batch.
data::LoaderSettings training_loader_settings(const config::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample);
/// With --latency, queued batches would add their waiting time to the measurement, so the queue has one batch unless
/// --prefetch-depth is given.
data::LoaderSettings validation_loader_settings(const config::Settings& settings);
/// For request threads, each of which holds one batch. `fields`: of a batch.
data::LoaderSettings request_loader_settings(const config::Settings& settings, const std::vector<data::Field>& fields);

}  // namespace cnntrain::train
