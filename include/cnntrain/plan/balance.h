// Which functions of a network make a pipeline's stages, so that the longest stage is as short as can be. Pure numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::plan {

/// What one function of the network takes and keeps.
struct FunctionCost {
    schedule::StageTimes times;         // of one micro-batch
    std::uint64_t parameter_bytes = 0;  // of its parameters and of what is kept for them as long as the program runs
};

/// Does a stage that computes its results again make this one anew for its own backward pass?
enum class Again : std::uint8_t {
    inside,  // unless another stage reads it, for which it is kept
    always,
    never,
};

/// A result of one function's forward or backward pass of a micro-batch, and the functions whose passes read it.
struct PassResult {
    std::uint64_t bytes = 0;
    std::size_t maker = 0;     // function
    bool of_backward = false;  // made by its backward pass
    std::vector<std::size_t> forward_readers{};
    std::vector<std::size_t> backward_readers{};
    Again again = Again::inside;
};

/// What a stage keeps of a micro-batch for its backward pass.
enum class Kept : std::uint8_t {
    results,  // of its forward pass, as far as the backward pass reads them
    inputs,   // of the stage, from which the results are computed again; the last stage keeps its results
};

struct NetworkCost {
    std::vector<FunctionCost> functions;
    std::vector<PassResult> results{};
    Kept kept = Kept::results;
};

/// Functions [first, end) as stage of a pipeline. A result belongs to the stage that makes it, with as many places as
/// there are micro-batches between its pass and the last one that reads it.
struct StageCost {
    std::size_t first = 0;
    std::size_t end = 0;
    schedule::StageTimes times;
    std::uint64_t parameter_bytes = 0;
    std::uint64_t stash_bytes = 0;      // of one micro-batch, that wait for the stage's own backward pass
    std::int64_t stash_depth = 1;       // micro-batches that the stage keeps at the same time
    std::uint64_t handed_on_bytes = 0;  // all places of results whose last reader is another stage

    std::uint64_t memory_bytes() const {
        return parameter_bytes + static_cast<std::uint64_t>(stash_depth) * stash_bytes + handed_on_bytes;
    }
};

/// `splits`: the first functions of stages 1, 2, ..., ascending; one less than the pipeline has stages. A split
/// before the first function leaves stage 0 without any. `lane_of`: the lane of each stage.
std::vector<StageCost> stage_costs(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                   std::span<const std::size_t> splits, std::span<const std::int32_t> lane_of);

/// The splits whose longest stage is shortest; of these, the ones with the least sum of squares, so that the other
/// stages are even, too. A function that takes no time (one that is computed together with the function before it)
/// stays with the function before it. With a limit, only splits count of which every stage fits; results that pass a
/// whole stage by count as if the next stage read them. `workers`: one for a single lane. Error(usage): fewer functions
/// than stages, or a limit that is too small, with the least one that would do.
std::vector<std::size_t> best_splits(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                     schedule::Workers workers, std::optional<std::uint64_t> memory_limit_bytes = {});

/// How often the mean stage's time goes into that of the longest: 1 when all stages take the same.
double imbalance(std::span<const StageCost> stages);

}  // namespace cnntrain::plan
