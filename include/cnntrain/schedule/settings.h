// What the user says about batches, stages and the length of a run, and the one place that multiplies batches.
//
// An "epoch" is one pass over the training images, an "iteration" one weight update.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/checked.h"

namespace cnntrain::schedule {

/// How the samples of one weight update are divided.
struct BatchPlan {
    std::int64_t micro_batch = 1;   // samples per forward and backward pass of one replica
    std::int64_t accumulation = 1;  // passes of a replica per weight update
    std::int64_t replicas = 1;      // of a process
    std::int64_t processes = 1;
    std::int64_t stages = 1;  // of a replica's pipeline; the samples pass through all of them

    /// Forward and backward passes behind one weight update, of all replicas and processes. Error(usage) when there are
    /// too many to be counted; so below.
    std::int64_t micro_batches() const {
        const std::int64_t parallel = checked_product(replicas, processes, "the number of replicas");
        return checked_product(accumulation, parallel, "the number of micro-batches of a weight update");
    }
    /// Samples behind one weight update.
    std::int64_t global_batch() const { return checked_product(micro_batch, micro_batches(), "the global batch"); }
};

struct ScheduleSettings {
    std::int64_t micro_batch_size = 1;             // samples per forward and backward pass of one replica
    std::int64_t gradient_accumulation_count = 1;  // micro-batches of a replica per weight update
    std::int64_t replicas = 1;                     // of a process
    std::int64_t shards = 1;                       // devices of a replica; above 1: one pipeline stage each
    bool pipeline = false;                         // the numbers are those of the same accumulation without it
    std::vector<std::string> pipeline_splits;      // functions of the network that begin stages 2, 3, ...
    std::optional<std::int64_t> iterations;        // when set, the length of the run
    double epochs = 0.0;                           // the length of the run when `iterations` is not set
    std::int64_t device_iterations = 1000;         // most iterations of one host step, roughly
    std::int64_t logs_per_epoch = 16;              // when the length is in epochs
    std::int64_t log_freq = 500;                   // iterations between log lines, when it is in iterations
};

inline BatchPlan batch_plan(const ScheduleSettings& settings, std::int64_t processes) {
    const std::int64_t stages = settings.pipeline ? static_cast<std::int64_t>(settings.pipeline_splits.size()) + 1 : 1;
    return {settings.micro_batch_size, settings.gradient_accumulation_count, settings.replicas, processes, stages};
}

struct CheckpointTimes {
    std::int64_t ckpts_per_epoch = 1;     // 0: no checkpoints
    std::int64_t epochs_per_ckpt = 0;     // > 0: used instead of ckpts_per_epoch
    std::int64_t ckpt_epochs_offset = 0;  // first epoch at which checkpoints count
};

}  // namespace cnntrain::schedule
