#include "insight/plan/pipeline_time.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::plan {
namespace {

/// The slot of the last forward or backward pass that reads a result; its producer's slot if no other pass reads it.
/// `stage_of`: maps a function to its stage.
template <typename StageOf>
std::int32_t last_slot(const schedule::Pipeline& pipeline, Kept kept, const PassResult& result, StageOf stage_of) {
    const std::int32_t own = stage_of(result.maker);
    const auto elsewhere = [&](std::size_t reader) { return stage_of(reader) != own; };
    const bool leaves = std::ranges::any_of(result.forward_readers, elsewhere) ||
                        std::ranges::any_of(result.backward_readers, elsewhere);
    const auto computes_again = [&](std::int32_t stage) {
        return kept == Kept::inputs && stage + 1 < pipeline.stages && !result.of_backward;
    };
    const bool makes_again =
        computes_again(own) && (result.again == Again::always || (result.again == Again::inside && !leaves));
    std::int32_t last = schedule::slot_of(pipeline, own, result.of_backward);
    const auto read_by = [&](std::int32_t stage, bool backward) {
        last = std::max(last, schedule::slot_of(pipeline, stage, backward));
    };
    for (const std::size_t reader : result.forward_readers) {
        const std::int32_t stage = stage_of(reader);
        read_by(stage, stage != own && computes_again(stage));
    }
    for (const std::size_t reader : result.backward_readers) {
        const std::int32_t stage = stage_of(reader);
        if (stage != own || !makes_again) read_by(stage, true);
    }
    return last;
}

/// Costs of any range of functions, computed from prefix sums.
class Sums {
public:
    Sums(const schedule::Pipeline& pipeline, const NetworkCost& network)
        : pipeline_(pipeline), kept_(network.kept), made_by_(network.functions.size()) {
        sums_.emplace_back();
        for (const FunctionCost& function : network.functions) {
            const FunctionCost& before = sums_.back();
            sums_.push_back({{before.times.forward_ms + function.times.forward_ms,
                              before.times.backward_ms + function.times.backward_ms},
                             before.parameter_bytes + function.parameter_bytes});
        }
        for (const PassResult& result : network.results)
            made_by_.at(result.maker).push_back(&result);
    }

    std::size_t functions() const { return sums_.size() - 1; }

    /// Costs of a stage without its stashes.
    StageCost stage(std::int32_t number, std::size_t first, std::size_t end) const {
        const FunctionCost& before = sums_[first];
        const FunctionCost& whole = sums_[end];
        StageCost stage{
            first,
            end,
            {whole.times.forward_ms - before.times.forward_ms, whole.times.backward_ms - before.times.backward_ms},
            whole.parameter_bytes - before.parameter_bytes};
        if (kept_ == Kept::inputs && number + 1 < pipeline_.stages) stage.times.backward_ms += stage.times.forward_ms;
        return stage;
    }

    /// `stage_of`: maps a function to its stage; `workers`: maps two stages to one or several workers.
    template <typename StageOf, typename WorkersOf>
    void add_results(std::int32_t number, StageOf stage_of, WorkersOf workers, StageCost& stage) const {
        stage.stash_depth = schedule::stash_depth(pipeline_, number);
        for (std::size_t function = stage.first; function < stage.end; ++function) {
            for (const PassResult* result : made_by_[function]) {
                const std::int32_t first = schedule::slot_of(pipeline_, number, result->of_backward);
                const std::int32_t last = last_slot(pipeline_, kept_, *result, stage_of);
                if (last == first) continue;  // used within a single pass only
                const std::int32_t reader = last < pipeline_.stages ? last : pipeline_.slots() - 1 - last;
                if (reader == number) {
                    stage.stash_bytes += result->bytes;
                } else {
                    const auto places = schedule::ring_places(pipeline_, first, last, workers(number, reader));
                    stage.handed_on_bytes += static_cast<std::uint64_t>(places) * result->bytes;
                }
            }
        }
    }

    /// Costs of a stage with its stashes, assuming that all other functions are in the adjacent stages.
    StageCost whole_stage(std::int32_t number, std::size_t first, std::size_t end, schedule::Workers workers) const {
        StageCost whole = stage(number, first, end);
        const auto stage_of = [&](std::size_t function) {
            if (function < first) return std::max(0, number - 1);
            return function < end ? number : std::min(number + 1, pipeline_.stages - 1);
        };
        add_results(
            number, stage_of, [&](std::int32_t, std::int32_t) { return workers; }, whole);
        return whole;
    }

private:
    schedule::Pipeline pipeline_;
    Kept kept_;
    std::vector<FunctionCost> sums_;                       // costs of the preceding functions
    std::vector<std::vector<const PassResult*>> made_by_;  // by function
};

constexpr double kImpossible = std::numeric_limits<double>::infinity();

struct Partition {
    double cost = kImpossible;
    std::vector<std::size_t> splits;
};

/// The partition with the least cost, joined from stage to stage. `cost` of a stage [first, end) may be kImpossible.
/// Among equal partitions, takes later splits.
template <typename Cost, typename Join>
Partition least(std::size_t functions, std::int32_t stages, Cost cost, Join join) {
    std::vector<Partition> best(functions + 1);  // for the preceding functions, in the stages up to the current one
    for (std::size_t end = 1; end <= functions; ++end)
        best[end].cost = cost(0, 0, end);
    for (std::int32_t stage = 1; stage < stages; ++stage) {
        std::vector<Partition> next(functions + 1);
        for (std::size_t end = 1; end <= functions; ++end) {
            for (std::size_t first = 1; first < end; ++first) {
                if (best[first].cost == kImpossible) continue;
                const double joined = join(best[first].cost, cost(stage, first, end));
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

/// Rounds up, so that the printed number in GB is also a sufficient limit.
std::string limit_text(std::uint64_t bytes) {
    constexpr double kStep = 1e5;
    return std::to_string(bytes) + " bytes (" +
           decimal(std::ceil(static_cast<double>(bytes) / kStep) * kStep / 1e9, 4) + " GB)";
}

}  // namespace

std::vector<StageCost> stage_costs(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                   std::span<const std::size_t> splits, std::span<const std::int32_t> lane_of) {
    CNNTRAIN_CHECK(std::ssize(splits) == pipeline.stages - 1, "not as many splits as the pipeline needs");
    CNNTRAIN_CHECK(std::ssize(lane_of) == pipeline.stages, "each stage needs a lane");
    const Sums sums(pipeline, network);
    const auto stage_of = [&](std::size_t function) {
        return static_cast<std::int32_t>(std::ranges::upper_bound(splits, function) - splits.begin());
    };
    const auto workers = [&](std::int32_t one, std::int32_t other) {
        return lane_of[static_cast<std::size_t>(one)] == lane_of[static_cast<std::size_t>(other)]
                   ? schedule::Workers::one
                   : schedule::Workers::several;
    };
    std::vector<StageCost> result;
    std::size_t first = 0;
    for (std::int32_t stage = 0; stage < pipeline.stages; ++stage) {
        const std::size_t end =
            stage + 1 < pipeline.stages ? splits[static_cast<std::size_t>(stage)] : sums.functions();
        const bool ascends = first < end || (stage == 0 && stage + 1 < pipeline.stages);
        CNNTRAIN_CHECK(ascends && end <= sums.functions(), "splits that are not in order");
        result.push_back(sums.stage(stage, first, end));
        sums.add_results(stage, stage_of, workers, result.back());
        first = end;
    }
    return result;
}

std::vector<std::size_t> best_splits(const schedule::Pipeline& pipeline, const NetworkCost& network,
                                     schedule::Workers workers, std::optional<std::uint64_t> memory_limit_bytes) {
    const std::size_t functions = network.functions.size();
    if (pipeline.stages < 1 || std::cmp_less(functions, pipeline.stages)) {
        throw Error(ErrorKind::usage, "a network of " + std::to_string(functions) + " functions has 1 to " +
                                          std::to_string(functions) + " stages, not " +
                                          std::to_string(pipeline.stages));
    }
    const Sums sums(pipeline, network);
    const auto memory = [&](std::int32_t number, std::size_t first, std::size_t end) {
        return static_cast<double>(sums.whole_stage(number, first, end, workers).memory_bytes());
    };
    const auto time = [&](std::int32_t number, std::size_t first, std::size_t end) {
        const bool fits = !memory_limit_bytes || memory(number, first, end) <= static_cast<double>(*memory_limit_bytes);
        return fits ? sums.stage(number, first, end).times.total() : kImpossible;
    };
    const double longest = least(functions, pipeline.stages, time, larger).cost;
    if (longest == kImpossible) {
        const auto needed = static_cast<std::uint64_t>(least(functions, pipeline.stages, memory, larger).cost);
        throw Error(ErrorKind::usage, "no splits into " + std::to_string(pipeline.stages) +
                                          " stages keep every stage within " + size_text(*memory_limit_bytes) +
                                          "; the least limit that would fit is " + limit_text(needed));
    }
    const auto square = [&](std::int32_t number, std::size_t first, std::size_t end) {
        const double ms = time(number, first, end);
        return ms <= longest ? ms * ms : kImpossible;
    };
    const auto sum = [](double a, double b) { return a + b; };
    return least(functions, pipeline.stages, square, sum).splits;
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

}  // namespace cnntrain::plan
