// Arrays of elements of any type.
#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Type.hpp>

namespace ipu_emulator {

/// `count` values of the type `from` (1: the same for all) as `elements` elements of the type `to`; to half they are
/// rounded to nearest-even.
std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements);

}  // namespace ipu_emulator
