// Tiles of variables that nobody maps by hand.
#pragma once

#include <string>

#include <poplar/Graph.hpp>

namespace ipu_emulator {

/// Elements 0 .. count in equal grains over tiles offset, offset + 1, ... (the graph's last tile is followed by its
/// first), with `minimum` elements on a tile unless there are fewer; descending tiles if not ascending.
poplar::Graph::TileToTensorMapping linear_mapping(unsigned tiles, std::size_t count, std::size_t minimum,
                                                  std::size_t grain, unsigned offset = 0, bool ascending = true);
/// The same with the least sizes that libraries use: 128 bytes a tile, grains of 8 bytes.
poplar::Graph::TileToTensorMapping linear_mapping(unsigned tiles, std::size_t count, poplar::Type type,
                                                  unsigned offset = 0, bool ascending = true);
void map_linearly(poplar::Graph& graph, const poplar::Tensor& t);

/// A new variable, mapped linearly.
poplar::Tensor new_tensor(poplar::Graph& graph, poplar::Type type, poplar::ArrayRef<std::size_t> shape,
                          const std::string& name);
/// A new variable without a mapping, its dimensions in memory in the order of the dimensions of `t`.
poplar::Tensor like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t, const std::string& name);
/// The same, mapped like `t` where t is mapped on this graph's tiles without gaps, else linearly.
poplar::Tensor new_tensor_like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t,
                               const std::string& name);

}  // namespace ipu_emulator
