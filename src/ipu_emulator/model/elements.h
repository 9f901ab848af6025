// Arrays of elements of any type.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <poplar/Type.hpp>

namespace ipu_emulator {

// Kinds of floats, told by their bits: comparisons of NaN would be invalid operations.
constexpr std::uint32_t kInfinityBits = 0x7f800000;
inline std::uint32_t magnitude_bits(float x) {
    return std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
}

/// `count` values of the type `from` (1: the same for all) as `elements` elements of the type `to`; to half they are
/// rounded to nearest-even.
std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements);

}  // namespace ipu_emulator
