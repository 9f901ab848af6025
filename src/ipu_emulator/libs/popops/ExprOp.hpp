#pragma once

// A row for each operation of formulas: its enumerator and its class.

#define IPU_EMULATOR_UNARY_OPERATIONS(ROW) \
    ROW(ABSOLUTE, Abs)                     \
    ROW(ERF, Erf)                          \
    ROW(EXPONENT, Exp)                     \
    ROW(EXPONENT_MINUS_ONE, Expm1)         \
    ROW(GELU_ERF, GeluErf)                 \
    ROW(IS_FINITE, IsFinite)               \
    ROW(LOGARITHM, Log)                    \
    ROW(LOGARITHM_ONE_PLUS, Log1p)         \
    ROW(LOGICAL_NOT, Not)                  \
    ROW(NEGATE, Neg)                       \
    ROW(RELU, Relu)                        \
    ROW(RSQRT, Rsqrt)                      \
    ROW(SIGMOID, Sigmoid)                  \
    ROW(SQRT, Sqrt)                        \
    ROW(SQUARE, Square)                    \
    ROW(TANH, Tanh)

#define IPU_EMULATOR_BINARY_OPERATIONS(ROW)           \
    ROW(ADD, Add)                                     \
    ROW(BITWISE_XOR, BitwiseXor)                      \
    ROW(DIVIDE, Divide)                               \
    ROW(EQUAL, Equal)                                 \
    ROW(GREATER_THAN_EQUAL, Gte)                      \
    ROW(GREATER_THAN, Gt)                             \
    ROW(INV_STD_DEV_TO_VARIANCE, InvStdDevToVariance) \
    ROW(LESS_THAN_EQUAL, Lte)                         \
    ROW(LOGICAL_AND, And)                             \
    ROW(LOGICAL_OR, Or)                               \
    ROW(LESS_THAN, Lt)                                \
    ROW(MAXIMUM, Max)                                 \
    ROW(MINIMUM, Min)                                 \
    ROW(MULTIPLY, Mul)                                \
    ROW(NOT_EQUAL, NotEqual)                          \
    ROW(REMAINDER, Rem)                               \
    ROW(SHIFT_RIGHT, Shr)                             \
    ROW(SUBTRACT, Sub)                                \
    ROW(VARIANCE_TO_INV_STD_DEV, VarianceToInvStdDev)

namespace popops::expr {

#define IPU_EMULATOR_ENUMERATOR(TYPE, CLASS) TYPE,
enum class UnaryOpType { IPU_EMULATOR_UNARY_OPERATIONS(IPU_EMULATOR_ENUMERATOR) };
enum class BinaryOpType { IPU_EMULATOR_BINARY_OPERATIONS(IPU_EMULATOR_ENUMERATOR) };
#undef IPU_EMULATOR_ENUMERATOR

enum class TernaryOpType { CLAMP, SELECT };

}  // namespace popops::expr
