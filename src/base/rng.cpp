#include "cnntrain/base/rng.h"

#include <cmath>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

// Constants of Philox4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11, table 2 and section
// 3.3).
constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;

std::uint32_t low(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

std::uint32_t high(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
    for (int round = 0; round < kRounds; ++round) {
        const std::uint64_t product0 = kMultiplier0 * counter[0];
        const std::uint64_t product1 = kMultiplier1 * counter[2];
        counter = {high(product1) ^ counter[1] ^ key[0], low(product1), high(product0) ^ counter[3] ^ key[1],
                   low(product0)};
        key[0] += kWeyl0;
        key[1] += kWeyl1;
    }
    return counter;
}

WordKey word_key(std::uint64_t seed, RngStream stream, std::uint64_t who, std::uint64_t index) {
    const auto words = philox4x32({low(who), high(who), low(index), high(index)},
                                  {low(seed), high(seed) ^ static_cast<std::uint32_t>(stream)});
    return {words[0], words[1]};
}

std::uint32_t last_word_within(double probability) {
    CNNTRAIN_CHECK(probability > 0 && probability <= 1, "no probability in (0, 1]: " + std::to_string(probability));
    return static_cast<std::uint32_t>(std::ceil(probability * 0x1p32) - 1);
}

Rng::Rng(std::uint64_t seed, RngStream stream, std::uint32_t epoch, std::uint64_t index) {
    // (seed, stream, epoch) does not fit into a key, so the key is itself drawn by it; the whole counter is then left
    // for index and position.
    const auto drawn = philox4x32({static_cast<std::uint32_t>(stream), epoch, 0, 0}, {low(seed), high(seed)});
    key_ = {drawn[0], drawn[1]};
    counter_ = {0, 0, low(index), high(index)};
}

std::uint32_t Rng::next_u32() {
    if (used_ == block_.size()) {
        block_ = philox4x32(counter_, key_);
        used_ = 0;
        if (++counter_[0] == 0) ++counter_[1];
    }
    return block_[used_++];
}

std::uint64_t Rng::next_u64() {
    const std::uint64_t lower = next_u32();
    return lower | (static_cast<std::uint64_t>(next_u32()) << 32);
}

double Rng::uniform() {
    return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

double Rng::uniform(double low, double high) {
    return low + (high - low) * uniform();
}

std::int64_t Rng::integer(std::int64_t low, std::int64_t high) {
    CNNTRAIN_CHECK(low < high, "empty range of random integers");
    const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    // The first 2^64 mod range values would make the small results more frequent: draw again.
    const std::uint64_t rejected = (0 - range) % range;
    std::uint64_t value = next_u64();
    while (value < rejected)
        value = next_u64();
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value % range);
}

double Rng::normal() {
    // Box and Muller; 1 - u is never 0.
    const double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Rng::truncated_normal() {
    double value = normal();
    while (std::fabs(value) > 2)
        value = normal();
    return value;
}

std::vector<std::uint32_t> shuffled_order(std::uint64_t seed, std::uint32_t epoch, std::uint32_t count) {
    return shuffled_order(Rng(seed, RngStream::shuffle, epoch), count);
}

std::vector<std::uint32_t> shuffled_order(Rng rng, std::uint32_t count) {
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    for (std::uint32_t i = count; i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(rng.integer(0, i))]);
    return order;
}

double normal_quantile(double p) {
    CNNTRAIN_CHECK(p > 0 && p < 1, "a quantile needs 0 < p < 1");
    if (p > 0.5) return -normal_quantile(1 - p);
    // Below zero the distribution function is convex, so Newton's steps from zero fall to the quantile and never past
    // it.
    const double peak = 1 / std::sqrt(2 * std::numbers::pi);
    double z = 0;
    while (true) {
        const double below = std::erfc(-z / std::numbers::sqrt2) / 2;
        const double next = z - (below - p) / (peak * std::exp(-z * z / 2));
        if (!(next < z)) return z;
        z = next;
    }
}

std::vector<double> normal_quantiles(std::int64_t count) {
    std::vector<double> result;
    for (std::int64_t i = 0; i < count; ++i)
        result.push_back(normal_quantile((static_cast<double>(i) + 0.5) / static_cast<double>(count)));
    return result;
}

}  // namespace cnntrain
