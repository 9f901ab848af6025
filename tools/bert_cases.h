// The ops of one micro-batch of BERT-Base, at full size: for timing. Formats: support/op_cases.h.
#pragma once

#include <cstdint>
#include <vector>

#include "support/op_cases.h"

namespace cnntrain {

/// Every op that an encoder layer, the embeddings and the masked-token head run, in `type`; and the two plain matrix products
/// of attention with all scores in memory.
std::vector<test::OpCase> bert_cases(std::int64_t batch, std::int64_t sequence, DType type);

}  // namespace cnntrain
