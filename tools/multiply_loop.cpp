#include "multiply_loop.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/tile_blocks.h"
#include "backend/cpu/kernels/tiles.h"
#include "cnntrain/base/elapsed.h"

namespace cnntrain {

namespace {

/// Independent sums, enough to hide the latency of a vector instruction.
constexpr std::int64_t kSums = 12;
/// Two bfloat16, or one float, between 1 and 2: processors multiply zeros at a higher clock rate.
constexpr std::int32_t kNumber = 0x3fa53fc7;

/// The compiler knows nothing about the value afterwards, and cannot leave out what computes it.
template <typename Vector> [[gnu::always_inline]] inline void hide(Vector& value) {
    asm volatile("" : "+v"(value));
}

__attribute__((target("avx2,fma"))) void multiply_adds_256(std::int64_t rounds) {
    const __m256 x = _mm256_castsi256_ps(_mm256_set1_epi32(kNumber));
    __m256 sums[kSums] = {};
#pragma GCC unroll 12
    for (__m256& sum : sums)
        hide(sum);
    for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
        for (__m256& sum : sums)
            sum = _mm256_fmadd_ps(x, x, sum);
    }
#pragma GCC unroll 12
    for (__m256& sum : sums)
        hide(sum);
}

/// Adds products of floats or, with DotProducts, of pairs of bfloat16.
template <typename Arithmetic> CNNTRAIN_TILES void multiply_adds_512(std::int64_t rounds) {
    const __m512i x = _mm512_set1_epi32(kNumber);
    __m512 sums[kSums] = {};
#pragma GCC unroll 12
    for (__m512& sum : sums)
        hide(sum);
    for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
        for (__m512& sum : sums)
            sum = Arithmetic::added(sum, x, x);
    }
#pragma GCC unroll 12
    for (__m512& sum : sums)
        hide(sum);
}

/// Four sums in tile registers, as products use them.
CNNTRAIN_TILES void multiply_tiles(std::int64_t rounds) {
    const std::vector<std::int32_t> numbers(cpu::kTileBytes / sizeof(std::int32_t), kNumber);
    cpu::AmxUnit::begin();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_loadd(4, numbers.data(), cpu::kRowBytes);
    _tile_loadd(5, numbers.data(), cpu::kRowBytes);
    for (std::int64_t i = 0; i < rounds; ++i) {
        _tile_dpbf16ps(0, 4, 5);
        _tile_dpbf16ps(1, 4, 5);
        _tile_dpbf16ps(2, 4, 5);
        _tile_dpbf16ps(3, 4, 5);
    }
    cpu::AmxUnit::end();
}

struct Loop {
    void (*run)(std::int64_t rounds) = nullptr;
    double flops_per_round = 0;
    const char* instruction = "";
};

Loop widest_loop(DType type) {
    constexpr double kMultiplyAdd = 2;
    constexpr double kVectorFloats = 16;
    const cpu::Isa isa = cpu::effective_isa();
    if (type == DType::bf16 && isa.amx && cpu::has(cpu::TileUnit::amx))
        return {multiply_tiles, kMultiplyAdd * 4 * 16 * 16 * 32, "TDPBF16PS"};
    if (type == DType::bf16 && isa.avx512_bf16 && cpu::has(cpu::TileUnit::dot_products))
        return {multiply_adds_512<cpu::DotProducts>, kMultiplyAdd * 2 * kVectorFloats * kSums, "VDPBF16PS, 512 bits"};
    if (isa.avx512)
        return {multiply_adds_512<cpu::MultiplyAdds>, kMultiplyAdd * kVectorFloats * kSums, "VFMADDPS, 512 bits"};
    return {multiply_adds_256, kMultiplyAdd * kVectorFloats / 2 * kSums, "VFMADDPS, 256 bits"};
}

/// Seconds of a loop on all threads, from the time when all have begun.
double seconds_of(const Loop& loop, std::int64_t rounds, int threads) {
    double seconds = 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
        const auto start = std::chrono::steady_clock::now();
        loop.run(rounds);
#pragma omp barrier
#pragma omp master
        seconds = seconds_since(start);
    }
    return seconds;
}

}  // namespace

MultiplyLoop measured_multiply_loop(DType type, int threads) {
    constexpr std::int64_t kRounds =
        50'000;  // a millisecond at most, so that busy processes disturb only some of the runs
    constexpr double kSeconds = 0.2;
    const Loop loop = widest_loop(type);
    double least = std::numeric_limits<double>::infinity();
    for (const auto begin = std::chrono::steady_clock::now(); seconds_since(begin) < kSeconds;)
        least = std::min(least, seconds_of(loop, kRounds, threads));
    return {loop.flops_per_round * static_cast<double>(kRounds * threads) / least / 1e9, loop.instruction};
}

}  // namespace cnntrain
