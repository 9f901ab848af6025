// A training graph seen as the functions of its network, at which stages may begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/plan/balance.h"

namespace cnntrain::plan {

/// The functions by the names of variables, nodes and steps: "all/<function>/...".
class FunctionNames {
public:
    /// In the order of the network.
    explicit FunctionNames(std::vector<std::string> names) : names_(std::move(names)) {}

    const std::vector<std::string>& names() const { return names_; }
    std::size_t count() const { return names_.size(); }
    /// The number of the function that something of this name belongs to; empty for the images and the loss.
    std::optional<std::size_t> of(std::string_view name) const;

private:
    std::vector<std::string> names_;
};

/// Finds the functions of things in the order in which they are done. What belongs to no function goes with what is
/// done before it: images with the first function, the loss with the last.
class FunctionWalk {
public:
    explicit FunctionWalk(const FunctionNames& names) : names_(names), backward_(names.count() - 1) {}

    std::size_t next(std::string_view name, graph::Phase phase);

private:
    const FunctionNames& names_;
    std::size_t forward_ = 0;
    std::size_t backward_;
};

/// What the graph says of one function.
struct FunctionFacts {
    std::int64_t parameters = 0;       // elements that are trained
    double forward_gflop = 0;          // of one micro-batch
    double backward_gflop = 0;         // of one micro-batch, what is computed again included
    std::uint64_t variable_bytes = 0;  // parameters, optimiser slots, moving averages
    std::uint64_t gradient_bytes = 0;  // that are summed over the micro-batches
    std::uint64_t copy_bytes = 0;      // of copies of variables, as a backend's operations read them
};

/// One for each function, of a graph with the whole weight update.
std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names);

/// What the passes of the functions leave for other passes, of a graph made without --enable-recomputation.
std::vector<PassResult> pass_results(const graph::Graph& graph, const FunctionNames& names);

/// Adds what a backend keeps besides: copies of variables, and of what each micro-batch begins with. `report`: of the
/// compiled graph, with more than one micro-batch. Nothing is added for a backend that does not tell.
void add_copies(const graph::Graph& graph, const FunctionNames& names, const backend::CompileReport& report,
                std::vector<FunctionFacts>& functions, std::vector<PassResult>& results);

/// Something that the update reads as a sum over micro-batches, and so over processes: a gradient, or a statistic that
/// a moving average follows.
struct SummedValue {
    std::string name;  // of the node that makes it
    std::int64_t elements = 0;
    graph::Phase phase = graph::Phase::backward;
    std::size_t function = 0;
};

/// In the order in which a micro-batch makes them.
std::vector<SummedValue> summed_values(const graph::Graph& graph, const FunctionNames& names);

}  // namespace cnntrain::plan
