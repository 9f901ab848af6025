#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <poplin/Convolution.hpp>

namespace poplin {

struct MatMulParams {
    poplar::Type inputType = poplar::HALF;
    poplar::Type outputType = poplar::HALF;
    std::vector<std::size_t> aShape;
    std::vector<std::size_t> bShape;

    friend bool operator<(const MatMulParams& a, const MatMulParams& b) {
        return std::tie(a.inputType, a.outputType, a.aShape, a.bShape) <
               std::tie(b.inputType, b.outputType, b.aShape, b.bShape);
    }
};

using MatMulPlanParams = std::tuple<const poplar::Target*, const MatMulParams, const poplar::OptionFlags*>;

// A [M][K], B [K][N], grouped: [G][M][K], [G][K][N]. Rounded as convolutions are, K in the place of input channels.

poplar::Tensor matMul(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                      poplar::program::Sequence& prog, const poplar::Type& outputType,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                      PlanningCache* cache = nullptr);
poplar::Tensor matMul(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                      poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                      const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);
poplar::Tensor matMulGrouped(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                             poplar::program::Sequence& prog, const poplar::Type& outputType,
                             const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                             PlanningCache* cache = nullptr);
/// C += k A B.
void matMulAcc(poplar::Graph& graph, const poplar::Tensor& C, float k, const poplar::Tensor& A, const poplar::Tensor& B,
               poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
               const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);
void matMulAcc(poplar::Graph& graph, const poplar::Tensor& C, const poplar::Tensor& k, const poplar::Tensor& A,
               const poplar::Tensor& B, poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
               const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);
void matMulGroupedAcc(poplar::Graph& graph, const poplar::Tensor& C, float k, const poplar::Tensor& A,
                      const poplar::Tensor& B, poplar::program::Sequence& prog,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                      PlanningCache* cache = nullptr);
void matMulGroupedAcc(poplar::Graph& graph, const poplar::Tensor& C, const poplar::Tensor& k, const poplar::Tensor& A,
                      const poplar::Tensor& B, poplar::program::Sequence& prog,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {},
                      PlanningCache* cache = nullptr);

poplar::Tensor createMatMulInputLHS(poplar::Graph& graph, const poplar::Type& inputType, const poplar::Type& outputType,
                                    const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                    const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                    PlanningCache* cache = nullptr);
poplar::Tensor createMatMulInputLHS(poplar::Graph& graph, const poplar::Type& dataType,
                                    const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                    const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                    PlanningCache* cache = nullptr);
poplar::Tensor createMatMulInputRHS(poplar::Graph& graph, const poplar::Type& inputType, const poplar::Type& outputType,
                                    const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                    const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                    PlanningCache* cache = nullptr);
poplar::Tensor createMatMulInputRHS(poplar::Graph& graph, const poplar::Type& dataType,
                                    const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                    const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                    PlanningCache* cache = nullptr);
poplar::Tensor createMatMulOutput(poplar::Graph& graph, const poplar::Type& inputType, const poplar::Type& outputType,
                                  const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                  const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                  PlanningCache* cache = nullptr);
poplar::Tensor createMatMulOutput(poplar::Graph& graph, const poplar::Type& dataType,
                                  const std::vector<std::size_t>& aShape, const std::vector<std::size_t>& bShape,
                                  const poplar::DebugContext& debugContext, const poplar::OptionFlags& options = {},
                                  PlanningCache* cache = nullptr);
poplar::Tensor createMatMulGroupedInputLHS(poplar::Graph& graph, const poplar::Type& inputType,
                                           const poplar::Type& outputType, const std::vector<std::size_t>& aShape,
                                           const std::vector<std::size_t>& bShape,
                                           const poplar::DebugContext& debugContext,
                                           const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);
poplar::Tensor createMatMulGroupedInputRHS(poplar::Graph& graph, const poplar::Type& inputType,
                                           const poplar::Type& outputType, const std::vector<std::size_t>& aShape,
                                           const std::vector<std::size_t>& bShape,
                                           const poplar::DebugContext& debugContext,
                                           const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);
poplar::Tensor createMatMulGroupedOutput(poplar::Graph& graph, const poplar::Type& inputType,
                                         const poplar::Type& outputType, const std::vector<std::size_t>& aShape,
                                         const std::vector<std::size_t>& bShape,
                                         const poplar::DebugContext& debugContext,
                                         const poplar::OptionFlags& options = {}, PlanningCache* cache = nullptr);

}  // namespace poplin
