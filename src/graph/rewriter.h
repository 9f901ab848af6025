// Copying a graph while leaving out or replacing nodes: the common part of all rewrites.
#pragma once

#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

/// A rewrite walks the source's nodes in order and calls copy() or add() for each node of the result.
class Rewriter {
public:
    /// Starts with all inputs, scalars and variables of the source.
    explicit Rewriter(const Graph& source);

    /// The result's value for a value of the source; Error(internal) when its producer has been left out.
    ValueId at(ValueId source_value) const;
    bool holds(ValueId source_value) const { return map_.at(static_cast<std::size_t>(source_value.index)).valid(); }
    std::vector<ValueId> at(const std::vector<ValueId>& source_values) const;

    void copy(NodeId node);
    /// `changed`: a node of the source in another stage, or with other attributes or inputs.
    void copy_of(const Node& changed);

    /// Adds a node in the phase and stage of `like`; `inputs` are values of the result.
    std::vector<ValueId> add(const Node& like, OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string name);

    /// Lets `result_value` stand for `source_value` from here on.
    void replace(ValueId source_value, ValueId result_value);

    /// Carries the marked outputs over and hands out the result.
    Graph finish();

private:
    const Graph& source_;
    Graph result_;
    std::vector<ValueId> map_;  // by source value
};

/// The node that makes this value, when `reader` alone reads it, it is no output, and both nodes are in one phase and
/// stage: then the two can become one. Otherwise invalid.
NodeId sole_producer(const Graph& graph, ValueId value, const Node& reader);

}  // namespace cnntrain::graph
