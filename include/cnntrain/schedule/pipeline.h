// Pipeline tables: which stage works on which micro-batch at which tick; stash depths, bubble, lanes. Pure numbers.
//
// K stages, N micro-batches m = 0, 1, ... of one weight update. A micro-batch passes through 2K slots, forward through
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

#include "cnntrain/schedule/settings.h"

namespace cnntrain::schedule {

/// As users write it: "Grouped".
std::string_view name(PipelineSchedule schedule);

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

/// Tick at which it is done, from 0.
std::int64_t tick_of(const Pipeline& pipeline, const StageWork& work);

/// Ticks of a weight update, from the first to the last that is not empty. Error(usage) if the count overflows.
std::int64_t tick_count(const Pipeline& pipeline, std::int64_t micro_batches);

/// The work of one tick: higher slots first, which is the order on one device. Empty for ticks in which nothing runs.
std::vector<StageWork> work_at(const Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick);

/// All work of a weight update in an order that one worker can follow: tick by tick, within a tick as work_at() orders
/// it. Every piece comes after those that it depends on.
class WorkOrder {
public:
    WorkOrder(const Pipeline& pipeline, std::int64_t micro_batches)
        : pipeline_(pipeline), micro_batches_(micro_batches), slot_(pipeline.slots()) {}

    /// The next piece; empty at the end.
    std::optional<StageWork> operator()();

private:
    Pipeline pipeline_;
    std::int64_t micro_batches_;
    std::int64_t tick_ = 0;
    std::int32_t slot_;  // lower slots of this tick are still to come
};
/// The same as a list. Error(usage) if its length overflows.
std::vector<StageWork> in_order(const Pipeline& pipeline, std::int64_t micro_batches);

/// How the work of one tick is done.
enum class Workers : std::uint8_t { one, several };

/// Most micro-batches between the beginning of slot `first` and the end of slot `last` (first <= last): the number of
/// buffers for a value that the first slot writes and the last one reads. One worker does higher slots first, which
/// frees their buffers.
std::int64_t in_flight(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Buffers, one per micro-batch in flight, of a value that slot `first` writes and slot `last` is the last to read. A
/// gradient that goes to another worker has one more; otherwise its sender would wait at the end of each tick for the
/// receiver. One buffer in a Sequential pipeline, where micro-batches follow each other.
std::int64_t ring_places(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Micro-batches whose activations a stage keeps for its backward pass at the same time: 2(K-1-k)+1 Grouped, K-k
/// Interleaved, 1 Sequential.
std::int64_t stash_depth(const Pipeline& pipeline, std::int32_t stage);

/// The number of micro-batches per weight update must be a multiple of this: 2K, K or 1.
std::int64_t micro_batch_unit(const Pipeline& pipeline);
/// Error(usage) names the nearest numbers that are legal.
void check_micro_batches(const Pipeline& pipeline, std::int64_t micro_batches);

/// Times of one stage for one micro-batch.
struct StageTimes {
    double forward_ms = 0;
    double backward_ms = 0;  // with the recomputation of forward values

    double total() const { return forward_ms + backward_ms; }
};

/// Share of the time in which a stage waits, for K equal stages of the given times with a barrier after every tick.
/// Grouped: (K-1)/(N+K-1).
double bubble(const Pipeline& pipeline, std::int64_t micro_batches, const StageTimes& each);

/// The lane of each stage, balanced greedily: stages in order of decreasing time, each on the least busy lane.
/// 1 <= lanes; lanes beyond the number of stages stay empty.
std::vector<std::int32_t> place_stages(std::span<const double> costs, std::int32_t lanes);

}  // namespace cnntrain::schedule
