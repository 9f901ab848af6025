// What one weight update consists of: pure numbers.
#pragma once

#include <cstdint>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::schedule {

/// Of one process. Stages exist `copies` times, each copy with memory of its own; micro-batch b goes through copy b %
/// copies.
/// A lane is a group of cores with a thread team of its own; with one lane, all cores do all work in the order of the
/// table.
struct UpdatePlan {
    std::int64_t micro_batches = 1;  // whose gradients are accumulated, of all replicas
    std::int32_t stages = 1;         // of the pipeline: 1 + the highest stage of the graph's nodes
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int32_t copies = 1;  // at most `lanes`
    std::int32_t lanes = 1;   // a multiple of `copies`

    /// Of one copy.
    Pipeline pipeline() const { return {stages, schedule}; }
};

/// Most batches whose memory an executable keeps at the same time.
std::int64_t batches_in_flight(const UpdatePlan& plan);

}  // namespace cnntrain::schedule
