// The reference backend: every node by its naive float64 evaluator. Slow; it is what the others are judged by.
#pragma once

#include <memory>
#include <vector>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

/// "ref". Values keep float64 precision between nodes whatever their element type; parameters and states too, and are
/// rounded to it (to nearest) only by store(). Of the runtime settings only the seed has an effect.
std::unique_ptr<Backend> make_ref_backend();

/// Evaluates one node in place; `values` is indexed by ValueId and must hold the node's inputs. A node that mutates
/// overwrites its inputs' values.
void evaluate_node(const graph::Graph& graph, graph::NodeId id, std::vector<graph::RefTensor>& values,
                   const graph::RandomKey& random = {});

}  // namespace cnntrain::backend
