#pragma once

#include <poplar/Graph.hpp>

namespace poputil {

/// Spreads the elements over the tiles of the graph: at least 128 bytes on a tile, in grains of 8 bytes.
void mapTensorLinearly(poplar::Graph& graph, const poplar::Tensor& t);

}  // namespace poputil
