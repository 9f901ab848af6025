// What one weight update consists of: pure numbers.
#pragma once

#include <cstdint>

namespace cnntrain::schedule {

/// Of one process.
struct UpdatePlan {
    std::int64_t micro_batches = 1;  // whose gradients are accumulated
    std::int32_t stages = 1;         // of the pipeline: 1 + the highest stage of the graph's nodes
};

}  // namespace cnntrain::schedule
