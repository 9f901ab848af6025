// Pipeline tables: the micro-batch on which each stage works at each tick; stash depths, bubble, lanes. Pure numbers.
//
// K stages, N micro-batches m = 0, 1, ... of one weight update. A micro-batch goes through 2K slots, forward through
// stages 0 .. K-1 (slots 0 .. K-1), then backward through K-1 .. 0 (slots K .. 2K-1). Tick at which slot s works on
// micro-batch m:
//   Grouped     m + s        every stage works forward and backward in each full tick
//   Interleaved 2m + s       every stage works either forward or backward in each full tick
//   Sequential  2Km + s      one stage works at a time
// Weights change only after the pipeline has drained, so every schedule computes the same gradients.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cnntrain/parallel/settings.h"

namespace cnntrain::schedule {

struct Pipeline {
    std::int32_t stages = 1;
    PipelineSchedule schedule = PipelineSchedule::sequential;

    std::int32_t slots() const { return 2 * stages; }
    bool operator==(const Pipeline&) const = default;
};

/// One stage's forward or backward pass of one micro-batch.
struct StageWork {
    std::int32_t stage = 0;
    bool backward = false;
    std::int64_t micro_batch = 0;

    bool operator==(const StageWork&) const = default;
};

/// Slot of a stage's forward or backward pass.
std::int32_t slot_of(const Pipeline& pipeline, std::int32_t stage, bool backward);

/// The tick at which `work` is done, counted from 0.
std::int64_t tick_of(const Pipeline& pipeline, const StageWork& work);

/// Ticks of a weight update, from the first to the last that is not empty. Error(usage) if the count overflows.
std::int64_t tick_count(const Pipeline& pipeline, std::int64_t micro_batches);

/// The work of one tick: higher slots first, which is the order on one device. Empty for ticks in which nothing runs.
std::vector<StageWork> work_at(const Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick);

/// All work of a weight update in an order that one worker can follow: by tick, and within a tick as in work_at().
/// Every piece of work follows those it depends on.
class WorkOrder {
public:
    WorkOrder(const Pipeline& pipeline, std::int64_t micro_batches)
        : pipeline_(pipeline), micro_batches_(micro_batches), slot_(pipeline.slots()) {}

    /// The next piece of work; empty at the end.
    std::optional<StageWork> operator()();

private:
    Pipeline pipeline_;
    std::int64_t micro_batches_;
    std::int64_t tick_ = 0;
    std::int32_t slot_;  // lower slots of this tick still follow
};
/// The same order as a list. Error(usage) if its length overflows.
std::vector<StageWork> in_order(const Pipeline& pipeline, std::int64_t micro_batches);

/// Number of workers that do the work of a tick.
enum class Workers : std::uint8_t { one, several };

/// Maximum number of micro-batches between the start of slot `first` and the end of slot `last` (first <= last): the
/// number of buffers for a value that the first slot writes and the last one reads. One worker processes higher slots
/// first, which frees their buffers.
std::int64_t in_flight(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Number of buffers (one per micro-batch in flight) of a value that slot `first` writes and slot `last` is the last to
/// read. A gradient for another worker has one more; otherwise its sender would wait for the receiver at the end of
/// each tick. A Sequential pipeline needs one buffer, because its micro-batches do not overlap.
std::int64_t ring_places(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Number of micro-batches whose activations a stage keeps for its backward pass at once: 2(K-1-k)+1 Grouped, K-k
/// Interleaved, 1 Sequential.
std::int64_t stash_depth(const Pipeline& pipeline, std::int32_t stage);

/// The number of micro-batches per weight update must be a multiple of this: 2K, K or 1.
std::int64_t micro_batch_unit(const Pipeline& pipeline);
/// Throws Error(usage), with the nearest valid numbers, for any other number.
void check_micro_batches(const Pipeline& pipeline, std::int64_t micro_batches);

/// Times of one stage for one micro-batch.
struct StageTimes {
    double forward_ms = 0;
    double backward_ms = 0;  // including the recomputation of forward values

    double total() const { return forward_ms + backward_ms; }
};

/// Fraction of the time in which a stage waits, for K equal stages with the given times and a barrier after every tick.
/// Grouped: (K-1)/(N+K-1).
double bubble(const Pipeline& pipeline, std::int64_t micro_batches, const StageTimes& each);

/// The lane of each stage, balanced greedily: stages in order of decreasing time, each on the least loaded lane.
/// `lanes` is at least 1; lanes beyond the number of stages stay empty.
std::vector<std::int32_t> place_stages(std::span<const double> costs, std::int32_t lanes);

// One weight update as requested by the user and as executed by a backend: pure numbers.

/// The weight updates of one process in the user's terms. The backend decides what is computed in parallel.
struct UpdatePlan {
    std::int64_t micro_batch = 1;   // samples of one forward and backward pass of one replica
    std::int64_t accumulation = 1;  // micro-batches per replica and weight update
    std::int64_t replicas = 1;
    std::int64_t norm_span = 1;  // replicas that share batch-norm statistics; above `replicas`: across processes
    std::vector<std::int32_t> devices = {0};  // of a replica, by pipeline stage
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int64_t updates_per_call = 1;  // maximum number of weight updates requested in one call

    std::int32_t stages() const { return static_cast<std::int32_t>(devices.size()); }
};

/// A backend's execution of a plan. Each of the `pipelines` has all stages and memory of its own; execution e of the
/// graph uses pipeline e % pipelines. A lane is a group of cores with its own thread team; with one lane, all cores do
/// all work in the order of the table.
struct Placement {
    std::int64_t micro_batches = 1;  // executions of the graph per weight update
    std::int32_t stages = 1;         // of the pipeline: 1 + highest stage of the graph's nodes
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int32_t pipelines = 1;  // at most `lanes`
    std::int32_t lanes = 1;      // a multiple of `pipelines`
    std::int64_t samples = 1;    // per execution: the batch size of the graph

    /// The table of each pipeline.
    Pipeline pipeline() const { return {stages, schedule}; }
    bool operator==(const Placement&) const = default;
};

/// Executes the replicas of a process as additional micro-batches on one lane. Replicas that share batch-norm
/// statistics are computed together, in micro-batches that are larger by that factor. Throws Error(usage) if the number
/// of samples or micro-batches overflows.
Placement in_one_lane(const UpdatePlan& plan);

/// Number of consecutive processes that share batch-norm statistics.
std::int64_t norm_processes(const UpdatePlan& plan);

/// Maximum number of batches whose memory an executable holds at once.
std::int64_t batches_in_flight(const Placement& placement);

}  // namespace cnntrain::schedule
