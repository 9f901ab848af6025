// Elements of any type: how memory holds them, and how they are converted.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <poplar/Type.hpp>

#include "ipu_emulator/numerics/half.h"

namespace ipu_emulator {

// Kinds of floats, distinguished by their bits: comparisons of NaN would be invalid operations.
constexpr std::uint32_t kInfinityBits = 0x7f800000;
inline std::uint32_t magnitude_bits(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

/// An element of HALF.
struct Half {
    std::uint16_t bits;
};
/// An element of BOOL: any byte that is not 0 is true.
struct Truth {
    std::uint8_t byte;
};

/// Calls f with an element of the type, as memory holds it.
template <class F> auto with_element(TypeId id, F f) {
    switch (id) {
        case TypeId::boolean:
            return f(Truth{});
        case TypeId::unsigned_char:
            return f(std::uint8_t{});
        case TypeId::short_integer:
            return f(std::int16_t{});
        case TypeId::unsigned_short:
            return f(std::uint16_t{});
        case TypeId::half:
            return f(Half{});
        case TypeId::integer:
            return f(std::int32_t{});
        case TypeId::unsigned_integer:
            return f(std::uint32_t{});
        case TypeId::single:
            return f(float{});
        case TypeId::long_long:
            return f(std::int64_t{});
        case TypeId::unsigned_long_long:
            return f(std::uint64_t{});
        case TypeId::character:
        case TypeId::signed_char:
            break;
    }
    return f(std::int8_t{});
}

/// Rounds towards zero. Beyond the range it gives the ends of the range; NaN gives 0.
template <class T> T to_integer(float x) {
    constexpr float kEnd = static_cast<float>(std::numeric_limits<T>::max() / 2 + 1) * 2;
    if (std::isnan(x)) return 0;
    if (x >= kEnd) return std::numeric_limits<T>::max();
    if (x <= static_cast<float>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    return static_cast<T>(x);
}

/// `value` as a cast converts it: to half nearest-even, from floats by to_integer() of 32 bits at least; integers keep
/// their lower bits.
template <class To, class From> To converted(From value) {
    if constexpr (std::is_same_v<From, Half>) {
        return converted<To>(half_value(value.bits));
    } else if constexpr (std::is_same_v<From, Truth>) {
        return converted<To>(value.byte != 0 ? 1 : 0);
    } else if constexpr (std::is_same_v<To, Half>) {
        return {ieee_half(static_cast<float>(value))};
    } else if constexpr (std::is_same_v<To, Truth>) {
        return {value != From{} ? std::uint8_t{1} : std::uint8_t{0}};
    } else if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
        using Wide = std::conditional_t<sizeof(To) < 4, std::int32_t, To>;
        return static_cast<To>(to_integer<Wide>(value));
    } else {
        return static_cast<To>(value);
    }
}

/// `count` values of the type `from` (1: the same for all) as `elements` elements of the type `to`; to half they are
/// rounded to nearest-even.
std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements);

}  // namespace ipu_emulator
