// Pipeline tables: which stage works on which micro-batch at which tick, and what follows from that. Pure numbers.
//
// K stages, N micro-batches m = 0, 1, ... of one weight update. A micro-batch passes through 2K slots, forward through
// stages 0 .. K-1 (slots 0 .. K-1), then backward through K-1 .. 0 (slots K .. 2K-1). Slot s works on micro-batch m at
//   tick Grouped     m + s        every stage works forward and backward in each full tick
//   Interleaved 2m + s       every stage works either forward or backward in each full tick
//   Sequential  2Km + s      one stage works at a time
// All weights stay as they are until the pipeline has drained, so that every schedule computes the same gradients.
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

/// Ticks of a weight update: of the first that is not empty to the last one, both included. Error(usage) when there are
/// too many to be counted.
std::int64_t tick_count(const Pipeline& pipeline, std::int64_t micro_batches);

/// The work of one tick: higher slots first, which is the order on one device. Empty for ticks in which nothing runs.
std::vector<StageWork> work_at(const Pipeline& pipeline, std::int64_t micro_batches, std::int64_t tick);

/// All work of a weight update, piece by piece, in an order in which one worker may do it: tick by tick, in a tick as
/// work_at() says. What a piece of work needs comes before it.
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
    std::int32_t slot_;  // those below it are still to come in this tick
};
/// The same as a list. Error(usage) when there is too much to be counted.
std::vector<StageWork> in_order(const Pipeline& pipeline, std::int64_t micro_batches);

/// How the work of one tick is done.
enum class Workers : std::uint8_t { one, several };

/// Most micro-batches between the beginning of slot `first` and the end of slot `last` (first <= last): as many places
/// does what is written in the first and read in the last one need. One worker does higher slots first, which frees
/// their places.
std::int64_t in_flight(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Places, one for each micro-batch, of what slot `first` writes and slot `last` reads last: those in flight. A
/// gradient that goes to another worker has one more, without which its sender would wait at the end of each tick until
/// the last one has been taken. One place where a micro-batch begins when the one before it is done (Sequential).
std::int64_t ring_places(const Pipeline& pipeline, std::int32_t first, std::int32_t last, Workers workers);

/// Micro-batches whose activations a stage keeps for its backward pass at the same time: 2(K-1-k)+1 Grouped, K-k
/// Interleaved, 1 Sequential.
std::int64_t stash_depth(const Pipeline& pipeline, std::int32_t stage);

/// The number of micro-batches per weight update must be a multiple of this: 2K, K or 1.
std::int64_t micro_batch_unit(const Pipeline& pipeline);
/// Error(usage) names the nearest numbers that are legal.
void check_micro_batches(const Pipeline& pipeline, std::int64_t micro_batches);

/// What one stage's passes of one micro-batch take.
struct StageTimes {
    double forward_ms = 0;
    double backward_ms = 0;  // forward values that are computed again included

    double total() const { return forward_ms + backward_ms; }
};

/// Share of the time in which a stage waits, K equal stages, a barrier after every tick, forward and backward passes as
/// long as given. Grouped: (K-1)/(N+K-1).
double bubble(const Pipeline& pipeline, std::int64_t micro_batches, const StageTimes& each);

/// The lane of each stage, so that the busiest lane has as little as possible to do: the longest stage goes first, each
/// to the lane that has least. 1 <= lanes; more lanes than stages stay empty.
std::vector<std::int32_t> place_stages(std::span<const double> costs, std::int32_t lanes);

}  // namespace cnntrain::schedule
