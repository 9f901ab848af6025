#pragma once

#include <poplar/Graph.hpp>

namespace popnn {

/// Programs for IPUs need it once for each top-level graph.
void addCodelets(poplar::Graph& graph);

}  // namespace popnn
