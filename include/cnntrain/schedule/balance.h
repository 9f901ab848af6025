// Which functions of a network make a pipeline's stages, so that the longest stage is as short as can be. Pure numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::schedule {

/// What one function of the network takes and keeps.
struct FunctionCost {
    StageTimes times;                   // of one micro-batch
    std::uint64_t parameter_bytes = 0;  // of its parameters and of what the optimiser keeps for them
    std::uint64_t stash_bytes = 0;      // that its forward pass of one micro-batch leaves for backward passes
    std::uint64_t input_bytes = 0;      // that it and the functions behind it get from those before, of one micro-batch
};

/// What a stage keeps of a micro-batch for its backward pass.
enum class Kept : std::uint8_t {
    results,  // of its forward pass, as far as the backward pass reads them
    inputs,   // of the stage, from which the results are computed again; the last stage keeps its results
};

/// Functions [first, end) as stage of a pipeline.
struct StageCost {
    std::size_t first = 0;
    std::size_t end = 0;
    StageTimes times;
    std::uint64_t parameter_bytes = 0;
    std::uint64_t stash_bytes = 0;  // what is kept of one micro-batch
    std::int64_t stash_depth = 1;   // micro-batches that the stage keeps at the same time

    std::uint64_t memory_bytes() const {
        return parameter_bytes + static_cast<std::uint64_t>(stash_depth) * stash_bytes;
    }
};

/// `splits`: the first functions of stages 1, 2, ..., ascending; one less than the pipeline has stages. A split
/// before the first function leaves stage 0 without any.
std::vector<StageCost> stage_costs(const Pipeline& pipeline, std::span<const FunctionCost> functions, Kept kept,
                                   std::span<const std::size_t> splits);

/// The splits whose longest stage is shortest; of these, the ones with the least sum of squares, so that the other stages
/// are even, too. A function that takes no time (one that is computed together with the function before it) stays with
/// the function before it. With a limit, only splits count of which every stage fits. Error(usage): fewer functions than
/// stages, or a limit that is too small, with the least one that would do.
std::vector<std::size_t> best_splits(const Pipeline& pipeline, std::span<const FunctionCost> functions, Kept kept,
                                     std::optional<std::uint64_t> memory_limit_bytes = {});

/// How often the mean stage's time goes into that of the longest: 1 when all stages take the same.
double imbalance(std::span<const StageCost> stages);

}  // namespace cnntrain::schedule
