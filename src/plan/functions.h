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

/// Assigns work to functions, in the order of execution. Work outside of every function counts with its predecessor:
/// images with the first function, the loss with the last.
class FunctionWalk {
public:
    explicit FunctionWalk(const FunctionNames& names) : names_(names), backward_(names.count() - 1) {}

    std::size_t next(std::string_view name, graph::Phase phase);

private:
    const FunctionNames& names_;
    std::size_t forward_ = 0;
    std::size_t backward_;
};

/// Sizes and work of one function, from the graph.
struct FunctionFacts {
    std::int64_t parameters = 0;       // elements that are trained
    double forward_gflop = 0;          // of one micro-batch
    double backward_gflop = 0;         // of one micro-batch, with recomputation
    std::uint64_t variable_bytes = 0;  // parameters, optimiser slots, moving averages
    std::uint64_t gradient_bytes = 0;  // that are summed over the micro-batches
    std::uint64_t copy_bytes = 0;      // of copies of variables, as a backend's operations read them
};

/// One for each function, of a graph with the whole weight update.
std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names);

/// The results that functions pass to other functions, of a graph built without --enable-recomputation.
std::vector<PassResult> pass_results(const graph::Graph& graph, const FunctionNames& names);

/// Adds the copies that a backend keeps: of variables, and of inputs of each micro-batch. `report`: of the compiled
/// graph, with more than one micro-batch. A backend whose report lists none adds nothing.
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
