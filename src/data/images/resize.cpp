#include "data/images/resize.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "data/images/resize_kernels.h"

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

}  // namespace cnntrain::data
