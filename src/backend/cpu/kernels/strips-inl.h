// Sweeps over rows x lanes of memory, in strips of one vector of lanes.
#if defined(CNNTRAIN_CPU_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CNNTRAIN_CPU_STRIPS_INL_H_
#undef CNNTRAIN_CPU_STRIPS_INL_H_
#else
#define CNNTRAIN_CPU_STRIPS_INL_H_
#endif

#include <hwy/cache_control.h>

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {

/// One vector's lanes of several rows: elements first, first + step and so on. With each row a line is prefetched: at
/// element `ahead`, ahead + ahead_step and so on.
struct Strip {
    std::int64_t lane = 0;
    std::int64_t rows = 0;
    std::int64_t first = 0, step = 0;
    std::int64_t ahead = 0, ahead_step = 0;
};

/// The element of a row, and the element that is prefetched with it.
struct Place {
    std::int64_t at = 0, ahead = 0;
};

/// Calls body(extent, strip) for strips of rows x lanes, so that per-channel values are loaded once per strip. With one
/// vector of lanes, a strip has all rows, and memory is prefetched kPrefetchBytes ahead, divided by the number of
/// `arrays` read together. With more lanes, strips cover a band of rows, about a page of memory, and the next band is
/// prefetched in the order of memory. This takes as little as half the time of prefetching each strip's own next rows
/// (f32, 144 lanes, Zen 4).
template <typename T, typename Body>
HWY_INLINE void for_strips(std::int64_t rows, std::int64_t lanes, std::int64_t arrays, const Body& body) {
    constexpr std::int64_t kBandBytes = 4096;
    constexpr std::int64_t kFewestBandRows = 8;
    constexpr std::int64_t kBytes = sizeof(T);
    const bool is_narrow = lanes <= kWidth;
    const std::int64_t band = is_narrow ? rows : std::max(kFewestBandRows, kBandBytes / (lanes * kBytes));
    for (std::int64_t row = 0; row < rows; row += band) {
        const std::int64_t height = std::min(band, rows - row);
        const std::int64_t begin = row * lanes;
        for_vectors(lanes, [&](auto extent, std::int64_t lane) {
            Strip strip{.lane = lane, .rows = height, .first = begin + lane, .step = lanes};
            strip.ahead = begin + (is_narrow ? kPrefetchBytes / (arrays * kBytes) : height * lanes + lane * height);
            strip.ahead_step = is_narrow ? lanes : kWidth;
            body(extent, strip);
        });
    }
}

/// Calls body(place) for each row.
template <typename Body> HWY_INLINE void for_rows(const Strip& strip, const Body& body) {
    Place place{strip.first, strip.ahead};
    for (std::int64_t row = 0; row < strip.rows; ++row, place.at += strip.step, place.ahead += strip.ahead_step)
        body(place);
}

/// Calls pair(place, next place) for two rows at a time, whose arithmetic overlaps, and one(place) for the last one of
/// an odd number.
template <typename Pair, typename One>
HWY_INLINE void for_row_pairs(const Strip& strip, const Pair& pair, const One& one) {
    Place place{strip.first, strip.ahead};
    std::int64_t row = 0;
    for (; row + 2 <= strip.rows; row += 2, place.at += 2 * strip.step, place.ahead += 2 * strip.ahead_step)
        pair(place, Place{place.at + strip.step, place.ahead + strip.ahead_step});
    if (row < strip.rows) one(place);
}

template <typename Extent, typename T>
HWY_INLINE Floats load_in_strip(const Extent& extent, const T* from, const Place& place) {
    hwy::Prefetch(from + place.ahead);
    return extent.load_from(from + place.at);
}

/// Stores, and prefetches, too, because the hardware starts late on lines that are only written.
template <typename Extent, typename T>
HWY_INLINE void store_in_strip(const Extent& extent, Floats value, T* to, const Place& place) {
    hwy::Prefetch(to + place.ahead);
    extent.store_to(value, to + place.at);
}

/// Number of arrays in a sweep of a norm's gradient: x, two summands of dy, and y or dx.
inline constexpr std::int64_t kGradientArrays = 4;

}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggle
