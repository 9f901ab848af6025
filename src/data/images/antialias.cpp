#include "data/images/antialias.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

constexpr int kWeightBits = 22;  // 8-bit levels times weights, and two bits for sums beyond 255, fit into 32 bits
constexpr std::int64_t kColours = 3;

double triangle(double x) {
    return std::max(1.0 - std::abs(x), 0.0);
}

double cubic(double x) {
    constexpr double kA = -0.5;
    x = std::abs(x);
    if (x < 1) return ((kA + 2) * x - (kA + 3)) * x * x + 1;
    if (x < 2) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0;
}

struct Filter {
    double (*at)(double x);
    double support;  // 0 from there on
};

Filter filter_of(Interpolation interpolation) {
    switch (interpolation) {
        case Interpolation::bilinear:
            return {triangle, 1};
        case Interpolation::bicubic:
            return {cubic, 2};
        case Interpolation::tf1_bilinear:
            break;
    }
    throw Error(ErrorKind::internal, "an interpolation without a filter");
}

/// One axis: `wanted` pixels of the view from position `first` on become `out` pixels.
struct AxisPart {
    double first = 0;
    double wanted = 0;
    std::int64_t seen = 0;  // pixels of the view
    std::int64_t out = 0;
};

AxisPart axis_part(std::int64_t part_first, std::int64_t part_length, int shrink, std::int64_t seen_first,
                   std::int64_t seen, std::int64_t out) {
    if (shrink == 1) return {0, static_cast<double>(part_length), seen, out};
    return {static_cast<double>(part_first) / shrink - static_cast<double>(seen_first),
            static_cast<double>(part_length) / shrink, seen, out};
}

std::int32_t fixed_weight(double weight) {
    return static_cast<std::int32_t>(std::trunc(weight * (1 << kWeightBits) + (weight < 0 ? -0.5 : 0.5)));
}

/// Weights of the output pixels window_first, window_first + 1, ...
void plan_taps(const AxisPart& axis, const Filter& filter, std::int64_t window_first, std::int64_t window,
               FilterTaps& taps) {
    const double scale = axis.wanted / static_cast<double>(axis.out);
    const double width = std::max(scale, 1.0);
    const double support = filter.support * width;
    taps.stride = static_cast<std::int64_t>(std::ceil(support)) * 2 + 1;
    taps.ranges.resize(static_cast<std::size_t>(window));
    taps.weights.assign(static_cast<std::size_t>(window * taps.stride), 0);
    std::vector<double> weights(static_cast<std::size_t>(taps.stride));
    for (std::int64_t i = 0; i < window; ++i) {
        const double centre = axis.first + (static_cast<double>(window_first + i) + 0.5) * scale;
        const auto low = std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5), 0);
        const auto high = std::min(static_cast<std::int64_t>(centre + support + 0.5), axis.seen);
        double sum = 0;
        for (std::int64_t tap = 0; tap < high - low; ++tap) {
            const double distance = static_cast<double>(tap + low) - centre + 0.5;
            weights[static_cast<std::size_t>(tap)] = filter.at(distance * (1.0 / width));
            sum += weights[static_cast<std::size_t>(tap)];
        }
        for (std::int64_t tap = 0; tap < high - low; ++tap) {
            const double share = weights[static_cast<std::size_t>(tap)] / sum;
            taps.weights[static_cast<std::size_t>(i * taps.stride + tap)] = fixed_weight(share);
        }
        taps.ranges[static_cast<std::size_t>(i)] = {low, high - low};
    }
}

std::uint8_t rounded(std::int32_t sum) {
    return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

const FilterTaps::Range& range_of(const FilterTaps& taps, std::int64_t i) {
    return taps.ranges[static_cast<std::size_t>(i)];
}

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

/// One source row, which begins at pixel `first`, becomes one line of output columns, mirrored if `flip`.
void filter_row(const std::uint8_t* source, std::int64_t first, const FilterTaps& columns, bool flip,
                std::uint8_t* line) {
    const auto count = std::ssize(columns.ranges);
    for (std::int64_t x = 0; x < count; ++x) {
        const FilterTaps::Range& range = range_of(columns, x);
        const std::int32_t* const weights = columns.weights.data() + x * columns.stride;
        const std::uint8_t* pixel = source + (range.first - first) * kColours;
        std::int32_t red = kHalf, green = kHalf, blue = kHalf;
        for (std::int64_t tap = 0; tap < range.count; ++tap, pixel += kColours) {
            red += pixel[0] * weights[tap];
            green += pixel[1] * weights[tap];
            blue += pixel[2] * weights[tap];
        }
        std::uint8_t* const out = line + (flip ? count - 1 - x : x) * kColours;
        out[0] = rounded(red);
        out[1] = rounded(green);
        out[2] = rounded(blue);
    }
}

/// The weighted sum of lines that are `stride` bytes apart.
void filter_column(const std::uint8_t* lines, std::int64_t stride, std::span<const std::int32_t> weights,
                   std::span<std::int32_t> sums, std::uint8_t* out) {
    std::ranges::fill(sums, kHalf);
    for (const std::int32_t weight : weights) {
        for (std::size_t i = 0; i < sums.size(); ++i)
            sums[i] += lines[i] * weight;
        lines += stride;
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
        out[i] = rounded(sums[i]);
}

std::span<const std::int32_t> weights_of(const FilterTaps& taps, std::int64_t i) {
    const auto first = static_cast<std::size_t>(i * taps.stride);
    return std::span(taps.weights).subspan(first, static_cast<std::size_t>(range_of(taps, i).count));
}

/// The source pixels that any output pixel reads.
FilterTaps::Range all_ranges(const FilterTaps& taps) {
    const std::int64_t first = taps.ranges.front().first;
    return {first, taps.ranges.back().first + taps.ranges.back().count - first};
}

/// The order of passes decides about roundings. Pillow 13 makes the vertical one first if it removes more than twice as
/// many rows as the other one removes columns; earlier versions never do.
bool vertical_first(const AxisPart& down, const AxisPart& across) {
    const double rows = down.wanted - static_cast<double>(down.out);
    return rows > 0 && rows > 2 * (across.wanted - static_cast<double>(across.out));
}

}  // namespace

std::uint64_t AntialiasScratch::held_bytes() const {
    const auto of_taps = [](const FilterTaps& taps) {
        return taps.ranges.capacity() * sizeof(FilterTaps::Range) + taps.weights.capacity() * sizeof(std::int32_t);
    };
    return of_taps(columns) + of_taps(rows) + lines.capacity() + sums.capacity() * sizeof(std::int32_t);
}

void resize_antialiased(const PixelView& source, const Resize& how, Interpolation interpolation,
                        std::span<std::uint8_t> out, AntialiasScratch& scratch) {
    const Rectangle& window = how.window;
    const std::int64_t line_bytes = window.width * kColours;
    CNNTRAIN_CHECK(std::ssize(out) == window.height * line_bytes, "image of another size");
    const Filter filter = filter_of(interpolation);
    const Rectangle& part = source.part;
    const AxisPart across =
        axis_part(part.left, part.width, source.shrink, source.left, source.size.width, how.full.width);
    const AxisPart down =
        axis_part(part.top, part.height, source.shrink, source.top, source.size.height, how.full.height);
    // The window is a window of the mirrored image.
    const std::int64_t left = how.flip ? how.full.width - window.left - window.width : window.left;
    plan_taps(across, filter, left, window.width, scratch.columns);
    plan_taps(down, filter, window.top, window.height, scratch.rows);

    const FilterTaps& columns = scratch.columns;
    const FilterTaps& rows = scratch.rows;
    const FilterTaps::Range seen = all_ranges(vertical_first(down, across) ? columns : rows);
    if (vertical_first(down, across)) {
        const std::uint8_t* const first = source.pixels + seen.first * kColours;
        scratch.lines.resize(static_cast<std::size_t>(seen.count * kColours));
        scratch.sums.resize(scratch.lines.size());
        for (std::int64_t y = 0; y < window.height; ++y) {
            filter_column(first + range_of(rows, y).first * source.row_bytes, source.row_bytes, weights_of(rows, y),
                          scratch.sums, scratch.lines.data());
            filter_row(scratch.lines.data(), seen.first, columns, how.flip, out.data() + y * line_bytes);
        }
        return;
    }
    scratch.lines.resize(static_cast<std::size_t>(seen.count * line_bytes));
    scratch.sums.resize(static_cast<std::size_t>(line_bytes));
    for (std::int64_t y = 0; y < seen.count; ++y) {
        filter_row(source.pixels + (seen.first + y) * source.row_bytes, 0, columns, how.flip,
                   scratch.lines.data() + y * line_bytes);
    }
    for (std::int64_t y = 0; y < window.height; ++y) {
        filter_column(scratch.lines.data() + (range_of(rows, y).first - seen.first) * line_bytes, line_bytes,
                      weights_of(rows, y), scratch.sums, out.data() + y * line_bytes);
    }
}

}  // namespace cnntrain::data
