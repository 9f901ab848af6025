#include "tasks/bert/samples.h"

#include <utility>

#include "cnntrain/train/loading.h"
#include "tasks/bert/numbered_tokens.h"

namespace cnntrain::tasks {

std::unique_ptr<train::Samples> bert_samples(std::shared_ptr<const data::Dataset> dataset, data::Split split,
                                             std::uint64_t seed) {
    return train::dataset_samples(with_numbered_tokens(std::move(dataset)), split, seed);
}

}  // namespace cnntrain::tasks
