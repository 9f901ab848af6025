// Conversion between binary32 and IEEE binary16 (1 sign, 5 exponent, 10 mantissa bits; subnormals kept).
#pragma once

#include <cstddef>
#include <cstdint>

namespace ipu_emulator {

/// The result of a rounding beyond 65504: 65504 or NaN.
enum class Overflow : bool { saturate, nan };

/// `value` of the binary16 `bits`; exact.
float half_value(std::uint16_t bits);

/// Nearest-even. Results beyond the range are infinite, as IEEE 754 has it.
std::uint16_t ieee_half(float value);

/// Nearest-even, overflow as the tile does it. NaN stays NaN.
std::uint16_t nearest_half(float value, Overflow overflow);

/// The neighbour away from zero with the probability (|value| - |lower|) / (|upper| - |lower|) for uniform `random`
/// bits: as many random bits as the mantissa loses are added below it, then they are cut off. Below 2^-14 the 21 bits
/// under the last place of a subnormal decide.
std::uint16_t stochastic_half(float value, std::uint32_t random, Overflow overflow);

/// Uniform bits of element `index` under `key`.
inline std::uint32_t element_bits(std::uint64_t key, std::uint32_t index) {
    std::uint32_t x = index * 0x9e3779b1u + static_cast<std::uint32_t>(key);
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x ^= static_cast<std::uint32_t>(key >> 32);
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// The same for many elements, with AVX2 and F16C where the processor has them: the bits never depend on it.
void to_floats(const std::uint16_t* halves, float* floats, std::size_t count);
/// Returns whether a value overflowed.
bool to_nearest_halves(const float* floats, std::uint16_t* halves, std::size_t count, Overflow overflow);
/// Element i rounds with element_bits(key, first + i).
bool to_stochastic_halves(const float* floats, std::uint16_t* halves, std::size_t count, Overflow overflow,
                          std::uint64_t key, std::size_t first);

/// True where AVX2, FMA and F16C exist and nobody has asked for the plain code.
bool has_vectors();
/// Selects the plain code instead of the vectorised one, so that tests can compare them.
void use_plain_code(bool plain);

}  // namespace ipu_emulator
