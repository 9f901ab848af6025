#include "ipu_emulator/numerics/product.h"

#include <cmath>

#include "ipu_emulator/numerics/random.h"

#if defined(__x86_64__)
#include "ipu_emulator/numerics/half.h"
#endif

namespace ipu_emulator {
namespace {

/// Left operands of a group: value(r, k). A class of its own for each layout, so that kernels are compiled for it.
struct ByRow {
    const float* const* a;
    std::size_t stride;
    const float* zeros;

    bool all_zero(std::size_t rows) const {
        for (std::size_t r = 0; r < rows; ++r)
            if (a[r * stride] != zeros) return false;
        return true;
    }
    const float* at(std::size_t r, std::size_t k) const { return a[r * stride] + k; }
    void advance(std::size_t) { ++a; }
};

struct ByDepth {
    const float* const* a;
    std::size_t offset;

    bool all_zero(std::size_t) const { return false; }
    const float* at(std::size_t r, std::size_t k) const { return a[k] + offset + r; }
    void advance(std::size_t length) { a += length; }
};

/// Random bits of the eight lanes of half a row: one step serves two sums, by its lower and its upper bits.
struct LaneState {
    std::uint32_t words[8];
};

LaneState seeded_lanes(std::uint64_t key) {
    LaneState state;
    for (unsigned lane = 0; lane < 8; lane += 2) {
        const std::uint64_t bits = mix(key, lane);
        state.words[lane] = static_cast<std::uint32_t>(bits) | 1;
        state.words[lane + 1] = static_cast<std::uint32_t>(bits >> 32) | 1;
    }
    return state;
}

std::uint32_t next_bits(std::uint32_t& word) {
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
    return word;
}

/// The random bits of the second of two sums: the bits of the first with other bits in the lowest places.
std::uint32_t swapped(std::uint32_t bits) {
    return (bits >> 16) | (bits << 16);
}

float rounded(float value, std::uint32_t random, const ProductRounding& rounding, bool& overflowed) {
    if (rounding.partials == PartialRounding::none) return value;
    const bool stochastic = rounding.partials == PartialRounding::stochastic;
    const float result = half_value(stochastic ? stochastic_half(value, random, rounding.overflow)
                                               : nearest_half(value, rounding.overflow));
    overflowed |= std::isnan(result) || std::fabs(value) > 65504.0f;
    return result;
}

template <class Source>
bool add_products_plain(Source source, const float* b, Depth depth, SumBlock block, const ProductRounding& rounding) {
    LaneState lanes = seeded_lanes(rounding.key);
    const bool stochastic = rounding.partials == PartialRounding::stochastic;
    bool overflowed = false;
    for (std::size_t group = 0; group < depth.groups; ++group) {
        const bool skip = source.all_zero(block.rows);
        for (std::size_t r = 0; r < kRows && !skip; ++r) {
            std::uint32_t bits[8] = {};
            for (std::size_t j = 0; stochastic && j < 8; ++j)
                bits[j] = next_bits(lanes.words[j]);
            for (std::size_t j = 0; r < block.rows && j < kPanel; ++j) {
                float sum = block.sums[r][j];
                for (std::size_t k = 0; k < depth.length; ++k)
                    sum = std::fma(*source.at(r, k), b[k * kPanel + j], sum);
                block.sums[r][j] = rounded(sum, j < 8 ? bits[j] : swapped(bits[j - 8]), rounding, overflowed);
            }
        }
        source.advance(depth.length);
        b += depth.length * kPanel;
    }
    return overflowed;
}

#if defined(__x86_64__)

/// The sums of a block, in registers.
struct Block {
    __m256 low[kRows];
    __m256 high[kRows];
};

template <std::size_t Rows> IPU_EMULATOR_AVX2 inline void load_block(Block& block, float* const* sums) {
    for (std::size_t r = 0; r < Rows; ++r) {
        block.low[r] = _mm256_loadu_ps(sums[r]);
        block.high[r] = _mm256_loadu_ps(sums[r] + 8);
    }
}

template <std::size_t Rows> IPU_EMULATOR_AVX2 inline void store_block(const Block& block, float* const* sums) {
    for (std::size_t r = 0; r < Rows; ++r) {
        _mm256_storeu_ps(sums[r], block.low[r]);
        _mm256_storeu_ps(sums[r] + 8, block.high[r]);
    }
}

template <std::size_t Rows, class Source>
IPU_EMULATOR_AVX2 inline __attribute__((always_inline)) void add_group(Block& block, const Source& source,
                                                                       const float* b, std::size_t length) {
    Block own = block;  // compilers keep a local one in registers
    for (std::size_t k = 0; k < length; ++k) {
        const __m256 b_low = _mm256_loadu_ps(b + k * kPanel);
        const __m256 b_high = _mm256_loadu_ps(b + k * kPanel + 8);
        for (std::size_t r = 0; r < Rows; ++r) {
            const __m256 value = _mm256_broadcast_ss(source.at(r, k));
            own.low[r] = _mm256_fmadd_ps(value, b_low, own.low[r]);
            own.high[r] = _mm256_fmadd_ps(value, b_high, own.high[r]);
        }
    }
    block = own;
}

IPU_EMULATOR_AVX2 inline __m256i magnitude_of(__m256 value) {
    return _mm256_and_si256(_mm256_castps_si256(value), _mm256_set1_epi32(lanes::kAbsolute));
}

/// True if a sum is NaN, or overflows when rounded.
template <std::size_t Rows> IPU_EMULATOR_AVX2 inline bool beyond(const Block& block, int first) {
    __m256i largest = _mm256_setzero_si256();
    for (std::size_t r = 0; r < Rows; ++r)
        largest = _mm256_max_epi32(largest, _mm256_max_epi32(magnitude_of(block.low[r]), magnitude_of(block.high[r])));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi32(largest, _mm256_set1_epi32(first - 1))) != 0;
}

template <std::size_t Rows> IPU_EMULATOR_AVX2 inline bool round_nearest(Block& block, Overflow overflow) {
    if (__builtin_expect(beyond<Rows>(block, lanes::kFirstNearestOverflow), 0)) {
        for (std::size_t r = 0; r < Rows; ++r) {
            block.low[r] = lanes::nearest_any(block.low[r], overflow);
            block.high[r] = lanes::nearest_any(block.high[r], overflow);
        }
        return true;
    }
    constexpr int kMode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    for (std::size_t r = 0; r < Rows; ++r) {
        block.low[r] = _mm256_cvtph_ps(_mm256_cvtps_ph(block.low[r], kMode));
        block.high[r] = _mm256_cvtph_ps(_mm256_cvtps_ph(block.high[r], kMode));
    }
    return false;
}

IPU_EMULATOR_AVX2 inline __m256i step_lanes(__m256i state) {
    state = _mm256_xor_si256(state, _mm256_slli_epi32(state, 13));
    state = _mm256_xor_si256(state, _mm256_srli_epi32(state, 17));
    return _mm256_xor_si256(state, _mm256_slli_epi32(state, 5));
}

IPU_EMULATOR_AVX2 inline __m256i swapped_lanes(__m256i bits) {
    return _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_slli_epi32(bits, 16));
}

/// True if a sum other than 0 is below 2^-14, or a sum is close to overflow: both need the long way.
template <std::size_t Rows> IPU_EMULATOR_AVX2 inline bool needs_care(const Block& block) {
    const __m256i one = _mm256_set1_epi32(1);
    __m256i largest = _mm256_setzero_si256();
    __m256i smallest = _mm256_set1_epi32(-1);
    for (std::size_t r = 0; r < Rows; ++r) {
        const __m256i low = magnitude_of(block.low[r]);
        const __m256i high = magnitude_of(block.high[r]);
        largest = _mm256_max_epi32(largest, _mm256_max_epi32(low, high));
        // 0 becomes the largest unsigned integer.
        smallest = _mm256_min_epu32(smallest, _mm256_sub_epi32(low, one));
        smallest = _mm256_min_epu32(smallest, _mm256_sub_epi32(high, one));
    }
    const __m256i too_high = _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(lanes::kFirstPower - 0x2000));
    const __m256i limit = _mm256_set1_epi32(lanes::kSmallestNormalHalf - 1);
    const __m256i high_enough = _mm256_cmpeq_epi32(_mm256_max_epu32(smallest, limit), smallest);
    return _mm256_movemask_epi8(_mm256_andnot_si256(too_high, high_enough)) != -1;
}

template <std::size_t Rows>
IPU_EMULATOR_AVX2 inline bool round_stochastic(Block& block, __m256i& state, Overflow overflow) {
    if (__builtin_expect(needs_care<Rows>(block), 0)) {
        const bool overflowed = beyond<Rows>(block, lanes::kFirstPower - 0x1fff);
        for (std::size_t r = 0; r < kRows; ++r) {
            state = step_lanes(state);
            if (r >= Rows) continue;
            block.low[r] = lanes::stochastic_any(block.low[r], state, overflow);
            block.high[r] = lanes::stochastic_any(block.high[r], swapped_lanes(state), overflow);
        }
        return overflowed;
    }
    const __m256i mask = _mm256_set1_epi32(0x1fff);
    for (std::size_t r = 0; r < kRows; ++r) {
        state = step_lanes(state);
        if (r >= Rows) continue;
        const __m256i upper = _mm256_and_si256(_mm256_srli_epi32(state, 16), mask);
        block.low[r] = lanes::stochastic_normal(block.low[r], _mm256_and_si256(state, mask));
        block.high[r] = lanes::stochastic_normal(block.high[r], upper);
    }
    return false;
}

template <std::size_t Rows, PartialRounding Partials, class Source>
IPU_EMULATOR_AVX2 bool add_products_avx2(Source source, const float* b, Depth depth, float* const* sums,
                                         const ProductRounding& rounding) {
    Block block;
    load_block<Rows>(block, sums);
    const LaneState seeds = seeded_lanes(Partials == PartialRounding::stochastic ? rounding.key : 0);
    __m256i state = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(seeds.words));
    bool overflowed = false;
    for (std::size_t group = 0; group < depth.groups; ++group) {
        if (!source.all_zero(Rows)) {
            add_group<Rows>(block, source, b, depth.length);
            if constexpr (Partials == PartialRounding::nearest)
                overflowed |= round_nearest<Rows>(block, rounding.overflow);
            if constexpr (Partials == PartialRounding::stochastic)
                overflowed |= round_stochastic<Rows>(block, state, rounding.overflow);
        }
        source.advance(depth.length);
        b += depth.length * kPanel;
    }
    store_block<Rows>(block, sums);
    return overflowed;
}

template <std::size_t Rows, class Source> bool add_products_rows(Source source, const float* b, Depth depth,
                                                                 float* const* sums, const ProductRounding& rounding) {
    using enum PartialRounding;
    switch (rounding.partials) {
        case nearest:
            return add_products_avx2<Rows, nearest>(source, b, depth, sums, rounding);
        case stochastic:
            return add_products_avx2<Rows, stochastic>(source, b, depth, sums, rounding);
        case none:
            break;
    }
    return add_products_avx2<Rows, none>(source, b, depth, sums, rounding);
}
#endif

template <class Source>
bool add_products(Source source, const float* b, Depth depth, SumBlock block, const ProductRounding& rounding) {
    if (depth.groups == 0 || depth.length == 0) return false;
#if defined(__x86_64__)
    if (has_vectors()) {
        using Kernel = bool (*)(Source, const float*, Depth, float* const*, const ProductRounding&);
        constexpr Kernel kKernels[] = {add_products_rows<1, Source>, add_products_rows<2, Source>,
                                       add_products_rows<3, Source>, add_products_rows<4, Source>,
                                       add_products_rows<5, Source>, add_products_rows<6, Source>};
        return kKernels[block.rows - 1](source, b, depth, block.sums, rounding);
    }
#endif
    return add_products_plain(source, b, depth, block, rounding);
}

}  // namespace

bool add_products_by_row(const float* const* a, std::size_t a_stride, const float* zeros, const float* b, Depth depth,
                         SumBlock block, const ProductRounding& rounding) {
    return add_products(ByRow{a, a_stride, zeros}, b, depth, block, rounding);
}

bool add_products_by_depth(const float* const* a, std::size_t offset, const float* b, Depth depth, SumBlock block,
                           const ProductRounding& rounding) {
    return add_products(ByDepth{a, offset}, b, depth, block, rounding);
}

}  // namespace ipu_emulator
