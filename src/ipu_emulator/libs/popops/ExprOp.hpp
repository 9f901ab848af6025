#pragma once

// A row for each operation of formulas: its enumerator, its class (popops::expr) and its function (popops). Two unary
// operations have no class.

#define IPU_EMULATOR_UNARY_OPERATIONS(ROW)   \
    ROW(ABSOLUTE, Abs, abs)                  \
    ROW(ASIN, Asin, asin)                    \
    ROW(BITWISE_NOT, BitwiseNot, bitwiseNot) \
    ROW(CBRT, Cbrt, cbrt)                    \
    ROW(CEIL, Ceil, ceil)                    \
    ROW(COS, Cos, cos)                       \
    ROW(ERF, Erf, erf)                       \
    ROW(EXPONENT, Exp, exp)                  \
    ROW(EXPONENT2, Exp2, exp2)               \
    ROW(EXPONENT_MINUS_ONE, Expm1, expm1)    \
    ROW(FLOOR, Floor, floor)                 \
    ROW(GELU_ERF, GeluErf, geluErf)          \
    ROW(INVERSE, Inv, inv)                   \
    ROW(IS_FINITE, IsFinite, isFinite)       \
    ROW(IS_INF, IsInf, isInf)                \
    ROW(IS_NAN, IsNaN, isNaN)                \
    ROW(LOGARITHM, Log, log)                 \
    ROW(LOGARITHM_ONE_PLUS, Log1p, log1p)    \
    ROW(LOGICAL_NOT, Not, logicalNot)        \
    ROW(NEGATE, Neg, neg)                    \
    ROW(NEARBY_INT, NearbyInt, nearbyInt)    \
    ROW(RELU, Relu, relu)                    \
    ROW(ROUND, Round, round)                 \
    ROW(RSQRT, Rsqrt, rsqrt)                 \
    ROW(SIGMOID, Sigmoid, sigmoid)           \
    ROW(SIGNUM, Signum, signum)              \
    ROW(SIN, Sin, sin)                       \
    ROW(SQRT, Sqrt, sqrt)                    \
    ROW(SQUARE, Square, square)              \
    ROW(TAN, Tan, tan)                       \
    ROW(TANH, Tanh, tanh)                    \
    ROW(TRUNC, Trunc, trunc)

#define IPU_EMULATOR_BINARY_OPERATIONS(ROW)                                \
    ROW(ADD, Add, add)                                                     \
    ROW(ATAN2, Atan2, atan2)                                               \
    ROW(BITWISE_AND, BitwiseAnd, bitwiseAnd)                               \
    ROW(BITWISE_OR, BitwiseOr, bitwiseOr)                                  \
    ROW(BITWISE_XOR, BitwiseXor, bitwiseXor)                               \
    ROW(BITWISE_XNOR, BitwiseXnor, bitwiseXnor)                            \
    ROW(DIVIDE, Divide, div)                                               \
    ROW(EQUAL, Equal, eq)                                                  \
    ROW(GREATER_THAN_EQUAL, Gte, gteq)                                     \
    ROW(GREATER_THAN, Gt, gt)                                              \
    ROW(INV_STD_DEV_TO_VARIANCE, InvStdDevToVariance, invStdDevToVariance) \
    ROW(LESS_THAN_EQUAL, Lte, lteq)                                        \
    ROW(LOGICAL_AND, And, logicalAnd)                                      \
    ROW(LOGICAL_OR, Or, logicalOr)                                         \
    ROW(LESS_THAN, Lt, lt)                                                 \
    ROW(MAXIMUM, Max, max)                                                 \
    ROW(MINIMUM, Min, min)                                                 \
    ROW(MULTIPLY, Mul, mul)                                                \
    ROW(NOT_EQUAL, NotEqual, neq)                                          \
    ROW(POWER, Pow, pow)                                                   \
    ROW(REMAINDER, Rem, rem)                                               \
    ROW(SHIFT_LEFT, Shl, shiftLeft)                                        \
    ROW(SHIFT_RIGHT, Shr, shiftRight)                                      \
    ROW(SHIFT_RIGHT_SIGN_EXTEND, ShrSE, shiftRightSignExtend)              \
    ROW(SUBTRACT, Sub, sub)                                                \
    ROW(VARIANCE_TO_INV_STD_DEV, VarianceToInvStdDev, varianceToInvStdDev)

namespace popops::expr {

#define IPU_EMULATOR_ENUMERATOR(TYPE, CLASS, FUNCTION) TYPE,
enum class UnaryOpType { IPU_EMULATOR_UNARY_OPERATIONS(IPU_EMULATOR_ENUMERATOR) COUNT_LEADING_ZEROS, POPCOUNT };
enum class BinaryOpType { IPU_EMULATOR_BINARY_OPERATIONS(IPU_EMULATOR_ENUMERATOR) };
#undef IPU_EMULATOR_ENUMERATOR

enum class TernaryOpType { CLAMP, SELECT };

}  // namespace popops::expr
