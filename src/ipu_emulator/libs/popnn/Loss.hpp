#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn {

/// The K largest elements of each row [rows][n], sorted from the largest if `sort`; their places go to `indices`,
/// [rows][K] UNSIGNED_INT. Of equal elements the first comes first; NaN comes last.
poplar::Tensor topK(poplar::Graph& graph, const poplar::Tensor& input, poplar::Tensor& indices, unsigned K, bool sort,
                    poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});

}  // namespace popnn
