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

#define POPOPS_UNARY(NAME, TYPE)                                                                                       \
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

#define POPOPS_BINARY(NAME, TYPE)                                                                                      \
    inline poplar::Tensor NAME(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {  \
        return map(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::_2), {A, B}, prog, debugContext,    \
                   options);                                                                                           \
    }                                                                                                                  \
    inline poplar::Tensor NAME(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {                  \
        return map(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::Const(B)), {A}, prog, debugContext, \
                   options);                                                                                           \
    }                                                                                                                  \
    inline poplar::Tensor NAME(poplar::Graph& graph, float A, const poplar::Tensor& B, POPOPS_TAIL) {                  \
        return map(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::Const(A), expr::_1), {B}, prog, debugContext, \
                   options);                                                                                           \
    }                                                                                                                  \
    inline void NAME##InPlace(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, POPOPS_TAIL) {   \
        mapInPlace(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::_2), {A, B}, prog, debugContext,    \
                   options);                                                                                           \
    }                                                                                                                  \
    inline void NAME##InPlace(poplar::Graph& graph, const poplar::Tensor& A, float B, POPOPS_TAIL) {                   \
        mapInPlace(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::Const(B)), {A}, prog, debugContext, \
                   options);                                                                                           \
    }                                                                                                                  \
    inline void NAME##WithOutput(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B,               \
                                 const poplar::Tensor& out, POPOPS_TAIL) {                                             \
        mapWithOutput(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::_2), {A, B}, out, prog,          \
                      debugContext, options);                                                                          \
    }                                                                                                                  \
    inline void NAME##WithOutput(poplar::Graph& graph, const poplar::Tensor& A, float B, const poplar::Tensor& out,    \
                                 POPOPS_TAIL) {                                                                        \
        mapWithOutput(graph, expr::BinaryOp(expr::BinaryOpType::TYPE, expr::_1, expr::Const(B)), {A}, out, prog,       \
                      debugContext, options);                                                                          \
    }

POPOPS_UNARY(abs, ABSOLUTE)
POPOPS_UNARY(asin, ASIN)
POPOPS_UNARY(bitwiseNot, BITWISE_NOT)
POPOPS_UNARY(cbrt, CBRT)
POPOPS_UNARY(ceil, CEIL)
POPOPS_UNARY(cos, COS)
POPOPS_UNARY(countLeadingZeros, COUNT_LEADING_ZEROS)
POPOPS_UNARY(erf, ERF)
POPOPS_UNARY(exp, EXPONENT)
POPOPS_UNARY(exp2, EXPONENT2)
POPOPS_UNARY(expm1, EXPONENT_MINUS_ONE)
POPOPS_UNARY(floor, FLOOR)
POPOPS_UNARY(geluErf, GELU_ERF)
POPOPS_UNARY(inv, INVERSE)
POPOPS_UNARY(isFinite, IS_FINITE)
POPOPS_UNARY(isInf, IS_INF)
POPOPS_UNARY(isNaN, IS_NAN)
POPOPS_UNARY(log, LOGARITHM)
POPOPS_UNARY(log1p, LOGARITHM_ONE_PLUS)
POPOPS_UNARY(logicalNot, LOGICAL_NOT)
POPOPS_UNARY(neg, NEGATE)
POPOPS_UNARY(nearbyInt, NEARBY_INT)
POPOPS_UNARY(popcount, POPCOUNT)
POPOPS_UNARY(relu, RELU)
POPOPS_UNARY(round, ROUND)
POPOPS_UNARY(rsqrt, RSQRT)
POPOPS_UNARY(sigmoid, SIGMOID)
POPOPS_UNARY(signum, SIGNUM)
POPOPS_UNARY(sin, SIN)
POPOPS_UNARY(sqrt, SQRT)
POPOPS_UNARY(square, SQUARE)
POPOPS_UNARY(tan, TAN)
POPOPS_UNARY(tanh, TANH)
POPOPS_UNARY(trunc, TRUNC)
POPOPS_BINARY(add, ADD)
POPOPS_BINARY(atan2, ATAN2)
POPOPS_BINARY(bitwiseAnd, BITWISE_AND)
POPOPS_BINARY(bitwiseOr, BITWISE_OR)
POPOPS_BINARY(bitwiseXor, BITWISE_XOR)
POPOPS_BINARY(bitwiseXnor, BITWISE_XNOR)
POPOPS_BINARY(div, DIVIDE)
POPOPS_BINARY(eq, EQUAL)
POPOPS_BINARY(gteq, GREATER_THAN_EQUAL)
POPOPS_BINARY(gt, GREATER_THAN)
POPOPS_BINARY(invStdDevToVariance, INV_STD_DEV_TO_VARIANCE)
POPOPS_BINARY(lteq, LESS_THAN_EQUAL)
POPOPS_BINARY(logicalAnd, LOGICAL_AND)
POPOPS_BINARY(logicalOr, LOGICAL_OR)
POPOPS_BINARY(lt, LESS_THAN)
POPOPS_BINARY(max, MAXIMUM)
POPOPS_BINARY(min, MINIMUM)
POPOPS_BINARY(mul, MULTIPLY)
POPOPS_BINARY(neq, NOT_EQUAL)
POPOPS_BINARY(pow, POWER)
POPOPS_BINARY(rem, REMAINDER)
POPOPS_BINARY(shiftLeft, SHIFT_LEFT)
POPOPS_BINARY(shiftRight, SHIFT_RIGHT)
POPOPS_BINARY(shiftRightSignExtend, SHIFT_RIGHT_SIGN_EXTEND)
POPOPS_BINARY(sub, SUBTRACT)
POPOPS_BINARY(varianceToInvStdDev, VARIANCE_TO_INV_STD_DEV)

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
