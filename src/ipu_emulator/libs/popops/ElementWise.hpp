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

inline poplar::Tensor map(poplar::Graph& graph, expr::UnaryOpType op, const poplar::Tensor& t,
                          poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                          const poplar::OptionFlags& options = {}) {
    return map(graph, expr::UnaryOp(op, expr::_1), {t}, prog, debugContext, options);
}
inline poplar::Tensor map(poplar::Graph& graph, expr::BinaryOpType op, const poplar::Tensor& a, const poplar::Tensor& b,
                          poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                          const poplar::OptionFlags& options = {}) {
    return map(graph, expr::BinaryOp(op, expr::_1, expr::_2), {a, b}, prog, debugContext, options);
}
inline poplar::Tensor map(poplar::Graph& graph, expr::TernaryOpType op, const poplar::Tensor& a,
                          const poplar::Tensor& b, const poplar::Tensor& c, poplar::program::Sequence& prog,
                          const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {}) {
    return map(graph, expr::TernaryOp(op, expr::_1, expr::_2, expr::_3), {a, b, c}, prog, debugContext, options);
}

// Each operation in three forms: a new result, in the place of the first operand, into a given tensor. Binary ones take
// a float as either operand too.

#define POPOPS_TAIL                                                                 \
    poplar::program::Sequence &prog, const poplar::DebugContext &debugContext = {}, \
                                                                const poplar::OptionFlags &options = {}

#define POPOPS_UNARY(TYPE, CLASS, NAME)                                                                                \
    inline poplar::Tensor NAME(poplar::Graph& graph, const poplar::Tensor& A, POPOPS_TAIL) {                           \
        return map(graph, expr::UnaryOp(expr::UnaryOpType::TYPE, expr::_1), {A}, prog, debugContext, options);         \
    }                                                                                                                  \
    inline void NAME##InPlace(poplar::Graph& graph, const poplar::Tensor& A, POPOPS_TAIL) {                            \
        mapInPlace(graph, expr::UnaryOp(expr::UnaryOpType::TYPE, expr::_1), {A}, prog, debugContext, options);         \
    }                                                                                                                  \
    inline void NAME##WithOutput(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& out,             \
                                 POPOPS_TAIL) {                                                                        \
        mapWithOutput(graph, expr::UnaryOp(expr::UnaryOpType::TYPE, expr::_1), {A}, out, prog, debugContext, options); \
    }

#define POPOPS_BINARY(TYPE, CLASS, NAME)                                                                              \
    inline poplar::Tensor NAME(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) { \
        return map(graph, expr::CLASS(expr::_1, expr::_2), {A, B}, prog, debugContext, options);                      \
    }                                                                                                                 \
    inline poplar::Tensor NAME(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {                 \
        return map(graph, expr::CLASS(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);                   \
    }                                                                                                                 \
    inline poplar::Tensor NAME(poplar::Graph& graph, float A, const poplar::Tensor& B, POPOPS_TAIL) {                 \
        return map(graph, expr::CLASS(expr::Const(A), expr::_1), {B}, prog, debugContext, options);                   \
    }                                                                                                                 \
    inline void NAME##InPlace(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {  \
        mapInPlace(graph, expr::CLASS(expr::_1, expr::_2), {A, B}, prog, debugContext, options);                      \
    }                                                                                                                 \
    inline void NAME##InPlace(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {                  \
        mapInPlace(graph, expr::CLASS(expr::_1, expr::Const(B)), {A}, prog, debugContext, options);                   \
    }                                                                                                                 \
    inline void NAME##WithOutput(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,              \
                                 const poplar::Tensor& out, POPOPS_TAIL) {                                            \
        mapWithOutput(graph, expr::CLASS(expr::_1, expr::_2), {A, B}, out, prog, debugContext, options);              \
    }                                                                                                                 \
    inline void NAME##WithOutput(poplar::Graph& graph, const poplar::Tensor& A, float B, const poplar::Tensor& out,   \
                                 POPOPS_TAIL) {                                                                       \
        mapWithOutput(graph, expr::CLASS(expr::_1, expr::Const(B)), {A}, out, prog, debugContext, options);           \
    }

IPU_EMULATOR_UNARY_OPERATIONS(POPOPS_UNARY)
POPOPS_UNARY(COUNT_LEADING_ZEROS, , countLeadingZeros)
POPOPS_UNARY(POPCOUNT, , popcount)
IPU_EMULATOR_BINARY_OPERATIONS(POPOPS_BINARY)
#undef POPOPS_BINARY
#undef POPOPS_UNARY

/// A where the last argument is true, else B.
inline poplar::Tensor select(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                             const poplar::Tensor& C, POPOPS_TAIL) {
    return map(graph, expr::Select(expr::_1, expr::_2, expr::_3), {A, B, C}, prog, debugContext, options);
}
inline void selectInPlace(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                          const poplar::Tensor& C, POPOPS_TAIL) {
    mapInPlace(graph, expr::Select(expr::_1, expr::_2, expr::_3), {A, B, C}, prog, debugContext, options);
}
/// A between B and C.
inline poplar::Tensor clamp(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                            const poplar::Tensor& C, POPOPS_TAIL) {
    return map(graph, expr::Clamp(expr::_1, expr::_2, expr::_3), {A, B, C}, prog, debugContext, options);
}
inline void clampInPlace(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,
                         const poplar::Tensor& C, POPOPS_TAIL) {
    mapInPlace(graph, expr::Clamp(expr::_1, expr::_2, expr::_3), {A, B, C}, prog, debugContext, options);
}

#undef POPOPS_TAIL

}  // namespace popops
