// The random numbers of Python's random.Random, to reproduce data that Python programs make from a seed.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace cnntrain::dataset_tools {

/// Mersenne Twister MT19937 (Matsumoto, Nishimura 1998), with CPython's seeding and its random(), randint() and
/// shuffle().
class PythonRandom {
public:
    /// The sign of the seed is ignored.
    explicit PythonRandom(std::int64_t seed);

    double random();                           // in [0, 1), 53 bits
    std::uint32_t below(std::uint32_t bound);  // in 0..bound-1; bound > 0
    /// In first..last, both inclusive.
    std::uint32_t integer(std::uint32_t first, std::uint32_t last) { return first + below(last - first + 1); }

    template <typename Container> void shuffle(Container& items) {
        for (std::size_t i = items.size(); i-- > 1;) {
            using std::swap;
            swap(items[i], items[below(static_cast<std::uint32_t>(i + 1))]);
        }
    }

private:
    static constexpr std::size_t kWords = 624;

    std::uint32_t next();
    void refill();

    std::array<std::uint32_t, kWords> state_{};
    std::size_t used_ = kWords;
};

}  // namespace cnntrain::dataset_tools
