#include "cnntrain/schedule/balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cnntrain/base/error.h"
#include "cnntrain/base/size_text.h"

namespace cnntrain::schedule {

namespace {

/// Costs of any run of functions, by sums from the first one on.
class Sums {
public:
    Sums(const Pipeline& pipeline, std::span<const FunctionCost> functions, Kept kept)
        : pipeline_(pipeline), functions_(functions), kept_(kept) {
        sums_.emplace_back();
        for (const FunctionCost& function : functions) {
            const FunctionCost& before = sums_.back();
            sums_.push_back({{before.times.forward_ms + function.times.forward_ms,
                              before.times.backward_ms + function.times.backward_ms},
                             before.parameter_bytes + function.parameter_bytes,
                             before.stash_bytes + function.stash_bytes,
                             0});
        }
    }

    std::size_t functions() const { return sums_.size() - 1; }

    StageCost stage(std::int32_t number, std::size_t first, std::size_t end) const {
        const FunctionCost& before = sums_[first];
        const FunctionCost& whole = sums_[end];
        StageCost stage{
            first,
            end,
            {whole.times.forward_ms - before.times.forward_ms, whole.times.backward_ms - before.times.backward_ms},
            whole.parameter_bytes - before.parameter_bytes,
            whole.stash_bytes - before.stash_bytes,
            stash_depth(pipeline_, number)};
        if (kept_ == Kept::inputs && number + 1 < pipeline_.stages) {
            stage.times.backward_ms += stage.times.forward_ms;
            stage.stash_bytes = functions_[first].input_bytes;
        }
        return stage;
    }

private:
    Pipeline pipeline_;
    std::span<const FunctionCost> functions_;
    Kept kept_;
    std::vector<FunctionCost> sums_;  // of the functions before; inputs do not add up
};

constexpr double kImpossible = std::numeric_limits<double>::infinity();

struct Partition {
    double cost = kImpossible;
    std::vector<std::size_t> splits;
};

/// The partition whose cost, joined from stage to stage, is least. `cost` of a stage may be kImpossible; of equal partitions
/// the one with later splits is taken.
template <typename Cost, typename Join> Partition least(const Sums& sums, std::int32_t stages, Cost cost, Join join) {
    const std::size_t functions = sums.functions();
    std::vector<Partition> best(functions + 1);  // of the functions before, in the stages up to the present one
    for (std::size_t end = 1; end <= functions; ++end)
        best[end].cost = cost(sums.stage(0, 0, end));
    for (std::int32_t stage = 1; stage < stages; ++stage) {
        std::vector<Partition> next(functions + 1);
        for (std::size_t end = 1; end <= functions; ++end) {
            for (std::size_t first = 1; first < end; ++first) {
                if (best[first].cost == kImpossible) continue;
                const double joined = join(best[first].cost, cost(sums.stage(stage, first, end)));
                if (joined == kImpossible || joined > next[end].cost) continue;
                next[end] = {joined, best[first].splits};
                next[end].splits.push_back(first);
            }
        }
        best = std::move(next);
    }
    return best[functions];
}

double larger(double a, double b) {
    return std::max(a, b);
}

std::uint64_t least_memory(const Sums& sums, std::int32_t stages) {
    const auto memory = [](const StageCost& stage) { return static_cast<double>(stage.memory_bytes()); };
    return static_cast<std::uint64_t>(least(sums, stages, memory, larger).cost);
}

/// Rounded up, so that the number in GB is a limit that fits, too.
std::string limit_text(std::uint64_t bytes) {
    constexpr double kStep = 1e5;
    return std::to_string(bytes) + " bytes (" +
           decimal(std::ceil(static_cast<double>(bytes) / kStep) * kStep / 1e9, 4) + " GB)";
}

}  // namespace

std::vector<StageCost> stage_costs(const Pipeline& pipeline, std::span<const FunctionCost> functions, Kept kept,
                                   std::span<const std::size_t> splits) {
    CNNTRAIN_CHECK(std::ssize(splits) == pipeline.stages - 1, "not as many splits as the pipeline needs");
    const Sums sums(pipeline, functions, kept);
    std::vector<StageCost> result;
    std::size_t first = 0;
    for (std::int32_t stage = 0; stage < pipeline.stages; ++stage) {
        const std::size_t end =
            stage + 1 < pipeline.stages ? splits[static_cast<std::size_t>(stage)] : functions.size();
        const bool ascends = first < end || (stage == 0 && stage + 1 < pipeline.stages);
        CNNTRAIN_CHECK(ascends && end <= functions.size(), "splits that are not in order");
        result.push_back(sums.stage(stage, first, end));
        first = end;
    }
    return result;
}

std::vector<std::size_t> best_splits(const Pipeline& pipeline, std::span<const FunctionCost> functions, Kept kept,
                                     std::optional<std::uint64_t> memory_limit_bytes) {
    if (pipeline.stages < 1 || std::ssize(functions) < pipeline.stages) {
        throw Error(ErrorKind::usage, "a network of " + std::to_string(functions.size()) + " functions has 1 to " +
                                          std::to_string(functions.size()) + " stages, not " +
                                          std::to_string(pipeline.stages));
    }
    const Sums sums(pipeline, functions, kept);
    const auto time = [&](const StageCost& stage) {
        const bool fits = !memory_limit_bytes || stage.memory_bytes() <= *memory_limit_bytes;
        return fits ? stage.times.total() : kImpossible;
    };
    const double longest = least(sums, pipeline.stages, time, larger).cost;
    if (longest == kImpossible) {
        throw Error(ErrorKind::usage, "no splits into " + std::to_string(pipeline.stages) +
                                          " stages keep every stage within " + size_text(*memory_limit_bytes) +
                                          "; the least limit that would fit is " +
                                          limit_text(least_memory(sums, pipeline.stages)));
    }
    const auto square = [&](const StageCost& stage) {
        const double ms = time(stage);
        return ms <= longest ? ms * ms : kImpossible;
    };
    const auto sum = [](double a, double b) { return a + b; };
    return least(sums, pipeline.stages, square, sum).splits;
}

double imbalance(std::span<const StageCost> stages) {
    double longest = 0;
    double whole = 0;
    for (const StageCost& stage : stages) {
        longest = std::max(longest, stage.times.total());
        whole += stage.times.total();
    }
    return whole > 0 ? longest * static_cast<double>(stages.size()) / whole : 1;
}

}  // namespace cnntrain::schedule
