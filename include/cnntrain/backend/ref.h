// The reference backend runs the naive float64 evaluator of every node. Slow; other backends are compared with it.
#pragma once

#include <memory>
#include <vector>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

struct RefSettings {
    DType half = DType::bf16;  // the 16-bit type: bf16 or f16
    /// Rounds every result of a node to its element type (to nearest). Otherwise values, parameters and states keep
    /// float64 precision, and only store() and output() round.
    bool rounds = false;
};

/// "ref". It trains in a single process. RuntimeSettings::stochastic_rounding has no effect.
std::unique_ptr<Backend> make_ref_backend(const RefSettings& settings = {});

/// Evaluates one node; `values` is indexed by ValueId and must hold the node's inputs. Mutating nodes overwrite their
/// inputs.
void evaluate_node(const graph::Graph& graph, graph::NodeId id, std::vector<graph::RefTensor>& values,
                   const graph::RandomKey& random = {});

}  // namespace cnntrain::backend
