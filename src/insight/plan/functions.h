// Views a training graph as the functions of its network, at which stages may begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "insight/plan/pipeline_time.h"

namespace cnntrain::plan {

/// The functions, found from the scopes in the names of variables, nodes and steps.
class FunctionNames {
public:
    /// `names` are in network order. `scopes`: as TaskRow::scopes.
    explicit FunctionNames(std::vector<std::string> names,
                           std::vector<std::string> (*scopes)(std::string_view function) = nullptr);

    const std::vector<std::string>& names() const { return names_; }
    std::size_t count() const { return names_.size(); }
    /// The number of the function to which something with this name belongs; empty for
    /// the inputs and the loss.
    std::optional<std::size_t> of(std::string_view name) const;
    /// The numbers of functions by their names, all of which must be there.
    std::vector<std::size_t> indices(const std::vector<std::string>& functions) const;

private:
    struct Scope {
        std::string name;
        std::size_t function = 0;
    };

    std::vector<std::string> names_;
    std::vector<Scope> scopes_;
};

/// Assigns work to functions, in execution order. Work outside all functions belongs to its predecessor's function:
/// inputs to the first function, the loss to the last.
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
    std::int64_t parameters = 0;       // trainable elements
    double forward_gflop = 0;          // per micro-batch
    double backward_gflop = 0;         // per micro-batch, including recomputation
    std::uint64_t variable_bytes = 0;  // parameters, optimiser slots, moving averages
    std::uint64_t gradient_bytes = 0;  // of gradients summed over micro-batches
    std::uint64_t copy_bytes = 0;      // of copies of variables in the backend's layouts and types
};

/// Facts about each function of a graph with the whole weight update.
std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names);

/// The results of functions that other functions read, in a graph built without --enable-recomputation.
std::vector<PassResult> pass_results(const graph::Graph& graph, const FunctionNames& names);

/// Adds the copies that a backend keeps: of variables, and of inputs of each micro-batch. `report`: of the compiled
/// graph, with more than one micro-batch. If the report lists no copies, nothing is added.
void add_copies(const graph::Graph& graph, const FunctionNames& names, const backend::CompileReport& report,
                std::vector<FunctionFacts>& functions, std::vector<PassResult>& results);

/// A value that the update reads as a sum over micro-batches and processes: a gradient, or a statistic for a moving
/// average.
struct SummedValue {
    std::string name;  // of the node that computes it
    std::int64_t elements = 0;
    graph::Phase phase = graph::Phase::backward;
    std::size_t function = 0;
};

/// The summed values in the order in which a micro-batch computes them.
std::vector<SummedValue> summed_values(const graph::Graph& graph, const FunctionNames& names);

}  // namespace cnntrain::plan
