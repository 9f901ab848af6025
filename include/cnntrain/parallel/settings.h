// Settings of batches, stages and run length, the only place that multiplies batch sizes, and settings of the
// communication between the processes of a run.
//
// An "epoch" is one sweep over the training images, an "iteration" one weight update.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/checked.h"
#include "cnntrain/base/text.h"

namespace cnntrain::schedule {

/// Order of the stages' work in a pipeline (pipeline.h).
enum class PipelineSchedule : std::uint8_t { grouped, interleaved, sequential };
constexpr auto spellings(PipelineSchedule) {
    return std::to_array<std::string_view>({"Grouped", "Interleaved", "Sequential"});
}

/// True if `span` replicas can share batch-norm statistics: equal groups within a process, or all replicas of equally
/// many processes.
inline bool norm_span_fits(std::int64_t span, std::int64_t replicas, std::int64_t processes) {
    return replicas % span == 0 || (span % replicas == 0 && processes % (span / replicas) == 0);
}

/// Division of the samples of one weight update.
struct BatchPlan {
    std::int64_t micro_batch = 1;   // samples per forward and backward pass of one replica
    std::int64_t accumulation = 1;  // micro-batches per replica and weight update
    std::int64_t replicas = 1;      // per process
    std::int64_t norm_span = 1;     // replicas that share batch-norm statistics; see norm_span_fits()
    std::int64_t processes = 1;
    std::int64_t stages = 1;  // of a replica's pipeline; all samples go through each

    /// Micro-batches of all replicas and processes per weight update. All three functions throw Error(usage) on
    /// overflow.
    std::int64_t micro_batches() const {
        return checked_product(checked_product(accumulation, replicas, kMicroBatches), processes, kMicroBatches);
    }
    /// Samples that share batch-norm statistics.
    std::int64_t norm_samples() const {
        return checked_product(micro_batch, norm_span, "samples that share statistics");
    }
    /// Samples per weight update.
    std::int64_t global_batch() const { return checked_product(micro_batch, micro_batches(), "the global batch"); }

private:
    static constexpr const char* kMicroBatches = "the number of micro-batches of a weight update";
};

struct ScheduleSettings {
    std::int64_t micro_batch_size = 1;             // samples per forward and backward pass of one replica
    std::int64_t gradient_accumulation_count = 1;  // micro-batches per replica and weight update
    std::int64_t replicas = 1;                     // per process
    std::int64_t processes = 1;                    // processes that share each weight update, set by the launcher
    std::int64_t norm_span = 1;                    // replicas that share batch-norm statistics; 1 without batch norm
    std::int64_t shards = 1;                       // devices per replica; if above 1, one pipeline stage each
    bool pipeline = false;                         // results are the same as with accumulation alone
    std::vector<std::string> pipeline_splits;      // functions of the network that begin stages 2, 3, ...
    PipelineSchedule pipeline_schedule = PipelineSchedule::grouped;
    std::int64_t lanes = 0;                  // groups of cores that work in parallel; 0: chosen
    std::optional<std::int64_t> iterations;  // length of the run, if set
    double epochs = 0.0;                     // length of the run, if `iterations` is not set
    std::int64_t device_iterations = 1000;   // approximate maximum of iterations per host step
    std::int64_t logs_per_epoch = 16;        // if the length is in epochs
    std::int64_t log_freq = 500;             // iterations between log lines, if the length is in iterations
};

inline BatchPlan batch_plan(const ScheduleSettings& settings) {
    const std::int64_t stages = settings.pipeline ? static_cast<std::int64_t>(settings.pipeline_splits.size()) + 1 : 1;
    return {settings.micro_batch_size, settings.gradient_accumulation_count,
            settings.replicas,         settings.norm_span,
            settings.processes,        stages};
}

struct CheckpointTimes {
    std::int64_t ckpts_per_epoch = 1;     // 0: no checkpoints
    std::int64_t epochs_per_ckpt = 0;     // > 0: overrides ckpts_per_epoch
    std::int64_t ckpt_epochs_offset = 0;  // first epoch for which checkpoints are counted
};

/// Validations during training. Neither is set: none.
struct ValidationTimes {
    double epochs_per_validation = 0;
    std::int64_t updates_per_validation = 0;  // > 0: overrides epochs_per_validation

    bool any() const { return epochs_per_validation > 0 || updates_per_validation > 0; }
};

}  // namespace cnntrain::schedule

namespace cnntrain::comm {

/// Element type of gradients in messages between ranks.
enum class Wire : std::uint8_t { f32, bf16 };
constexpr auto spellings(Wire) {
    return std::to_array<std::string_view>({"f32", "bf16"});
}

/// flat: every rank exchanges with every other. hierarchical: the ranks of a node add in shared memory, and one rank
/// per node exchanges with those of other nodes. With one rank per node both are the same.
enum class Route : std::uint8_t { flat, hierarchical };
constexpr auto spellings(Route) {
    return std::to_array<std::string_view>({"flat", "hierarchical"});
}

/// Default of --max-cross-replica-buffer-size.
inline constexpr std::int64_t kDefaultBucketBytes = 10'485'760;

struct CommSettings {
    double timeout_seconds = 300;  // longest wait for another process
    Wire wire = Wire::f32;
    Route route = Route::hierarchical;
    std::int64_t bucket_bytes = kDefaultBucketBytes;  // size of gradient buckets summed in one operation
    bool overlap = true;                              // send gradients during the backward pass
    bool shard_optimiser = false;                     // each process keeps a part of the optimiser's state
};

}  // namespace cnntrain::comm
