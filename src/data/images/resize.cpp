#include "data/images/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::data {
namespace {

/// interpolate_row() writes one value beyond the end of a row.
constexpr std::size_t kRowPadding = 16;

/// Two adjacent source positions and the weight of the second.
struct Tap {
    std::int64_t low;
    std::int64_t high;
    float weight;
};

/// One dimension of the resize: maps destination pixels to positions in the view.
class Axis {
public:
    /// `wanted` pixels of the full image, starting at `first`, become `out` pixels. The view has `seen` pixels of the
    /// image shrunk by `shrink`, starting at `seen_first`.
    Axis(std::int64_t wanted, std::int64_t first, int shrink, std::int64_t seen, std::int64_t seen_first,
         std::int64_t out)
        : seen_(seen), scale_(static_cast<float>(wanted) / static_cast<float>(out * shrink)) {
        if (shrink != 1) {
            const double place = (static_cast<double>(first) + 0.5) / shrink - 0.5;
            origin_ = static_cast<float>(place - static_cast<double>(seen_first));
        }
    }

    /// Reverses the axis: the last wanted pixel comes first.
    void mirror() { mirrored_ = true; }

    Tap at(std::int64_t destination) const {
        const float position = std::max(origin_ + static_cast<float>(destination) * scale_, 0.0f);
        const auto low = std::min(static_cast<std::int64_t>(position), seen_ - 1);
        const std::int64_t high = std::min(low + 1, seen_ - 1);
        const float weight = position - static_cast<float>(low);
        return mirrored_ ? Tap{seen_ - 1 - low, seen_ - 1 - high, weight} : Tap{low, high, weight};
    }

private:
    std::int64_t seen_;
    float origin_ = 0;
    float scale_;
    bool mirrored_ = false;
};

/// The horizontal axis, with the flip. Mirroring the view mirrors the wanted part, whose position is then measured from
/// the right.
Axis column_axis(const PixelView& source, const Resize& how) {
    const Rectangle& part = source.part;
    if (!how.flip) return {part.width, part.left, source.shrink, source.size.width, source.left, how.full.width};
    // The end of the view in full-size pixels; both distances are measured from it.
    const std::int64_t end = (source.left + source.size.width) * source.shrink;
    Axis axis(part.width, end - part.left - part.width, source.shrink, source.size.width, 0, how.full.width);
    axis.mirror();
    return axis;
}

void plan_columns(const PixelView& source, const Resize& how, std::vector<ResizeColumn>& columns) {
    const Axis across = column_axis(source, how);
    columns.clear();
    for (std::int64_t x = 0; x < how.window.width; ++x) {
        const Tap tap = across.at(how.window.left + x);
        columns.push_back(
            {static_cast<std::int32_t>(3 * tap.low), static_cast<std::int32_t>(3 * tap.high), tap.weight});
    }
}

/// No kernel writes half precision; the row is computed in float and then converted.
void store_halves(const RowBlend& blend, Half* out) {
    std::vector<float> row(blend.count);
    blend_rows(blend, row.data());
    std::ranges::transform(row, out, to_half);
}

/// Rows of a batch's slot, in order.
void store_row(const RowBlend& blend, DType dtype, std::byte* out) {
    switch (dtype) {
        case DType::f32:
            return blend_rows(blend, reinterpret_cast<float*>(out));
        case DType::bf16:
            return blend_rows(blend, reinterpret_cast<BFloat16*>(out));
        case DType::f16:
            return store_halves(blend, reinterpret_cast<Half*>(out));
        case DType::u8:
            return blend_rows(blend, reinterpret_cast<std::uint8_t*>(out));
        default:
            CNNTRAIN_CHECK(false, "images are f32, bf16, f16 or u8");
    }
}

/// Two source rows after horizontal interpolation, kept for the following output rows.
class RowPair {
public:
    RowPair(const PixelView& source, const std::vector<ResizeColumn>& columns, float* rows, std::size_t stride)
        : source_(source), columns_(columns), rows_({rows, rows + stride}) {}

    void load(const Tap& tap) {
        if (tap.low == numbers_[1]) {
            std::swap(rows_[0], rows_[1]);
            std::swap(numbers_[0], numbers_[1]);
        }
        ensure(0, tap.low);
        ensure(1, tap.high);
    }
    const float* top() const { return rows_[0]; }
    const float* bottom() const { return rows_[1]; }

private:
    void ensure(std::size_t slot, std::int64_t row) {
        if (numbers_[slot] == row) return;
        interpolate_row(source_.pixels + row * source_.row_bytes, columns_.data(), columns_.size(), rows_[slot]);
        numbers_[slot] = row;
    }

    const PixelView& source_;
    const std::vector<ResizeColumn>& columns_;
    std::array<float*, 2> rows_;
    std::array<std::int64_t, 2> numbers_ = {-1, -1};
};

}  // namespace

ImageSize aspect_preserving_size(ImageSize size, std::int64_t shorter, std::int64_t least) {
    const float ratio = static_cast<float>(shorter) / static_cast<float>(std::min(size.height, size.width));
    const auto scaled = [&](std::int64_t side) {
        return std::max(static_cast<std::int64_t>(static_cast<float>(side) * ratio), least);
    };
    return {scaled(size.height), scaled(size.width)};
}

void resize(const PixelView& source, const Resize& how, const PixelFormat& format, std::span<std::byte> out,
            ResizeScratch& scratch) {
    const auto row_values = static_cast<std::size_t>(how.window.width) * 3;
    const std::size_t row_bytes = row_values * size_bytes(format.dtype);
    CNNTRAIN_CHECK(out.size() == row_bytes * static_cast<std::size_t>(how.window.height), "image of another size");
    plan_columns(source, how, scratch.columns);

    const std::size_t stride = row_values + kRowPadding;
    if (scratch.rows.size() < 4 * stride) scratch.rows.resize(4 * stride);
    float* const scale = scratch.rows.data() + 2 * stride;
    float* const shift = scale + stride;
    for (std::size_t i = 0; format.normalise && i < row_values; ++i) {
        scale[i] = format.normalise->scale[i % 3];
        shift[i] = format.normalise->shift[i % 3];
    }

    RowPair rows(source, scratch.columns, scratch.rows.data(), stride);
    const Rectangle& part = source.part;
    const Axis down(part.height, part.top, source.shrink, source.size.height, source.top, how.full.height);
    for (std::int64_t y = 0; y < how.window.height; ++y) {
        const Tap tap = down.at(how.window.top + y);
        rows.load(tap);
        store_row({.top = rows.top(),
                   .bottom = rows.bottom(),
                   .weight = tap.weight,
                   .scale = format.normalise ? scale : nullptr,
                   .shift = format.normalise ? shift : nullptr,
                   .count = row_values},
                  format.dtype, out.data() + static_cast<std::size_t>(y) * row_bytes);
    }
}

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
