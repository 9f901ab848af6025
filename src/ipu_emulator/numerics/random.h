// Random numbers: the state of a tile's generators, and hashes of it by which elements draw.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ipu_emulator {

/// A bijection of 64 bits that leaves no pattern (SplitMix64's finaliser).
inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    return mix(mix(a + 0x9e3779b97f4a7c15u) ^ (b * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du));
}

constexpr unsigned kWorkers = 6;
constexpr unsigned kWordsPerTile = kWorkers * 4;

/// One step of xoroshiro128 (rotations 55, 14, 36) of a worker's state.
inline void advance_worker(std::uint32_t* words) {
    const std::uint64_t s0 = words[0] | (std::uint64_t{words[1]} << 32);
    std::uint64_t s1 = words[2] | (std::uint64_t{words[3]} << 32);
    s1 ^= s0;
    const std::uint64_t n0 = std::rotl(s0, 55) ^ s1 ^ (s1 << 14);
    const std::uint64_t n1 = std::rotl(s1, 36);
    words[0] = static_cast<std::uint32_t>(n0);
    words[1] = static_cast<std::uint32_t>(n0 >> 32);
    words[2] = static_cast<std::uint32_t>(n1);
    words[3] = static_cast<std::uint32_t>(n1 >> 32);
}

inline void advance_tile(std::uint32_t* words) {
    for (unsigned worker = 0; worker < kWorkers; ++worker)
        advance_worker(words + std::size_t{4} * worker);
}

/// The key under which the elements of a tile draw until its state advances.
inline std::uint64_t tile_key(const std::uint32_t* words) {
    std::uint64_t key = 0;
    for (unsigned i = 0; i < kWordsPerTile; i += 2)
        key = mix(key ^ words[i] ^ (std::uint64_t{words[i + 1]} << 32)) + i;
    return key;
}

/// The states of a tile's workers that follow from a seed.
inline void seed_tile(std::uint64_t seed, unsigned tile, std::uint32_t* words) {
    for (unsigned i = 0; i < kWordsPerTile; i += 2) {
        const std::uint64_t bits = mix(seed, (std::uint64_t{tile} << 8) | i) | 1;  // never all zero
        words[i] = static_cast<std::uint32_t>(bits);
        words[i + 1] = static_cast<std::uint32_t>(bits >> 32);
    }
}

}  // namespace ipu_emulator
