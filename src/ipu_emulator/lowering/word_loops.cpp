// The loops of formulas, one for each operation and kind of type.
#include <cmath>
#include <map>
#include <type_traits>

#include "ipu_emulator/lowering/expression.h"
#include "ipu_emulator/model/view.h"

namespace ipu_emulator {
namespace {

using popops::expr::BinaryOpType;
using popops::expr::UnaryOpType;

template <class T> T get(Word word) {
    if constexpr (std::is_same_v<T, float>) return word.number;
    if constexpr (std::is_same_v<T, std::int32_t>) return word.integer;
    if constexpr (std::is_same_v<T, std::uint32_t>) return static_cast<std::uint32_t>(word.integer);
    if constexpr (std::is_same_v<T, bool>) return word.integer != 0;
}

template <class R> Word put(R value) {
    Word word;
    if constexpr (std::is_same_v<R, float>) {
        word.number = value;
    } else {
        word.integer = static_cast<std::int32_t>(value);
    }
    return word;
}

template <class T, class F> WordLoop loop1(F) {
    return [](const Word* a, const Word*, const Word*, Word* to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            to[i] = put(F()(get<T>(a[i])));
    };
}

template <class T, class F> WordLoop loop2(F) {
    return [](const Word* a, const Word* b, const Word*, Word* to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            to[i] = put(F()(get<T>(a[i]), get<T>(b[i])));
    };
}

template <class Op> using Loops = std::map<Op, WordLoop>;

/// Null if the operation has none.
template <class Op> WordLoop find(const Loops<Op>& loops, Op op) {
    const auto at = loops.find(op);
    return at != loops.end() ? at->second : nullptr;
}

/// exp() of nothing above 0: it never overflows.
constexpr auto sigmoid = [](float x) {
    const float e = std::exp(-std::fabs(x));
    return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
};

WordLoop float_unary(UnaryOpType op) {
    using T = float;
    using enum UnaryOpType;
    static const Loops<UnaryOpType> loops{
        {ABSOLUTE, loop1<T>([](T x) { return std::fabs(x); })},
        {ERF, loop1<T>([](T x) { return std::erf(x); })},
        {EXPONENT, loop1<T>([](T x) { return std::exp(x); })},
        {EXPONENT_MINUS_ONE, loop1<T>([](T x) { return std::expm1(x); })},
        {GELU_ERF, loop1<T>([](T x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); })},
        {IS_FINITE, loop1<T>([](T x) { return magnitude_bits(x) < kInfinityBits; })},
        {LOGARITHM, loop1<T>([](T x) { return std::log(x); })},
        {LOGARITHM_ONE_PLUS, loop1<T>([](T x) { return std::log1p(x); })},
        {NEGATE, loop1<T>([](T x) { return -x; })},
        {RELU, loop1<T>([](T x) { return x < 0.0f ? 0.0f : x; })},
        {RSQRT, loop1<T>([](T x) { return 1.0f / std::sqrt(x); })},
        {SIGMOID, loop1<T>(sigmoid)},
        {SQRT, loop1<T>([](T x) { return std::sqrt(x); })},
        {SQUARE, loop1<T>([](T x) { return x * x; })},
        {TANH, loop1<T>([](T x) { return std::tanh(x); })},
    };
    return find(loops, op);
}

template <class T> WordLoop integer_unary(UnaryOpType op) {
    using enum UnaryOpType;
    static const Loops<UnaryOpType> loops{
        {ABSOLUTE, loop1<T>([](T x) { return x < T{} ? static_cast<T>(0u - static_cast<std::uint32_t>(x)) : x; })},
        {NEGATE, loop1<T>([](T x) { return static_cast<T>(0u - static_cast<std::uint32_t>(x)); })},
        {RELU, loop1<T>([](T x) { return x < T{} ? T{} : x; })},
        {SQUARE,
         loop1<T>([](T x) { return static_cast<T>(static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(x)); })},
    };
    return find(loops, op);
}

template <class T> WordLoop comparison(BinaryOpType op) {
    using enum BinaryOpType;
    static const Loops<BinaryOpType> loops{
        {EQUAL, loop2<T>([](T a, T b) { return a == b; })},
        {NOT_EQUAL, loop2<T>([](T a, T b) { return a != b; })},
        {GREATER_THAN, loop2<T>([](T a, T b) { return a > b; })},
        {GREATER_THAN_EQUAL, loop2<T>([](T a, T b) { return a >= b; })},
        {LESS_THAN, loop2<T>([](T a, T b) { return a < b; })},
        {LESS_THAN_EQUAL, loop2<T>([](T a, T b) { return a <= b; })},
        {MAXIMUM, loop2<T>([](T a, T b) { return a < b ? b : a; })},
        {MINIMUM, loop2<T>([](T a, T b) { return b < a ? b : a; })},
    };
    return find(loops, op);
}

WordLoop float_binary(BinaryOpType op) {
    using T = float;
    using enum BinaryOpType;
    static const Loops<BinaryOpType> loops{
        {ADD, loop2<T>([](T a, T b) { return a + b; })},
        {SUBTRACT, loop2<T>([](T a, T b) { return a - b; })},
        {MULTIPLY, loop2<T>([](T a, T b) { return a * b; })},
        {DIVIDE, loop2<T>([](T a, T b) { return a / b; })},
        {REMAINDER, loop2<T>([](T a, T b) { return std::fmod(a, b); })},
        {VARIANCE_TO_INV_STD_DEV, loop2<T>([](T a, T b) { return 1.0f / std::sqrt(a + b); })},
        {INV_STD_DEV_TO_VARIANCE, loop2<T>([](T a, T b) { return 1.0f / (a * a) - b; })},
    };
    const WordLoop loop = find(loops, op);
    return loop != nullptr ? loop : comparison<T>(op);
}

/// Arithmetic wraps around, as the device's does; shifts by 32 or more give 0.
template <class T> WordLoop integer_binary(BinaryOpType op) {
    using U = std::uint32_t;
    using enum BinaryOpType;
    static const Loops<BinaryOpType> loops{
        {ADD, loop2<U>([](U a, U b) { return a + b; })},
        {SUBTRACT, loop2<U>([](U a, U b) { return a - b; })},
        {MULTIPLY, loop2<U>([](U a, U b) { return a * b; })},
        {DIVIDE, loop2<T>([](T a, T b) { return static_cast<T>(b == T{} ? std::int64_t{0} : std::int64_t{a} / b); })},
        {REMAINDER,
         loop2<T>([](T a, T b) { return static_cast<T>(b == T{} ? std::int64_t{0} : std::int64_t{a} % b); })},
        {BITWISE_XOR, loop2<U>([](U a, U b) { return a ^ b; })},
        {SHIFT_RIGHT, loop2<U>([](U a, U b) { return b < 32 ? a >> b : 0u; })},
    };
    const WordLoop loop = find(loops, op);
    return loop != nullptr ? loop : comparison<T>(op);
}

WordLoop bool_binary(BinaryOpType op) {
    using enum BinaryOpType;
    static const Loops<BinaryOpType> loops{
        {LOGICAL_AND, loop2<bool>([](bool a, bool b) { return a && b; })},
        {LOGICAL_OR, loop2<bool>([](bool a, bool b) { return a || b; })},
        {BITWISE_XOR, loop2<bool>([](bool a, bool b) { return a != b; })},
        {NOT_EQUAL, loop2<bool>([](bool a, bool b) { return a != b; })},
        {EQUAL, loop2<bool>([](bool a, bool b) { return a == b; })},
    };
    return find(loops, op);
}

}  // namespace

WordLoop unary_loop(UnaryOpType op, poplar::Type type) {
    if (type.isFloatingPoint()) return float_unary(op);
    if (type == poplar::INT) return integer_unary<std::int32_t>(op);
    if (type == poplar::UNSIGNED_INT) return integer_unary<std::uint32_t>(op);
    if (type == poplar::BOOL && op == UnaryOpType::LOGICAL_NOT) return loop1<bool>([](bool x) { return !x; });
    return nullptr;
}

WordLoop binary_loop(BinaryOpType op, poplar::Type type) {
    if (type.isFloatingPoint()) return float_binary(op);
    if (type == poplar::INT) return integer_binary<std::int32_t>(op);
    if (type == poplar::UNSIGNED_INT) return integer_binary<std::uint32_t>(op);
    if (type == poplar::BOOL) return bool_binary(op);
    return nullptr;
}

WordLoop cast_loop(poplar::Type from, poplar::Type to) {
    const bool from_float = from.isFloatingPoint();
    if (to.isFloatingPoint() && from_float) return loop1<float>([](float x) { return x; });
    if (to.isFloatingPoint() && from == poplar::UNSIGNED_INT)
        return loop1<std::uint32_t>([](std::uint32_t x) { return static_cast<float>(x); });
    if (to.isFloatingPoint()) return loop1<std::int32_t>([](std::int32_t x) { return static_cast<float>(x); });
    if (to == poplar::BOOL && from_float) return loop1<float>([](float x) { return x != 0.0f; });
    if (to == poplar::BOOL) return loop1<std::int32_t>([](std::int32_t x) { return x != 0; });
    if (to == poplar::UNSIGNED_INT && from_float)
        return loop1<float>([](float x) { return to_integer<std::uint32_t>(x); });
    if (to == poplar::INT && from_float) return loop1<float>([](float x) { return to_integer<std::int32_t>(x); });
    if (to == poplar::INT || to == poplar::UNSIGNED_INT) return loop1<std::int32_t>([](std::int32_t x) { return x; });
    return nullptr;
}

}  // namespace ipu_emulator
