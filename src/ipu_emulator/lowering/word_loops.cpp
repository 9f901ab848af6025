// The loops of formulas, one for each operation and kind of type.
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ipu_emulator/lowering/expression.h"
#include "ipu_emulator/model/elements.h"

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

/// exp() of nothing above 0: it never overflows.
constexpr auto sigmoid = [](float x) {
    const float e = std::exp(-std::fabs(x));
    return (x >= 0.0f ? 1.0f : e) / (1.0f + e);
};

WordLoop float_unary(UnaryOpType op) {
    using T = float;
    switch (op) {
        case UnaryOpType::ABSOLUTE:
            return loop1<T>([](T x) { return std::fabs(x); });
        case UnaryOpType::ASIN:
            return loop1<T>([](T x) { return std::asin(x); });
        case UnaryOpType::CBRT:
            return loop1<T>([](T x) { return std::cbrt(x); });
        case UnaryOpType::CEIL:
            return loop1<T>([](T x) { return std::ceil(x); });
        case UnaryOpType::COS:
            return loop1<T>([](T x) { return std::cos(x); });
        case UnaryOpType::ERF:
            return loop1<T>([](T x) { return std::erf(x); });
        case UnaryOpType::EXPONENT:
            return loop1<T>([](T x) { return std::exp(x); });
        case UnaryOpType::EXPONENT2:
            return loop1<T>([](T x) { return std::exp2(x); });
        case UnaryOpType::EXPONENT_MINUS_ONE:
            return loop1<T>([](T x) { return std::expm1(x); });
        case UnaryOpType::FLOOR:
            return loop1<T>([](T x) { return std::floor(x); });
        case UnaryOpType::GELU_ERF:
            return loop1<T>([](T x) { return 0.5f * x * (1.0f + std::erf(x * 0.70710678f)); });
        case UnaryOpType::INVERSE:
            return loop1<T>([](T x) { return 1.0f / x; });
        case UnaryOpType::IS_FINITE:
            return loop1<T>([](T x) { return magnitude_bits(x) < kInfinityBits; });
        case UnaryOpType::IS_INF:
            return loop1<T>([](T x) { return magnitude_bits(x) == kInfinityBits; });
        case UnaryOpType::IS_NAN:
            return loop1<T>([](T x) { return magnitude_bits(x) > kInfinityBits; });
        case UnaryOpType::LOGARITHM:
            return loop1<T>([](T x) { return std::log(x); });
        case UnaryOpType::LOGARITHM_ONE_PLUS:
            return loop1<T>([](T x) { return std::log1p(x); });
        case UnaryOpType::NEGATE:
            return loop1<T>([](T x) { return -x; });
        case UnaryOpType::NEARBY_INT:
            return loop1<T>([](T x) { return std::nearbyint(x); });
        case UnaryOpType::RELU:
            return loop1<T>([](T x) { return x < 0.0f ? 0.0f : x; });
        case UnaryOpType::ROUND:
            return loop1<T>([](T x) { return std::round(x); });
        case UnaryOpType::RSQRT:
            return loop1<T>([](T x) { return 1.0f / std::sqrt(x); });
        case UnaryOpType::SIGMOID:
            return loop1<T>(sigmoid);
        case UnaryOpType::SIGNUM:
            return loop1<T>([](T x) { return static_cast<T>((x > 0.0f) - (x < 0.0f)); });
        case UnaryOpType::SIN:
            return loop1<T>([](T x) { return std::sin(x); });
        case UnaryOpType::SQRT:
            return loop1<T>([](T x) { return std::sqrt(x); });
        case UnaryOpType::SQUARE:
            return loop1<T>([](T x) { return x * x; });
        case UnaryOpType::TAN:
            return loop1<T>([](T x) { return std::tan(x); });
        case UnaryOpType::TANH:
            return loop1<T>([](T x) { return std::tanh(x); });
        case UnaryOpType::TRUNC:
            return loop1<T>([](T x) { return std::trunc(x); });
        default:
            return nullptr;
    }
}

template <class T> WordLoop integer_unary(UnaryOpType op) {
    switch (op) {
        case UnaryOpType::ABSOLUTE:
            return loop1<T>([](T x) { return x < T{} ? static_cast<T>(0u - static_cast<std::uint32_t>(x)) : x; });
        case UnaryOpType::BITWISE_NOT:
            return loop1<T>([](T x) { return static_cast<T>(~x); });
        case UnaryOpType::COUNT_LEADING_ZEROS:
            return loop1<T>([](T x) { return static_cast<T>(std::countl_zero(static_cast<std::uint32_t>(x))); });
        case UnaryOpType::NEGATE:
            return loop1<T>([](T x) { return static_cast<T>(0u - static_cast<std::uint32_t>(x)); });
        case UnaryOpType::POPCOUNT:
            return loop1<T>([](T x) { return static_cast<T>(std::popcount(static_cast<std::uint32_t>(x))); });
        case UnaryOpType::RELU:
            return loop1<T>([](T x) { return x < T{} ? T{} : x; });
        case UnaryOpType::SIGNUM:
            return loop1<T>([](T x) { return static_cast<T>((x > T{}) - (x < T{})); });
        case UnaryOpType::SQUARE:
            return loop1<T>(
                [](T x) { return static_cast<T>(static_cast<std::uint32_t>(x) * static_cast<std::uint32_t>(x)); });
        default:
            return nullptr;
    }
}

template <class T> WordLoop comparison(BinaryOpType op) {
    switch (op) {
        case BinaryOpType::EQUAL:
            return loop2<T>([](T a, T b) { return a == b; });
        case BinaryOpType::NOT_EQUAL:
            return loop2<T>([](T a, T b) { return a != b; });
        case BinaryOpType::GREATER_THAN:
            return loop2<T>([](T a, T b) { return a > b; });
        case BinaryOpType::GREATER_THAN_EQUAL:
            return loop2<T>([](T a, T b) { return a >= b; });
        case BinaryOpType::LESS_THAN:
            return loop2<T>([](T a, T b) { return a < b; });
        case BinaryOpType::LESS_THAN_EQUAL:
            return loop2<T>([](T a, T b) { return a <= b; });
        case BinaryOpType::MAXIMUM:
            return loop2<T>([](T a, T b) { return a < b ? b : a; });
        case BinaryOpType::MINIMUM:
            return loop2<T>([](T a, T b) { return b < a ? b : a; });
        default:
            return nullptr;
    }
}

WordLoop float_binary(BinaryOpType op) {
    using T = float;
    switch (op) {
        case BinaryOpType::ADD:
            return loop2<T>([](T a, T b) { return a + b; });
        case BinaryOpType::SUBTRACT:
            return loop2<T>([](T a, T b) { return a - b; });
        case BinaryOpType::MULTIPLY:
            return loop2<T>([](T a, T b) { return a * b; });
        case BinaryOpType::DIVIDE:
            return loop2<T>([](T a, T b) { return a / b; });
        case BinaryOpType::ATAN2:
            return loop2<T>([](T a, T b) { return std::atan2(a, b); });
        case BinaryOpType::POWER:
            return loop2<T>([](T a, T b) { return std::pow(a, b); });
        case BinaryOpType::REMAINDER:
            return loop2<T>([](T a, T b) { return std::fmod(a, b); });
        case BinaryOpType::VARIANCE_TO_INV_STD_DEV:
            return loop2<T>([](T a, T b) { return 1.0f / std::sqrt(a + b); });
        case BinaryOpType::INV_STD_DEV_TO_VARIANCE:
            return loop2<T>([](T a, T b) { return 1.0f / (a * a) - b; });
        default:
            return comparison<T>(op);
    }
}

/// Arithmetic wraps around, as the device's does; shifts by 32 or more give 0 (or the sign).
template <class T> WordLoop integer_binary(BinaryOpType op) {
    using U = std::uint32_t;
    using S = std::int32_t;
    switch (op) {
        case BinaryOpType::ADD:
            return loop2<U>([](U a, U b) { return a + b; });
        case BinaryOpType::SUBTRACT:
            return loop2<U>([](U a, U b) { return a - b; });
        case BinaryOpType::MULTIPLY:
            return loop2<U>([](U a, U b) { return a * b; });
        case BinaryOpType::DIVIDE:
            return loop2<T>([](T a, T b) { return static_cast<T>(b == T{} ? std::int64_t{0} : std::int64_t{a} / b); });
        case BinaryOpType::REMAINDER:
            return loop2<T>([](T a, T b) { return static_cast<T>(b == T{} ? std::int64_t{0} : std::int64_t{a} % b); });
        case BinaryOpType::BITWISE_AND:
            return loop2<U>([](U a, U b) { return a & b; });
        case BinaryOpType::BITWISE_OR:
            return loop2<U>([](U a, U b) { return a | b; });
        case BinaryOpType::BITWISE_XOR:
            return loop2<U>([](U a, U b) { return a ^ b; });
        case BinaryOpType::BITWISE_XNOR:
            return loop2<U>([](U a, U b) { return ~(a ^ b); });
        case BinaryOpType::SHIFT_LEFT:
            return loop2<U>([](U a, U b) { return b < 32 ? a << b : 0u; });
        case BinaryOpType::SHIFT_RIGHT:
            return loop2<U>([](U a, U b) { return b < 32 ? a >> b : 0u; });
        case BinaryOpType::SHIFT_RIGHT_SIGN_EXTEND:
            return loop2<S>([](S a, S b) { return a >> (static_cast<U>(b) < 32 ? b : 31); });
        default:
            return comparison<T>(op);
    }
}

WordLoop bool_binary(BinaryOpType op) {
    switch (op) {
        case BinaryOpType::LOGICAL_AND:
        case BinaryOpType::BITWISE_AND:
            return loop2<bool>([](bool a, bool b) { return a && b; });
        case BinaryOpType::LOGICAL_OR:
        case BinaryOpType::BITWISE_OR:
            return loop2<bool>([](bool a, bool b) { return a || b; });
        case BinaryOpType::BITWISE_XOR:
        case BinaryOpType::NOT_EQUAL:
            return loop2<bool>([](bool a, bool b) { return a != b; });
        case BinaryOpType::BITWISE_XNOR:
        case BinaryOpType::EQUAL:
            return loop2<bool>([](bool a, bool b) { return a == b; });
        default:
            return nullptr;
    }
}

/// Towards zero; at the ends of the range beyond it; NaN gives 0.
template <class T> T to_integer(float x) {
    if (std::isnan(x)) return 0;
    const auto wide = static_cast<std::int64_t>(std::fmax(-0x1p40f, std::fmin(0x1p40f, x)));
    if (wide < std::int64_t{std::numeric_limits<T>::min()}) return std::numeric_limits<T>::min();
    if (wide > std::int64_t{std::numeric_limits<T>::max()}) return std::numeric_limits<T>::max();
    return static_cast<T>(wide);
}

}  // namespace

WordLoop unary_loop(UnaryOpType op, poplar::Type type) {
    if (type.isFloatingPoint()) return float_unary(op);
    if (type == poplar::INT) return integer_unary<std::int32_t>(op);
    if (type == poplar::UNSIGNED_INT) return integer_unary<std::uint32_t>(op);
    const bool negates = op == UnaryOpType::LOGICAL_NOT || op == UnaryOpType::BITWISE_NOT;
    if (type == poplar::BOOL && negates) return loop1<bool>([](bool x) { return !x; });
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
