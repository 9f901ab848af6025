#include "ipu_emulator/numerics/half.h"

#include <atomic>
#include <bit>
#include <cmath>

#if defined(__x86_64__)
#endif

namespace ipu_emulator {
namespace {

constexpr std::uint16_t kQuietNan = 0x7e00;
constexpr std::uint16_t kLargest = 0x7bff;
constexpr std::uint16_t kInfinite = 0x7c00;

std::atomic<bool> plain_code{false};

std::uint16_t overflowed_half(std::uint16_t sign, Overflow overflow) {
    return static_cast<std::uint16_t>(sign | (overflow == Overflow::nan ? kQuietNan : kLargest));
}

std::uint16_t sign_of(float value) {
    return static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(value) >> 16) & 0x8000);
}

/// Magnitude of at most 65536 whose bits below the half's mantissa do not count.
std::uint16_t truncated_half(std::uint32_t magnitude) {
    return static_cast<std::uint16_t>((magnitude - (112u << 23)) >> 13);
}

}  // namespace

float half_value(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f;
    const std::uint32_t mantissa = bits & 0x3ff;
    if (exponent == 0) {
        const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
    }
    if (exponent == 31) {
        const std::uint32_t quiet = mantissa != 0 ? 0x400000u : 0u;
        return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t ieee_half(float value) {
    const std::uint16_t sign = sign_of(value);
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
    if (magnitude > 0x7f800000) {  // NaN keeps the upper bits of its payload, as F16C does
        return static_cast<std::uint16_t>(sign | kQuietNan | ((magnitude >> 13) & 0x3ff));
    }
    if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | kInfinite);
    if (magnitude >= 0x38800000) {
        const std::uint32_t odd = (magnitude >> 13) & 1;
        return static_cast<std::uint16_t>(sign | truncated_half(magnitude + 0xfff + odd));
    }
    // Adding 0.5 leaves units of 2^-24 in the last place of a binary32, rounded to nearest-even by the addition.
    const float shifted = std::fabs(value) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000));
}

std::uint16_t nearest_half(float value, Overflow overflow) {
    const std::uint16_t half = ieee_half(value);
    if ((half & 0x7fff) != kInfinite) return half;
    return overflowed_half(static_cast<std::uint16_t>(half & 0x8000), overflow);
}

std::uint16_t stochastic_half(float value, std::uint32_t random, Overflow overflow) {
    const std::uint16_t sign = sign_of(value);
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7fffffff;
    if (magnitude > 0x7f800000) return ieee_half(value);
    if (magnitude >= 0x38800000) {
        const std::uint32_t sum = magnitude + (random & 0x1fff);
        if (sum >= 0x47800000) return overflowed_half(sign, overflow);
        return static_cast<std::uint16_t>(sign | truncated_half(sum));
    }
    const auto units = static_cast<std::uint32_t>(std::fabs(value) * 0x1p45f);
    return static_cast<std::uint16_t>(sign | ((units + (random & 0x1fffff)) >> 21));
}

bool has_vectors() {
#if defined(__x86_64__)
    // Every processor with AVX2 has F16C, whose name some compilers do not know here.
    static const bool present = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return present && !plain_code.load(std::memory_order_relaxed);
#else
    return false;
#endif
}

void use_plain_code(bool plain) {
    plain_code = plain;
}

#if defined(__x86_64__)
namespace {

IPU_EMULATOR_AVX2 std::size_t to_floats_avx2(const std::uint16_t* halves, float* floats, std::size_t count) {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const auto* from = reinterpret_cast<const __m128i*>(halves + i);
        _mm256_storeu_ps(floats + i, _mm256_cvtph_ps(_mm_loadu_si128(from)));
    }
    return i;
}

/// Stores the eight halves that `rounded` holds exactly.
IPU_EMULATOR_AVX2 void store_halves(std::uint16_t* to, __m256 rounded) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(rounded, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

IPU_EMULATOR_AVX2 bool any_set(__m256i mask) {
    return _mm256_movemask_epi8(mask) != 0;
}

/// Lanes that overflow, but not NaN lanes.
IPU_EMULATOR_AVX2 __m256i beyond_range(__m256i magnitude, __m256i rounded_up, int first) {
    const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(lanes::kInfinity));
    return _mm256_andnot_si256(nan, _mm256_cmpgt_epi32(rounded_up, _mm256_set1_epi32(first - 1)));
}

IPU_EMULATOR_AVX2 std::size_t nearest_avx2(const float* floats, std::uint16_t* halves, std::size_t count,
                                           Overflow overflow, bool& overflowed) {
    std::size_t i = 0;
    __m256i beyond = _mm256_setzero_si256();
    for (; i + 8 <= count; i += 8) {
        const __m256 value = _mm256_loadu_ps(floats + i);
        const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(lanes::kAbsolute));
        beyond = _mm256_or_si256(beyond, beyond_range(magnitude, magnitude, lanes::kFirstNearestOverflow));
        store_halves(halves + i, lanes::nearest_any(value, overflow));
    }
    overflowed = any_set(beyond);
    return i;
}

IPU_EMULATOR_AVX2 __m256i element_bits_avx2(std::uint64_t key, __m256i index) {
    __m256i x = _mm256_add_epi32(_mm256_mullo_epi32(index, _mm256_set1_epi32(static_cast<int>(0x9e3779b1u))),
                                 _mm256_set1_epi32(static_cast<int>(key)));
    x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 16)), _mm256_set1_epi32(0x7feb352d));
    x = _mm256_xor_si256(x, _mm256_set1_epi32(static_cast<int>(key >> 32)));
    x = _mm256_mullo_epi32(_mm256_xor_si256(x, _mm256_srli_epi32(x, 15)),
                           _mm256_set1_epi32(static_cast<int>(0x846ca68bu)));
    return _mm256_xor_si256(x, _mm256_srli_epi32(x, 16));
}

IPU_EMULATOR_AVX2 std::size_t stochastic_avx2(const float* floats, std::uint16_t* halves, std::size_t count,
                                              Overflow overflow, std::uint64_t key, std::size_t first,
                                              bool& overflowed) {
    std::size_t i = 0;
    __m256i beyond = _mm256_setzero_si256();
    __m256i index =
        _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(first)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    for (; i + 8 <= count; i += 8) {
        const __m256 value = _mm256_loadu_ps(floats + i);
        const __m256i random = element_bits_avx2(key, index);
        const __m256i magnitude = _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(lanes::kAbsolute));
        const __m256i sum = _mm256_add_epi32(magnitude, _mm256_and_si256(random, _mm256_set1_epi32(0x1fff)));
        beyond = _mm256_or_si256(beyond, beyond_range(magnitude, sum, lanes::kFirstPower));
        store_halves(halves + i, lanes::stochastic_any(value, random, overflow));
        index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
    overflowed = any_set(beyond);
    return i;
}

}  // namespace
#endif

void to_floats(const std::uint16_t* halves, float* floats, std::size_t count) {
    std::size_t i = 0;
#if defined(__x86_64__)
    if (has_vectors()) i = to_floats_avx2(halves, floats, count);
#endif
    for (; i < count; ++i)
        floats[i] = half_value(halves[i]);
}

bool to_nearest_halves(const float* floats, std::uint16_t* halves, std::size_t count, Overflow overflow) {
    std::size_t i = 0;
    bool overflowed = false;
#if defined(__x86_64__)
    if (has_vectors()) i = nearest_avx2(floats, halves, count, overflow, overflowed);
#endif
    for (; i < count; ++i) {
        halves[i] = nearest_half(floats[i], overflow);
        overflowed |= std::fabs(floats[i]) >= 65520.0f;
    }
    return overflowed;
}

bool to_stochastic_halves(const float* floats, std::uint16_t* halves, std::size_t count, Overflow overflow,
                          std::uint64_t key, std::size_t first) {
    std::size_t i = 0;
    bool overflowed = false;
#if defined(__x86_64__)
    if (has_vectors()) i = stochastic_avx2(floats, halves, count, overflow, key, first, overflowed);
#endif
    for (; i < count; ++i) {
        const std::uint32_t random = element_bits(key, static_cast<std::uint32_t>(first + i));
        halves[i] = stochastic_half(floats[i], random, overflow);
        const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(floats[i]) & 0x7fffffff;
        overflowed |= magnitude <= 0x7f800000 && magnitude + (random & 0x1fff) >= 0x47800000;
    }
    return overflowed;
}

}  // namespace ipu_emulator
