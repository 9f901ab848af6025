// A training graph seen as the functions of its network, at which stages may begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::train {

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

/// Finds the functions of things in the order in which they are done. What belongs to no function goes with what is done
/// before it: images with the first function, the loss with the last.
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
    std::uint64_t stash_bytes = 0;     // results of one micro-batch's forward pass that backward passes read
    std::uint64_t input_bytes = 0;     // results of the functions before that it or those behind it read going forward
};

/// One for each function, of a graph with the whole weight update.
std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names);

}  // namespace cnntrain::train
