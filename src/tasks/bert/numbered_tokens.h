// Adds the positions of tokens to sequences without them.
#pragma once

#include <memory>

#include "cnntrain/data/dataset.h"

namespace cnntrain::tasks {

/// The data set itself if it has the field nn::kInputPosition. Otherwise the same data set with that field behind the
/// others: 0, 1, 2, ... in every sequence.
std::shared_ptr<const data::Dataset> with_numbered_tokens(std::shared_ptr<const data::Dataset> dataset);

}  // namespace cnntrain::tasks
