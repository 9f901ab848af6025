// The pipeline of a training line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/config/parse.h"
#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::plan {

struct PlannedLine {
    bool pipelined = false;
    std::vector<std::string> splits{};
    std::int64_t shards = 1;
    schedule::PipelineSchedule schedule = schedule::PipelineSchedule::grouped;
    std::int64_t micro_batch = 1;   // samples
    std::int64_t accumulation = 1;  // micro-batches of a replica per weight update
    std::int64_t replicas = 1;      // of the process; their micro-batches all pass through the stages here

    std::int32_t stages() const { return static_cast<std::int32_t>(splits.size()) + 1; }
    std::int64_t micro_batches() const { return accumulation * replicas; }
    /// The least accumulation from the line's on that the schedule can take.
    std::int64_t legal_accumulation(const schedule::Pipeline& pipeline) const;
    std::int64_t legal_micro_batches(const schedule::Pipeline& pipeline) const {
        return legal_accumulation(pipeline) * replicas;
    }
};

/// Error(usage) when micro-batches cannot be counted.
PlannedLine line_of(const config::ParseResult& arguments);

}  // namespace cnntrain::plan
