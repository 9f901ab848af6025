// The samples of a task whose data are a data::Dataset.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// The training split is shuffled and endless; the validation split is read in order, once per pass. `seed`: of the
/// order.
std::unique_ptr<Samples> dataset_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                         std::uint64_t seed);

}  // namespace cnntrain::train
