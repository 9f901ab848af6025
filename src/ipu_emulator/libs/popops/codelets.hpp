#pragma once

#include <poplar/Graph.hpp>

namespace popops {

/// Programs for IPUs need it once for each top-level graph.
void addCodelets(poplar::Graph& graph);

}  // namespace popops
