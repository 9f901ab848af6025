// The order in which the nodes of a graph are lowered, and the node that is being lowered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/program/program.h"
#include "cnntrain/graph/facts.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

class NodeWalk {
public:
    NodeWalk(const graph::Graph& graph, const Program& program);

    const graph::Graph& graph() const { return graph_; }
    const graph::Facts& facts() const { return facts_; }
    /// All nodes in the order in which their sections run, so that memory is reused only after its last reader.
    std::span<const graph::NodeId> order() const { return order_; }

    /// From now on the sections of forward and backward nodes are those of this pipeline.
    void begin_pipeline(std::int32_t pipeline) { pipeline_ = pipeline; }
    std::int32_t pipeline() const { return pipeline_; }
    /// Makes this node the current one. Error(internal) if it reads what a later section writes.
    void go_to(graph::NodeId id);

    graph::NodeId id() const { return current_; }
    const graph::Node& node() const { return graph_.node(current_); }
    /// The section of the current node; prepare before the first node.
    Section section() const { return current_.valid() ? section_of(current_) : Section::prepare(); }
    Section section_of(graph::NodeId id) const;
    /// Does the node run after the current one?
    bool is_later(graph::NodeId id) const { return position_of(id) > position_of(current_); }

private:
    std::int32_t position_of(graph::NodeId id) const { return position_[static_cast<std::size_t>(id.index)]; }
    void check_order() const;

    const graph::Graph& graph_;
    graph::Facts facts_;
    std::vector<graph::NodeId> order_;
    std::vector<std::int32_t> position_;  // in order_, by node
    graph::NodeId current_;
    std::int32_t pipeline_ = 0;
};

/// Is the value an output of the graph?
bool is_output(const graph::Graph& graph, graph::ValueId value);
/// A result that is neither read nor an output needs no memory.
bool is_read(const graph::Graph& graph, graph::ValueId result);

}  // namespace cnntrain::cpu
