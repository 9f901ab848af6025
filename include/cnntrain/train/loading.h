// How the batches of a run are loaded.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/config/settings.h"
#include "cnntrain/data/field.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::train {

/// For passes over samples one micro-batch at a time.
data::LoaderSettings loader_settings(const config::Settings& settings, std::int64_t first_sample);
/// For a training, which may keep several batches at the same time. `fields`: of a batch.
data::LoaderSettings training_loader_settings(const config::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample);
/// With --latency, a queue of batches that wait would be all that is measured: it is as short as it can be unless its
/// length is given.
data::LoaderSettings validation_loader_settings(const config::Settings& settings);
/// For threads that send requests, each of which keeps a batch. `fields`: of a batch.
data::LoaderSettings request_loader_settings(const config::Settings& settings, const std::vector<data::Field>& fields);

}  // namespace cnntrain::train
