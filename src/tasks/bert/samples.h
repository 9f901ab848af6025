// Sequences of tokens as the samples of a task with a BERT model.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

/// Adds the positions of tokens if the data set has none. The training split is shuffled and endless; the validation
/// split is read in order, once per stream. `seed`: of the order.
std::unique_ptr<train::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                             std::uint64_t seed);

}  // namespace cnntrain::tasks
