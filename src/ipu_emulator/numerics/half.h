// Conversion between binary32 and IEEE binary16 (1 sign, 5 exponent, 10 mantissa bits; subnormals kept).
#pragma once

#include <immintrin.h>

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

// Rounding to binary16 in AVX2 registers, shared by conversions and products. Include only from functions that are
// compiled for AVX2, FMA and F16C.

#define IPU_EMULATOR_AVX2 __attribute__((target("avx2,fma,f16c")))

namespace ipu_emulator::lanes {

constexpr int kAbsolute = 0x7fffffff;
constexpr int kSmallestNormalHalf = 0x38800000;    // 2^-14 as binary32
constexpr int kFirstNearestOverflow = 0x477ff000;  // 65520
constexpr int kFirstPower = 0x47800000;            // 65536
constexpr int kInfinity = 0x7f800000;

/// Values for lanes in which |value| overflowed. NaN lanes of `value` stay.
IPU_EMULATOR_AVX2 inline __m256 overflowed(__m256 value, Overflow overflow) {
    const __m256 limit = _mm256_set1_ps(overflow == Overflow::nan ? __builtin_nanf("") : 65504.0f);
    const __m256 sign = _mm256_and_ps(value, _mm256_set1_ps(-0.0f));
    const __m256 replaced = _mm256_or_ps(sign, limit);
    return _mm256_blendv_ps(replaced, value, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

/// `rounded` is what conversion gave; lanes at or beyond `first` (binary32 bits) are replaced.
IPU_EMULATOR_AVX2 inline __m256 replace_overflow(__m256 value, __m256 rounded, __m256i magnitude, int first,
                                                 Overflow overflow) {
    const __m256i beyond = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(first - 1));
    return _mm256_blendv_ps(rounded, overflowed(value, overflow), _mm256_castsi256_ps(beyond));
}

IPU_EMULATOR_AVX2 inline __m256 nearest_any(__m256 value, Overflow overflow) {
    const __m256 rounded = _mm256_cvtph_ps(_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(kAbsolute));
    return replace_overflow(value, rounded, magnitude, kFirstNearestOverflow, overflow);
}

/// Rounds lanes whose results are 0 or normal and do not overflow: adds 13 random bits, then truncates.
IPU_EMULATOR_AVX2 inline __m256 stochastic_normal(__m256 value, __m256i random13) {
    const __m256i sum = _mm256_add_epi32(_mm256_castps_si256(value), random13);
    return _mm256_castsi256_ps(_mm256_and_si256(sum, _mm256_set1_epi32(~0x1fff)));
}

/// Rounds the lanes of the mask `below`, which are below 2^-14: takes an integer of units of 2^-45 and cuts off 21
/// bits. The other lanes are 0 here, lest their conversion be an invalid operation.
IPU_EMULATOR_AVX2 inline __m256 stochastic_subnormal(__m256 value, __m256 below, __m256i random) {
    const __m256 sign = _mm256_and_ps(value, _mm256_set1_ps(-0.0f));
    const __m256 magnitude = _mm256_and_ps(below, _mm256_andnot_ps(_mm256_set1_ps(-0.0f), value));
    const __m256i units = _mm256_cvttps_epi32(_mm256_mul_ps(magnitude, _mm256_set1_ps(0x1p45f)));
    const __m256i sum = _mm256_add_epi32(units, _mm256_and_si256(random, _mm256_set1_epi32(0x1fffff)));
    const __m256 rounded = _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(sum, 21)), _mm256_set1_ps(0x1p-24f));
    return _mm256_or_ps(rounded, sign);
}

/// The scalar stochastic_half() in each lane.
IPU_EMULATOR_AVX2 inline __m256 stochastic_any(__m256 value, __m256i random, Overflow overflow) {
    const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(kAbsolute));
    const __m256i random13 = _mm256_and_si256(random, _mm256_set1_epi32(0x1fff));
    const __m256 normal = stochastic_normal(value, random13);
    const __m256 below = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(kSmallestNormalHalf), magnitude));
    const __m256 rounded = _mm256_blendv_ps(normal, stochastic_subnormal(value, below, random), below);
    return replace_overflow(value, rounded, _mm256_add_epi32(magnitude, random13), kFirstPower, overflow);
}

}  // namespace ipu_emulator::lanes
