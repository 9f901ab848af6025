// The reference backend: every node by its naive float64 evaluator. Slow; it is what the others are judged by.
#pragma once

#include <memory>
#include <vector>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct RefSettings {
    DType half = DType::bf16;  // what `16` means: bf16 or f16
    /// Every value is rounded to its element type (to nearest) when a node has made it. Otherwise values, parameters
    /// and states keep float64 precision, and only store() and output() round.
    bool rounds = false;
};

/// "ref". Of the runtime settings, stochastic rounding has no effect.
std::unique_ptr<Backend> make_ref_backend(const RefSettings& settings = {});

/// Evaluates one node in place; `values` is indexed by ValueId and must hold the node's inputs. A node that mutates
/// overwrites its inputs' values.
void evaluate_node(const graph::Graph& graph, graph::NodeId id, std::vector<graph::RefTensor>& values,
                   const graph::RandomKey& random = {});

}  // namespace cnntrain::backend
