#include "dataset_tools/writing/python_random.h"

#include <bit>
#include <cstddef>
#include <vector>

namespace cnntrain::dataset_tools {
namespace {

constexpr std::size_t kMiddle = 397;
constexpr std::uint32_t kUpperBit = 0x80000000U;
constexpr std::uint32_t kTwist = 0x9908b0dfU;

constexpr std::uint32_t twisted(std::uint32_t upper, std::uint32_t lower) {
    const std::uint32_t mixed = (upper & kUpperBit) | (lower & ~kUpperBit);
    return (mixed >> 1) ^ ((lower & 1) != 0 ? kTwist : 0);
}

constexpr std::uint32_t folded(std::uint32_t word) {
    return word ^ (word >> 30);
}

}  // namespace

PythonRandom::PythonRandom(std::int64_t seed) {
    // seed| in 32-bit digits, lowest first; at least one digit.
    const std::uint64_t size = seed < 0 ? 0 - static_cast<std::uint64_t>(seed) : static_cast<std::uint64_t>(seed);
    std::vector<std::uint32_t> key = {static_cast<std::uint32_t>(size)};
    if (size >> 32 != 0) key.push_back(static_cast<std::uint32_t>(size >> 32));

    state_[0] = 19650218;
    for (std::size_t i = 1; i < kWords; ++i)
        state_[i] = 1812433253U * folded(state_[i - 1]) + static_cast<std::uint32_t>(i);
    // Cycles through words 1..623; at each wrap-around, word 0 is set to the last word.
    std::size_t at = 1;
    const auto advance = [&] {
        if (++at < kWords) return;
        state_[0] = state_[kWords - 1];
        at = 1;
    };
    for (std::size_t i = 0; i < kWords; ++i) {
        const std::size_t digit = i % key.size();
        state_[at] =
            (state_[at] ^ (folded(state_[at - 1]) * 1664525U)) + key[digit] + static_cast<std::uint32_t>(digit);
        advance();
    }
    for (std::size_t i = 1; i < kWords; ++i) {
        state_[at] = (state_[at] ^ (folded(state_[at - 1]) * 1566083941U)) - static_cast<std::uint32_t>(at);
        advance();
    }
    state_[0] = kUpperBit;
}

void PythonRandom::refill() {
    for (std::size_t i = 0; i < kWords - kMiddle; ++i)
        state_[i] = state_[i + kMiddle] ^ twisted(state_[i], state_[i + 1]);
    for (std::size_t i = kWords - kMiddle; i < kWords - 1; ++i)
        state_[i] = state_[i + kMiddle - kWords] ^ twisted(state_[i], state_[i + 1]);
    state_[kWords - 1] = state_[kMiddle - 1] ^ twisted(state_[kWords - 1], state_[0]);
    used_ = 0;
}

std::uint32_t PythonRandom::next() {
    if (used_ == kWords) refill();
    std::uint32_t word = state_[used_++];
    word ^= word >> 11;
    word ^= (word << 7) & 0x9d2c5680U;
    word ^= (word << 15) & 0xefc60000U;
    return word ^ (word >> 18);
}

double PythonRandom::random() {
    const std::uint32_t high = next() >> 5;  // 27 bits
    const std::uint32_t low = next() >> 6;   // 26 bits
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
}

std::uint32_t PythonRandom::below(std::uint32_t bound) {
    const int bits = std::bit_width(bound);
    std::uint32_t value = next() >> (32 - bits);
    while (value >= bound)
        value = next() >> (32 - bits);
    return value;
}

}  // namespace cnntrain::dataset_tools
