// Sequences of tokens as the samples of a task with a BERT model.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/train/task.h"

namespace cnntrain::tasks {

/// Every sequence gets the positions of its tokens if it has none. The training split comes shuffled and without an
/// end, the validation split in order and once per stream. `seed`: of the order.
std::unique_ptr<train::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                             std::uint64_t seed);

}  // namespace cnntrain::tasks
