// Splits of a network's functions into pipeline stages that minimise the longest stage. Pure numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::plan {

/// Time and memory of one function of the network.
struct FunctionCost {
    schedule::StageTimes times;         // of one micro-batch
    std::uint64_t parameter_bytes = 0;  // parameters with everything that persists for them: slots, copies, sums
};

/// Whether a stage that recomputes its results recomputes this one for its own backward pass.
enum class Again : std::uint8_t {
    inside,  // unless another stage reads it, for which it is kept
    always,
    never,
};

/// A result of one function's forward or backward for a micro-batch, and the functions that read it.
struct PassResult {
    std::uint64_t bytes = 0;
    std::size_t maker = 0;     // function
    bool of_backward = false;  // made by its backward pass
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

/// Functions [first, end) as stage of a pipeline. A result belongs to the stage that produces it, with one buffer per
/// micro-batch between its production and its last use.
struct StageCost {
    std::size_t first = 0;
    std::size_t end = 0;
    schedule::StageTimes times;
    std::uint64_t parameter_bytes = 0;
    std::uint64_t stash_bytes = 0;      // per micro-batch, stashed for the stage's own backward pass
    std::int64_t stash_depth = 1;       // micro-batches that the stage keeps at the same time
    std::uint64_t handed_on_bytes = 0;  // all buffers of results whose last reader is another stage

    std::uint64_t memory_bytes() const {
        return parameter_bytes + static_cast<std::uint64_t>(stash_depth) * stash_bytes + handed_on_bytes;
    }
};

/// `splits`: the first functions of stages 1, 2, ..., ascending; one less than the pipeline has stages. A split
/// before the first function leaves stage 0 without any. `lane_of`: the lane of each stage.
std::vector<StageCost> stage_costs(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                   std::span<const std::size_t> splits, std::span<const std::int32_t> lane_of);

/// The splits with the shortest longest stage; among these, the least sum of squares, so that the other stages are
/// balanced, too. A function that takes no time (it is fused into the function before it) stays with the function
/// before it. With a limit, every stage must fit; results that skip a whole stage count as if the next stage read them.
/// `workers`: 1 for a single lane. Error(usage): fewer functions than stages, or a limit that is too small, with the
/// least sufficient one.
std::vector<std::size_t> best_splits(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                     schedule::Workers workers, std::optional<std::uint64_t> memory_limit_bytes = {});

/// Time of the longest stage over the mean: 1 when all stages are equal.
double imbalance(std::span<const StageCost> stages);

}  // namespace cnntrain::plan
