// Sequences of tokens as the samples of a task with a BERT model.
#pragma once

#include <cstdint>
#include <memory>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/run/task.h"

namespace cnntrain::tasks {

/// run::dataset_samples() with the positions of tokens, which are added if the data set has none.
std::unique_ptr<run::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                           std::uint64_t seed);

}  // namespace cnntrain::tasks
