#pragma once

#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/OptionFlags.hpp>
#include <poplar/Program.hpp>
#include <popops/Expr.hpp>
#include <popops/ExprOp.hpp>

namespace popops {

// Tensors of a formula have one shape, or dimensions of one element, which are broadcast (numpy's rule). Results of
// formulas over half are computed in float and rounded once. Throws poputil::poplibs_error for shapes and types that do
// not fit.

poplar::Tensor map(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                   const poplar::OptionFlags& options = {});
/// The result replaces the first tensor.
void mapInPlace(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                const poplar::OptionFlags& options = {});
void mapWithOutput(poplar::Graph& graph, const expr::Expr& expr, const std::vector<poplar::Tensor>& ts,
                   const poplar::Tensor& out, poplar::program::Sequence& prog,
                   const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});

#define POPOPS_TAIL                                                                 \
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
                                                                const poplar::OptionFlags &options = {}

inline poplar::Tensor neg(poplar::Graph& graph, const poplar::Tensor& A, POPOPS_TAIL) {
    return map(graph, expr::Neg(expr::_1), {A}, prog, debugContext, options);
}
inline poplar::Tensor add(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {
    return map(graph, expr::Add(expr::_1, expr::_2), {A, B}, prog, debugContext, options);
}
inline void addInPlace(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {
    mapInPlace(graph, expr::Add(expr::_1, expr::_2), {A, B}, prog, debugContext, options);
}
inline poplar::Tensor mul(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {
    return map(graph, expr::Mul(expr::_1, expr::_2), {A, B}, prog, debugContext, options);
}
inline poplar::Tensor mul(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {
    return map(graph, expr::Mul(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);
}
inline void mulInPlace(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {
    mapInPlace(graph, expr::Mul(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);
}
/// 1 / sqrt(A + B).
inline poplar::Tensor varianceToInvStdDev(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {
    return map(graph, expr::VarianceToInvStdDev(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);
}
/// 1 / A^2 - B.
inline poplar::Tensor invStdDevToVariance(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {
    return map(graph, expr::InvStdDevToVariance(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);
}

#undef POPOPS_TAIL

}  // namespace popops
