// Counter-based random numbers: Philox4x32-10 (Salmon et al., SC'11).
//
// A stream is a pure function of (seed, stream, epoch, index): threads and worker counts never
// change what is drawn, and any position can be reached without drawing the ones before it.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <vector>

namespace cnntrain {

/// One block of four 32-bit outputs. Known-answer vectors are tested.
std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

/// The user of a stream; part of the key, so two users of one seed never draw the same numbers.
enum class RngStream : std::uint32_t {
    initialiser = 1,  // index: variable number
    shuffle = 2,      // index: 0
    crop = 3,         // index: sample within the epoch
    flip = 4,
    generated_data = 5,
    rounding = 6,
    synthetic_data = 7,
    random_scale = 8,
    mixup = 9,  // index: number of the micro-batch
    cutmix = 10,
    augment = 11,  // index: sample within the epoch
    erase = 12,
    balance = 13,  // epoch: passes through a class; index: its number
    test = 100,
};

/// Random words as a function of a key and an index, for millions of elements, where Philox would be too slow. Both
/// words of a key are Philox4x32-10 of word_key()'s arguments.
struct WordKey {
    std::uint32_t first = 0, second = 0;
};
/// `who`: hash of a name that never moves; `index`: iteration, sample number.
WordKey word_key(std::uint64_t seed, RngStream stream, std::uint64_t who, std::uint64_t index);

/// Two rounds of "xor with the shifted self, multiply by an odd constant", with the second key word added in between so
/// that two keys do not walk one common sequence; multipliers and shifts are those of Wellons' low-bias search.
constexpr std::uint32_t random_word(const WordKey& key, std::uint32_t index) {
    std::uint32_t x = index ^ key.first;
    x = (x ^ (x >> 16)) * 0x7feb352dU + key.second;
    x = (x ^ (x >> 15)) * 0x846ca68bU;
    return x ^ (x >> 16);
}

/// The largest word that a random word stays within with the given probability, in (0, 1].
std::uint32_t last_word_within(double probability);

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

/// Fisher-Yates permutation of 0..count-1.
std::vector<std::uint32_t> shuffled_order(Rng rng, std::uint32_t count);
/// The same, drawn from Rng(seed, shuffle, epoch).
std::vector<std::uint32_t> shuffled_order(std::uint64_t seed, std::uint32_t epoch, std::uint32_t count);

// The standard normal distribution, without random numbers.

/// The z that a standard normal variable stays below with probability p = sqrt(2) * erfinv(2 * p - 1); 0 < p < 1.
double normal_quantile(double p);

/// The quantiles of (i + 0.5) / count, i = 0 ... count - 1: a sample that stands for the distribution.
std::vector<double> normal_quantiles(std::int64_t count);

// Partners of samples in a micro-batch (mixup, cutmix). Mixing on the host, mixing ops and ops that read labels must
// agree on them.

/// The sample `distance` >= 0 before `sample`, cyclically among `samples`.
template <std::integral Index> constexpr Index mixing_partner(Index sample, std::int64_t distance, Index samples) {
    return (sample + samples - static_cast<Index>(distance) % samples) % samples;
}

}  // namespace cnntrain
