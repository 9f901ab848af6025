// Combination of elements in reductions and collectives. Integers wrap around.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include <popops/Operation.hpp>

namespace ipu_emulator {

/// The total of no elements.
template <class T> T neutral(popops::Operation op) {
    if (op != popops::Operation::MAX) return T{0};
    if constexpr (std::is_same_v<T, float>) return -std::numeric_limits<float>::infinity();
    return std::numeric_limits<T>::lowest();
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
        case Operation::MAX:
            return f([](T a, T x) { return a < x ? x : a; });
        case Operation::SQUARE_ADD:
            return f([](T a, T x) { return plus(a, times(x, x)); });
    }
}

}  // namespace ipu_emulator
