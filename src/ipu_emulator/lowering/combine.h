// Combination of elements in reductions and collectives. Integers wrap around.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <popops/Operation.hpp>

namespace ipu_emulator {

/// The total of no elements.
template <class T> T neutral(popops::Operation op) {
    constexpr T kLow = std::is_same_v<T, float> ? static_cast<T>(-std::numeric_limits<float>::infinity())
                                                : std::numeric_limits<T>::lowest();
    constexpr T kHigh = std::is_same_v<T, float> ? static_cast<T>(std::numeric_limits<float>::infinity())
                                                 : std::numeric_limits<T>::max();
    using popops::Operation;
    switch (op) {
        case Operation::MUL:
        case Operation::LOGICAL_AND:
            return T{1};
        case Operation::MIN:
            return kHigh;
        case Operation::MAX:
        case Operation::LOG_ADD:
            return kLow;
        default:
            return T{0};
    }
}

template <class T> T log_add(T a, T b) {
    if constexpr (!std::is_same_v<T, float>) return a;
    const T high = a > b ? a : b;
    if (high == neutral<T>(popops::Operation::LOG_ADD)) return high;
    return static_cast<T>(static_cast<float>(high) + std::log1p(std::exp(-std::fabs(static_cast<float>(a - b)))));
}

template <class T> T plus(T a, T b) {
    if constexpr (std::is_same_v<T, float>) return a + b;
    return static_cast<T>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

template <class T> T times(T a, T b) {
    if constexpr (std::is_same_v<T, float>) return a * b;
    return static_cast<T>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b));
}

/// Calls f with the function that combines a total with an element.
template <class T, class F> void with_combination(popops::Operation op, F f) {
    using popops::Operation;
    switch (op) {
        case Operation::ADD:
            return f([](T a, T x) { return plus(a, x); });
        case Operation::MUL:
            return f([](T a, T x) { return times(a, x); });
        case Operation::MIN:
            return f([](T a, T x) { return x < a ? x : a; });
        case Operation::MAX:
            return f([](T a, T x) { return a < x ? x : a; });
        case Operation::LOGICAL_AND:
            return f([](T a, T x) { return static_cast<T>(a != T{0} && x != T{0}); });
        case Operation::LOGICAL_OR:
            return f([](T a, T x) { return static_cast<T>(a != T{0} || x != T{0}); });
        case Operation::SQUARE_ADD:
            return f([](T a, T x) { return plus(a, times(x, x)); });
        case Operation::LOG_ADD:
            return f([](T a, T x) { return log_add(a, x); });
    }
}

}  // namespace ipu_emulator
