// Predicts the time of a weight update from the time of each stage for one micro-batch. Pure numbers.
//
// `times`: one entry per stage of the pipeline. After some hundreds of micro-batches, the pipeline is in its steady
// state; the rest is extrapolated instead of simulated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::plan {

/// The time with one device per stage and a barrier after every tick.
double barrier_time_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                       std::span<const schedule::StageTimes> times);

/// One piece of work with its start and end.
struct TimedWork {
    schedule::StageWork work;
    std::int32_t lane = 0;
    double begin_ms = 0;
    double end_ms = 0;
};

/// Simulates a weight update in one pipeline. A lane works on its stages in the order of the table, and starts each
/// piece of work as soon as the lane is free, its inputs are ready and a buffer for its result is free.
/// Activations have in_flight() buffers from a stage's forward to its backward pass; gradients have in_flight() buffers
/// from one backward pass to the next, plus one with several lanes.
/// `lane_of`: the lane of each stage. The result has the order of the table. Throws Error(usage) like in_order().
std::vector<TimedWork> timeline(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                                std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of);

struct UpdateTime {
    double total_ms = 0;
    std::vector<double> busy;  // fraction of the time in which each lane works; lanes of the first pipeline first
};

/// Each pipeline has plan.lanes / plan.pipelines lanes of its own; `lane_of` is the lane of each stage among them. With
/// one lane, the time is the sum of all work.
UpdateTime update_time(const schedule::Placement& plan, std::span<const schedule::StageTimes> times,
                       std::span<const std::int32_t> lane_of);

// Splits a network's functions into pipeline stages so that the longest stage is as short as possible. Pure numbers.

/// Time and memory of one function of the network.
struct FunctionCost {
    schedule::StageTimes times;         // of one micro-batch
    std::uint64_t parameter_bytes = 0;  // parameters and all persistent data for them: slots, copies, gradient sums
};

/// Condition under which a stage that recomputes its results also recomputes this one for its own backward pass.
enum class Again : std::uint8_t {
    inside,  // yes, unless another stage reads it; then it is kept
    always,
    never,
};

/// A result of one function's forward or backward pass for a micro-batch, and the functions that read it.
struct PassResult {
    std::uint64_t bytes = 0;
    std::size_t maker = 0;     // number of the function that produces it
    bool of_backward = false;  // produced by the backward pass
    std::vector<std::size_t> forward_readers{};
    std::vector<std::size_t> backward_readers{};
    Again again = Again::inside;
};

/// The values of a micro-batch that a stage stashes for its backward pass.
enum class Kept : std::uint8_t {
    results,  // results of its forward pass that the backward pass reads
    inputs,   // inputs of the stage, from which results are recomputed; the last stage keeps its results
};

struct NetworkCost {
    std::vector<FunctionCost> functions;
    std::vector<PassResult> results{};
    Kept kept = Kept::results;
};

/// Functions [first, end) as a stage of a pipeline. A result belongs to the stage that produces it, and has one buffer
/// per micro-batch between its production and its last use.
struct StageCost {
    std::size_t first = 0;
    std::size_t end = 0;
    schedule::StageTimes times;
    std::uint64_t parameter_bytes = 0;
    std::uint64_t stash_bytes = 0;      // per micro-batch, stashed for the stage's own backward pass
    std::int64_t stash_depth = 1;       // micro-batches that the stage keeps at once
    std::uint64_t handed_on_bytes = 0;  // all buffers of results whose last reader is another stage

    std::uint64_t memory_bytes() const {
        return parameter_bytes + static_cast<std::uint64_t>(stash_depth) * stash_bytes + handed_on_bytes;
    }
};

/// `splits`: the first functions of stages 1, 2, ..., ascending; one fewer than the pipeline has stages. If the first
/// split is 0, stage 0 is empty. `lane_of`: the lane of each stage.
std::vector<StageCost> stage_costs(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                   std::span<const std::size_t> splits, std::span<const std::int32_t> lane_of);

/// The splits whose longest stage is shortest; among these, the splits with the least sum of squares, which balance the
/// other stages too. A function that takes no time (because it is fused into its predecessor) stays with its
/// predecessor. With a memory limit, every stage must fit; a result that skips a whole stage is counted as if the next
/// stage read it. `workers`: 1 for a single lane. Throws Error(usage) if there are fewer functions than stages, or if
/// the limit is too small, giving the least sufficient one.
std::vector<std::size_t> best_splits(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                     schedule::Workers workers, std::optional<std::uint64_t> memory_limit_bytes = {});

/// Time of the longest stage divided by the mean: 1 if all stages are equal.
double imbalance(std::span<const StageCost> stages);

}  // namespace cnntrain::plan
