// The random numbers of Python's random.Random, so that data made with a seed there is made again here.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace cnntrain::dataset_tools {

/// Mersenne Twister MT19937 (Matsumoto, Nishimura 1998), seeded and read as CPython does: random(), randint(),
/// shuffle().
class PythonRandom {
public:
    /// The sign of the seed does not count.
    explicit PythonRandom(std::int64_t seed);

    double random();                           // [0, 1), 53 bits
    std::uint32_t below(std::uint32_t bound);  // 0..bound-1; bound > 0
    /// `first` and `last` included.
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
