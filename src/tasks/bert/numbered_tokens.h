// Positions of tokens for sequences that come without them.
#pragma once

#include <memory>

#include "cnntrain/data/dataset.h"

namespace cnntrain::tasks {

/// The data set itself where it has the field nn::kInputPosition. Else the same with that field behind the others: 0,
/// 1, 2, ...
/// for the tokens of every sequence.
std::shared_ptr<const data::Dataset> with_numbered_tokens(std::shared_ptr<const data::Dataset> dataset);

}  // namespace cnntrain::tasks
