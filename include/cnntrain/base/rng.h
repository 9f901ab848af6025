// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11).
//
// A stream is a pure function of (seed, stream, epoch, index): threads and worker counts never
// change what is drawn, and any position can be reached without drawing the ones before it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace cnntrain {

/// One block of four 32-bit outputs. Known-answer vectors are tested.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// Who draws; part of the key, so two users of one seed never see the same numbers.
enum class RngStream : std::uint32_t {
    initialiser = 1,  // index: variable number
    shuffle = 2,      // index: 0
    crop = 3,         // index: sample within the epoch
    flip = 4,
    generated_data = 5,
    rounding = 6,
    synthetic_data = 7,
    test = 100,
};

class Rng {
public:
    Rng(std::uint64_t seed, RngStream stream, std::uint32_t epoch = 0, std::uint64_t index = 0);

    std::uint32_t next_u32();
    std::uint64_t next_u64();
    double uniform();                                           // [0, 1), 53 random bits
    double uniform(double low, double high);                    // [low, high)
    std::int64_t integer(std::int64_t low, std::int64_t high);  // [low, high), unbiased; high > low
    double normal();                                            // mean 0, standard deviation 1
    double truncated_normal();                                  // normal, redrawn beyond 2 sigma

private:
    std::array<std::uint32_t, 2> key_;
    std::array<std::uint32_t, 4> counter_;
    std::array<std::uint32_t, 4> block_{};
    unsigned used_ = 4;
};

/// Fisher-Yates permutation of 0..count-1 drawn from Rng(seed, shuffle, epoch).
std::vector<std::uint32_t> shuffled_order(std::uint64_t seed, std::uint32_t epoch, std::uint32_t count);

}  // namespace cnntrain
