#include "insight/plan/functions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/graph.h"
#include "insight/plan/pipeline_time.h"

namespace cnntrain::plan {

using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;

FunctionNames::FunctionNames(std::vector<std::string> names, std::vector<std::string> (*scopes)(std::string_view))
    : names_(std::move(names)) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
        for (std::string& scope : scopes != nullptr ? scopes(names_[i]) : std::vector{"all/" + names_[i]})
            scopes_.push_back({std::move(scope), i});
    }
}

std::optional<std::size_t> FunctionNames::of(std::string_view name) const {
    const Scope* innermost = nullptr;
    for (const Scope& scope : scopes_) {
        if (!name.starts_with(scope.name)) continue;
        const std::size_t end = scope.name.size();
        const bool whole = name.size() == end || name[end] == '/' || name[end] == ':';
        if (whole && (innermost == nullptr || end >= innermost->name.size())) innermost = &scope;
    }
    return innermost == nullptr ? std::nullopt : std::optional(innermost->function);
}

std::vector<std::size_t> FunctionNames::indices(const std::vector<std::string>& functions) const {
    std::vector<std::size_t> result;
    for (const std::string& function : functions) {
        const auto found = std::ranges::find(names_, function);
        CNNTRAIN_CHECK(found != names_.end(), "no function " + function);
        result.push_back(static_cast<std::size_t>(found - names_.begin()));
    }
    return result;
}

std::size_t FunctionWalk::next(std::string_view name, Phase phase) {
    std::size_t& last = phase == Phase::forward ? forward_ : backward_;
    last = names_.of(name).value_or(last);
    return last;
}

namespace {

/// The function of each node of a micro-batch.
std::vector<std::size_t> functions_of_nodes(const graph::Graph& graph, const FunctionNames& names) {
    FunctionWalk walk(names);
    std::vector<std::size_t> functions;
    for (const graph::Node& node : graph.nodes()) {
        functions.push_back(node.phase == Phase::update ? 0 : walk.next(node.name, node.phase));
    }
    return functions;
}

/// The function whose pass produces the value, and the functions whose passes read it.
PassResult pass_result(const graph::Graph& graph, const std::vector<std::size_t>& function_of, ValueId value) {
    const auto function = [&](NodeId node) { return function_of[static_cast<std::size_t>(node.index)]; };
    const NodeId maker = graph.value(value).producer;
    PassResult result{graph.desc(value).bytes(), function(maker), graph.node(maker).phase == Phase::backward};
    for (const NodeId user : graph.value(value).users) {
        const Phase phase = graph.node(user).phase;
        if (phase == Phase::forward) result.forward_readers.push_back(function(user));
        if (phase == Phase::backward && !reads_places_only(graph, user, value))
            result.backward_readers.push_back(function(user));
    }
    return result;
}

bool leaves_its_pass(const PassResult& result) {
    const auto others = [&](std::size_t reader) { return reader != result.maker; };
    const auto& same_pass = result.of_backward ? result.backward_readers : result.forward_readers;
    return std::ranges::any_of(same_pass, others) || (!result.of_backward && !result.backward_readers.empty());
}

}  // namespace

std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::vector<FunctionFacts> functions(names.count());
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.phase == Phase::update) continue;
        FunctionFacts& function = functions[function_of[static_cast<std::size_t>(i)]];
        (node.phase == Phase::forward ? function.forward_gflop : function.backward_gflop) +=
            graph.node_flops({i}) / 1e9;
        for (const ValueId result : node.outputs) {
            if (known.crosses_into_update(result)) function.gradient_bytes += graph.desc(result).bytes();
        }
    }
    for (const ValueId id : graph.variables()) {
        const graph::Value& value = graph.value(id);
        const auto function = names.of(value.role == Role::slot ? graph.value(value.owner).name : value.name);
        if (!function) continue;
        functions[*function].variable_bytes += value.desc.bytes();
        if (value.role == Role::parameter) functions[*function].parameters += value.desc.elements();
    }
    return functions;
}

std::vector<PassResult> pass_results(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::vector<PassResult> results;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.phase == Phase::update) continue;
        for (const ValueId value : node.outputs) {
            if (known.follows_weights(value)) continue;
            PassResult result = pass_result(graph, function_of, value);
            // Backward first recomputes the statistics of a norm, and that recomputes the node's other results too.
            if (node.outputs.size() > 1) result.again = Again::always;
            if (leaves_its_pass(result)) results.push_back(std::move(result));
        }
        if (node.kind == graph::OpKind::max_pool) {
            const auto places = static_cast<std::uint64_t>(graph.desc(node.outputs[0]).elements());
            const std::size_t function = function_of[static_cast<std::size_t>(i)];
            results.push_back({places, function, false, {}, {function}});
        }
    }
    return results;
}

namespace {

/// The last function whose forward pass reads the variable or what follows from it. Copies in other layouts are made
/// for products, and a table that is both looked up and multiplied by is looked up first.
std::optional<std::size_t> last_reader(const graph::Graph& graph, const graph::Facts& known,
                                       const std::vector<std::size_t>& function_of, ValueId value) {
    std::optional<std::size_t> last;
    for (const NodeId user : graph.value(value).users) {
        const graph::Node& node = graph.node(user);
        if (node.phase != Phase::forward) continue;
        if (!known.follows_weights(node.outputs.front())) {
            last = std::max(last, std::optional(function_of[static_cast<std::size_t>(user.index)]));
            continue;
        }
        for (const ValueId result : node.outputs)
            last = std::max(last, last_reader(graph, known, function_of, result));
    }
    return last;
}

/// The function of each parameter's copies, by the parameter's name.
std::map<std::string, std::size_t, std::less<>> functions_of_copies(const graph::Graph& graph,
                                                                    const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::map<std::string, std::size_t, std::less<>> functions;
    for (const ValueId id : graph.values_with_role(Role::parameter)) {
        if (const auto reader = last_reader(graph, known, function_of, id)) functions[graph.value(id).name] = *reader;
    }
    return functions;
}

}  // namespace

void add_copies(const graph::Graph& graph, const FunctionNames& names, const backend::CompileReport& report,
                std::vector<FunctionFacts>& functions, std::vector<PassResult>& results) {
    const auto of_copies = functions_of_copies(graph, names);
    std::vector<std::uint64_t> persistent(functions.size());
    for (const backend::NamedBytes& tensor : report.persistent) {
        std::optional<std::size_t> function = names.of(tensor.name);
        const auto copied = of_copies.find(std::string_view(tensor.name).substr(0, tensor.name.find(':')));
        if (copied != of_copies.end() && copied->first.size() < tensor.name.size()) function = copied->second;
        if (function) persistent[*function] += tensor.bytes;
    }
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const std::uint64_t known = functions[i].variable_bytes + functions[i].gradient_bytes;
        functions[i].copy_bytes = std::max(persistent[i], known) - known;
    }
    for (const graph::ValueId input : graph.values_with_role(Role::input)) {
        for (const backend::NamedBytes& tensor : report.held) {
            if (tensor.name.starts_with(graph.value(input).name + ":"))
                results.push_back({tensor.bytes, 0, false, {}, {0}, Again::never});
        }
    }
}

std::vector<SummedValue> summed_values(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts facts(graph);
    FunctionWalk walk(names);
    std::vector<SummedValue> values;
    for (const graph::Node& node : graph.nodes()) {
        if (node.phase == Phase::update) continue;
        const std::size_t function = walk.next(node.name, node.phase);
        for (const ValueId result : node.outputs) {
            if (!facts.crosses_into_update(result)) continue;
            values.push_back({node.name, graph.desc(result).elements(), node.phase, function});
        }
    }
    return values;
}

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
