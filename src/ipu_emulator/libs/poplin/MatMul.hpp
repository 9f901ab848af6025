#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/Convolution.hpp>

namespace poplin {

// A [M][K], B [K][N], grouped: [G][M][K], [G][K][N]. Rounded as convolutions are, K in the place of input channels.

poplar::Tensor matMul(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                      poplar::program::Sequence& prog, const poplar::Type& outputType,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                      PlanningCache* cache = nullptr);
poplar::Tensor matMulGrouped(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                             poplar::program::Sequence& prog, const poplar::Type& outputType,
                             const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                             PlanningCache* cache = nullptr);
poplar::Tensor createMatMulInputRHS(poplar::Graph& graph, const poplar::Type& dataType,
                                    const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                    const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                    PlanningCache* cache = nullptr);

}  // namespace poplin
