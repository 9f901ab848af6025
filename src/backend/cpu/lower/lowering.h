// Lowers graph nodes to program steps: walks the nodes in the order in which their sections run and hands each to the
// lowering of its kind (lower_*.cpp).
//
//   NodeWalk      order of the nodes, the current node and its section
//   GraphLayouts  layouts that follow from the graph alone
//   StepBuilder   steps and memory of the current node
//   Weights       memory of variables, and the copies that other steps read
//   Values        memory and layouts of operands and results
//   Sums          accumulators of gradients and statistics
//
// Each of them uses those above it. NodeContext bundles them for the lowering of a node.
#pragma once

#include <string>
#include <vector>

#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/run/lanes.h"

namespace cnntrain::cpu {

class Lowering {
public:
    /// `exchange`: sums over ranks; null if there is no other rank.
    Lowering(const graph::Graph& graph, const backend::CompileRequest& request, const OneDnn& onednn, Program& program,
             GradientExchange* exchange);

    /// Adds the steps of every node that runs once per weight update before the micro-batches.
    void lower_prepare();
    /// Adds the steps of a pipeline's forward and backward nodes. Primitives are made for the threads of each site.
    void lower_pipeline(std::int32_t pipeline, const Lanes& lanes);
    /// Adds the steps of the update, then those that make copies of weights, when all readers are known. Afterwards the
    /// program can be finished.
    void lower_update();

    // Queries of the executable ---------------------------------------------------------------------------------------
    /// The memory of a variable.
    Placed master(graph::ValueId variable) { return weights_.master(variable); }
    /// A value as the update reads it.
    Placed as_it_lies(graph::ValueId value) { return values_.as_it_lies(value); }
    /// The row-major descriptor of a value as users see it.
    Desc row_major_desc(graph::ValueId value) const { return layouts_.row_major_desc(value); }
    /// The section of a node in the pipeline lowered last.
    Section section_of(graph::NodeId id) const { return walk_.section_of(id); }
    /// A value of that pipeline as a section sees it.
    Placed seen_from(Section section, graph::ValueId value) const { return values_.seen_from(section, value); }
    /// Layout changes, for inspection.
    std::vector<std::string> reorders() const;

private:
    void lower(graph::NodeId id);
    void add_shared_steps();

    const graph::Graph& graph_;
    const backend::CompileRequest& request_;
    const OneDnn& onednn_;
    Program& program_;
    GradientExchange* exchange_;
    NodeWalk walk_;
    GraphLayouts layouts_;
    StepBuilder steps_;
    Weights weights_;
    Values values_;
    Sums sums_;
};

/// The lowering of an op kind, or null if this backend has none.
const LoweringEntry* lowering_of(graph::OpKind kind);

}  // namespace cnntrain::cpu
