// Weight gradients of convolutions whose kernels are three columns wide.
//
// A task has some of the samples and 16 channels of x. It copies bands of rows into its cache: x with zeros at the
// borders, and dy. In the copies every element has four bytes: a float, or two pixels of bfloat16, which AVX512-BF16
// multiplies and adds at once. Tiles then sum over all pixels of a band in registers: three columns of the kernel x a
// vector of channels of x x some channels of dy.
#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/targets.h"
#include "cnntrain/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/weight_grad.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_WEIGHT_GRAD_ARGUMENTS_
#define CNNTRAIN_CPU_WEIGHT_GRAD_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kBlock = kWeightGradChannels;
constexpr std::int64_t kHalfBlock = kBlock / 2;
constexpr std::int64_t kColumns = kWeightGradColumns;

/// Pixels in one element of a copy.
template <typename T> constexpr std::int64_t kPixels = 4 / static_cast<std::int64_t>(sizeof(T));

/// Sixteen channels of a row of pixels, to be copied to `places`: place p gets column first + p * step and, if they are
/// bfloat16, the column `partner` further on. Columns outside the row are zero.
template <typename T> struct RowCopy {
    const T* from = nullptr;      // column 0
    std::int64_t lanes = 0;       // elements from one column to the next
    std::int64_t half_apart = 0;  // elements from the first to the second eight channels
    std::int64_t columns = 0;
    std::int64_t first = 0;
    std::int64_t step = 1;
    std::int64_t partner = 1;
    std::int64_t places = 0;
    float* to = nullptr;  // [places][16]
};

/// Copied rows under one row of the kernel, and the sums to which their products belong. Distances are in floats.
struct TiledRows {
    std::int64_t samples = 0, rows = 0, places = 0;
    const float* x = nullptr;
    std::int64_t x_sample = 0, x_row = 0, x_place = 0;
    const float* dy = nullptr;
    std::int64_t dy_sample = 0, dy_row = 0, dy_block = 0;
    std::int64_t blocks = 0;  // of 16 channels of dy
    float* sums = nullptr;    // of each block: [3][16 o][16 i]
    std::int64_t sum_block = 0;
    bool adds = false;  // add to the existing sums
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

#if HWY_TARGET <= HWY_AVX3
// The compiler emits instructions of AVX512-BF16 only for explicit intrinsics, so f32 runs without them.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512bf16")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

struct FloatProducts {
    static HWY_INLINE Floats added(Floats sum, Floats x, Floats dy) { return hn::MulAdd(x, dy, sum); }
};

/// `inside`: does the column exist?
HWY_INLINE void copy_place(const RowCopy<float>& row, std::int64_t column, bool inside, bool /*partner_inside*/,
                           float* to) {
    const float* const from = row.from + column * row.lanes;
    for (std::int64_t i = 0; i < kBlock; i += kWidth) {
        const std::int64_t offset = i < kHalfBlock ? i : row.half_apart + i - kHalfBlock;
        store(inside ? load(from + offset) : hn::Zero(FloatTag()), to + i);
    }
}

#if HWY_TARGET <= HWY_AVX3

struct PairProducts {
    static HWY_INLINE Floats added(Floats sum, Floats x, Floats dy) {
        return Floats{_mm512_dpbf16_ps(sum.raw, reinterpret_cast<__m512bh>(x.raw), reinterpret_cast<__m512bh>(dy.raw))};
    }
};

HWY_INLINE __m256i channels_or_zero(const BFloat16* from, bool inside) {
    return inside ? _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)) : _mm256_setzero_si256();
}

/// Stores the channels of both pixels in turn.
HWY_INLINE void copy_place(const RowCopy<BFloat16>& row, std::int64_t column, bool inside, bool partner_inside,
                           float* to) {
    alignas(64) static constexpr std::uint16_t kInTurn[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                              21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                              11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const BFloat16* const from = row.from + column * row.lanes;
    const __m512i first = _mm512_castsi256_si512(channels_or_zero(from, inside));
    const __m256i second = channels_or_zero(from + row.partner * row.lanes, partner_inside);
    const __m512i both = _mm512_inserti64x4(first, second, 1);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kInTurn), both));
}

#endif

template <typename T> HWY_INLINE void copy_row(const RowCopy<T>& row) {
    const auto edge = [&](std::int64_t place) HWY_ATTR {
        const std::int64_t column = row.first + place * row.step;
        const auto inside = [&](std::int64_t at) { return at >= 0 && at < row.columns; };
        copy_place(row, column, inside(column), inside(column + row.partner), row.to + place * kBlock);
    };
    // All columns of the places from `begin` to `end` exist.
    const std::int64_t begin = row.first < 0 ? std::min(row.places, (row.step - 1 - row.first) / row.step) : 0;
    const std::int64_t columns = row.columns - (kPixels<T> - 1) * row.partner - row.first;
    const std::int64_t end = std::clamp(ceil_div(columns, row.step), begin, row.places);
    for (std::int64_t place = 0; place < begin; ++place)
        edge(place);
    for (std::int64_t place = begin; place < end; ++place)
        copy_place(row, row.first + place * row.step, true, true, row.to + place * kBlock);
    for (std::int64_t place = end; place < row.places; ++place)
        edge(place);
}

/// Loops over the sums must be unrolled, so that they stay in registers.
template <typename Products, std::int64_t kOutputs>
HWY_INLINE void sum_tile(const TiledRows& rows, const float* first_x, const float* first_dy, float* sums) {
    Floats sum[kOutputs][kColumns];
#pragma GCC unroll 8
    for (std::int64_t output = 0; output < kOutputs; ++output) {
#pragma GCC unroll 3
        for (std::int64_t kw = 0; kw < kColumns; ++kw)
            sum[output][kw] = rows.adds ? load(sums + (kw * kBlock + output) * kBlock) : hn::Zero(FloatTag());
    }
    for (std::int64_t sample = 0; sample < rows.samples; ++sample) {
        for (std::int64_t row = 0; row < rows.rows; ++row) {
            const float* x = first_x + sample * rows.x_sample + row * rows.x_row;
            const float* dy = first_dy + sample * rows.dy_sample + row * rows.dy_row;
            for (std::int64_t place = 0; place < rows.places; ++place) {
                const Floats window[kColumns] = {load(x), load(x + kBlock), load(x + 2 * kBlock)};
#pragma GCC unroll 8
                for (std::int64_t output = 0; output < kOutputs; ++output) {
                    const Floats everywhere = hn::Set(FloatTag(), dy[output]);
#pragma GCC unroll 3
                    for (std::int64_t kw = 0; kw < kColumns; ++kw)
                        sum[output][kw] = Products::added(sum[output][kw], window[kw], everywhere);
                }
                x += rows.x_place;
                dy += kBlock;
            }
        }
    }
#pragma GCC unroll 8
    for (std::int64_t output = 0; output < kOutputs; ++output) {
#pragma GCC unroll 3
        for (std::int64_t kw = 0; kw < kColumns; ++kw)
            store(sum[output][kw], sums + (kw * kBlock + output) * kBlock);
    }
}

template <typename Products> void sum_rows(const TiledRows& rows) {
    // The sums take three quarters of the registers: of 32 with AVX-512, of 16 otherwise.
    constexpr std::int64_t kOutputs = kWidth == kBlock ? 8 : 4;
    for (std::int64_t block = 0; block < rows.blocks; ++block) {
        for (std::int64_t output = 0; output < kBlock; output += kOutputs) {
            for (std::int64_t input = 0; input < kBlock; input += kWidth) {
                sum_tile<Products, kOutputs>(rows, rows.x + input, rows.dy + block * rows.dy_block + output,
                                             rows.sums + block * rows.sum_block + output * kBlock + input);
            }
        }
    }
}

void copy_row_f32(const RowCopy<float>& row) {
    copy_row(row);
}
void sum_rows_f32(const TiledRows& rows) {
    sum_rows<FloatProducts>(rows);
}

#if HWY_TARGET <= HWY_AVX3
void copy_row_bf16(const RowCopy<BFloat16>& row) {
    copy_row(row);
}
void sum_rows_bf16(const TiledRows& rows) {
    sum_rows<PairProducts>(rows);
}
#else
void copy_row_bf16(const RowCopy<BFloat16>& /*row*/) {
    CNNTRAIN_CHECK(false, "a weight gradient in bfloat16 without AVX512-BF16");
}
void sum_rows_bf16(const TiledRows& /*rows*/) {
    CNNTRAIN_CHECK(false, "a weight gradient in bfloat16 without AVX512-BF16");
}
#endif

std::int64_t vector_width() {
    return kWidth;
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
#if HWY_TARGET <= HWY_AVX3
HWY_POP_ATTRIBUTES
#else
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tiles.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(copy_row_f32);
HWY_EXPORT(copy_row_bf16);
HWY_EXPORT(sum_rows_f32);
HWY_EXPORT(sum_rows_bf16);
HWY_EXPORT(vector_width);

void copy_to_cache(const RowCopy<float>& row) {
    HWY_DYNAMIC_DISPATCH(copy_row_f32)(row);
}
void copy_to_cache(const RowCopy<BFloat16>& row) {
    HWY_DYNAMIC_DISPATCH(copy_row_bf16)(row);
}

template <typename T> void sum_tiles(const TiledRows& rows) {
    if constexpr (std::is_same_v<T, float>) {
        HWY_DYNAMIC_DISPATCH(sum_rows_f32)(rows);
    } else {
        HWY_DYNAMIC_DISPATCH(sum_rows_bf16)(rows);
    }
}

/// Division of the work; follows from the shape alone.
struct Plan {
    std::int64_t inputs = 0, outputs = 0;             // blocks of 16 channels in a group
    std::int64_t parts = 0;                           // of the samples
    std::int64_t blocks = 0;                          // of 16 channels of x, in all groups
    std::int64_t places = 0, x_places = 0;            // in the copy of a row of dy and of x
    std::int64_t band_samples = 1;                    // more than one only if a band has all rows
    std::int64_t band_rows = 0, band_x_rows = 0;      // of dy and of x
    std::int64_t sums_of_block = 0, sums_of_all = 0;  // of 16 x 16 channels, and of the whole kernel

    std::int64_t tasks() const { return parts * blocks; }
    std::int64_t x_floats() const { return band_samples * band_x_rows * x_places * kBlock; }
    std::int64_t dy_floats() const { return band_samples * outputs * band_rows * places * kBlock; }
    /// Sums of each part, unless there is one.
    std::int64_t partial_floats() const { return parts > 1 ? parts * sums_of_all : 0; }
    /// Copies of one thread.
    std::int64_t copied_floats() const { return x_floats() + dy_floats(); }
};

/// Sets the size of bands: as many rows, and then samples, as a quarter of Zen 4's second-level cache holds.
void set_bands(const WeightGradShape& shape, Plan& plan) {
    constexpr std::int64_t kBandFloats = std::int64_t{64} << 10;
    plan.band_rows = shape.y.height;
    for (;; plan.band_rows = (plan.band_rows + 1) / 2) {
        plan.band_x_rows = (plan.band_rows - 1) * shape.stride + shape.kernel_height;
        if (plan.band_rows == 1 || plan.copied_floats() <= kBandFloats) break;
    }
    if (plan.band_rows < shape.y.height) return;
    const std::int64_t samples = ceil_div(shape.x.shape.n, plan.parts);
    plan.band_samples = std::clamp<std::int64_t>(kBandFloats / plan.copied_floats(), 1, samples);
}

template <typename T> Plan plan_of(const WeightGradShape& shape) {
    constexpr std::int64_t kTasks = 16;  // wanted; more parts would add more sums
    Plan plan;
    plan.blocks = shape.x.shape.channels() / kBlock;
    plan.inputs = plan.blocks / shape.groups;
    plan.outputs = shape.y.shape.channels() / kBlock / shape.groups;
    plan.parts = std::clamp<std::int64_t>(kTasks / plan.blocks, 1, shape.x.shape.n);
    plan.places = (shape.y.width + kPixels<T> - 1) / kPixels<T>;
    plan.x_places = (plan.places - 1) * shape.stride * kPixels<T> + kColumns;
    plan.sums_of_block = shape.kernel_height * kColumns * kBlock * kBlock;
    plan.sums_of_all = plan.blocks * plan.outputs * plan.sums_of_block;
    set_bands(shape, plan);
    return plan;
}

/// Samples and rows of dy.
struct Band {
    std::int64_t sample = 0, samples = 0, row = 0, rows = 0;
};

/// The sums of one block of channels of x over one part of the samples.
template <typename T> class Task {
public:
    Task(const WeightGradShape& shape, const Plan& plan, const T* x, const T* dy, std::int64_t block, float* sums,
         float* copies)
        : shape_(shape),
          plan_(plan),
          x_(x),
          dy_(dy),
          block_(block),
          group_(block / plan.inputs),
          sums_(sums + (group_ * plan.outputs * plan.inputs + block % plan.inputs) * plan.sums_of_block),
          x_copy_(copies),
          dy_copy_(copies + plan.x_floats()) {}

    void run(std::int64_t begin, std::int64_t end) {
        for (std::int64_t sample = begin; sample < end; sample += plan_.band_samples) {
            for (std::int64_t row = 0; row < shape_.y.height; row += plan_.band_rows) {
                const Band band{sample, std::min(plan_.band_samples, end - sample), row,
                                std::min(plan_.band_rows, shape_.y.height - row)};
                copy_x(band);
                copy_dy(band);
                for (std::int64_t kh = 0; kh < shape_.kernel_height; ++kh)
                    sum_tiles<T>(rows_under(band, kh, sample > begin || row > 0));
            }
        }
    }

private:
    static RowCopy<T> row_of(const Picture& picture, const T* data, std::int64_t sample, std::int64_t block,
                             std::int64_t row) {
        const auto offset = [&](std::int64_t channel) {
            const std::int64_t lanes = picture.shape.lanes;
            return picture.shape.offset(sample, channel / lanes, row * picture.width) + channel % lanes;
        };
        RowCopy<T> copy;
        copy.from = data + offset(block * kBlock);
        copy.lanes = picture.shape.lanes;
        copy.half_apart = offset(block * kBlock + kHalfBlock) - offset(block * kBlock);
        copy.columns = picture.width;
        return copy;
    }

    /// Row of x under the band's first row and the kernel's row kh; may be negative.
    std::int64_t x_row(const Band& band, std::int64_t kh) const { return band.row * shape_.stride - shape_.top + kh; }

    void copy_x(const Band& band) {
        const std::int64_t top = x_row(band, 0);
        const std::int64_t rows = (band.rows - 1) * shape_.stride + shape_.kernel_height;
        const std::int64_t end = std::min(rows, shape_.x.height - top);
        for (std::int64_t sample = 0; sample < band.samples; ++sample) {
            for (std::int64_t row = std::max<std::int64_t>(0, -top); row < end; ++row) {
                RowCopy<T> copy = row_of(shape_.x, x_, band.sample + sample, block_, top + row);
                copy.first = -shape_.left;
                copy.partner = shape_.stride;
                copy.places = plan_.x_places;
                copy.to = x_copy_ + (sample * plan_.band_x_rows + row) * plan_.x_places * kBlock;
                copy_to_cache(copy);
            }
        }
    }

    void copy_dy(const Band& band) {
        for (std::int64_t sample = 0; sample < band.samples; ++sample) {
            for (std::int64_t block = 0; block < plan_.outputs; ++block) {
                for (std::int64_t row = 0; row < band.rows; ++row) {
                    RowCopy<T> copy =
                        row_of(shape_.y, dy_, band.sample + sample, group_ * plan_.outputs + block, band.row + row);
                    copy.step = kPixels<T>;
                    copy.places = plan_.places;
                    copy.to = dy_copy_ + dy_offset(sample, block, row);
                    copy_to_cache(copy);
                }
            }
        }
    }
    std::int64_t dy_offset(std::int64_t sample, std::int64_t block, std::int64_t row) const {
        return ((sample * plan_.outputs + block) * plan_.band_rows + row) * plan_.places * kBlock;
    }

    /// The rows of dy whose row of x exists.
    TiledRows rows_under(const Band& band, std::int64_t kh, bool adds) const {
        const std::int64_t top = x_row(band, kh);
        const auto rows_of = [&](std::int64_t x_rows) {
            return ceil_div(std::max<std::int64_t>(0, x_rows), shape_.stride);
        };
        const std::int64_t first = std::min(band.rows, rows_of(-top));
        const std::int64_t end = std::clamp(rows_of(shape_.x.height - top), first, band.rows);
        TiledRows rows;
        rows.samples = band.samples;
        rows.rows = end - first;
        rows.places = plan_.places;
        rows.x = x_copy_ + (first * shape_.stride + kh) * plan_.x_places * kBlock;
        rows.x_sample = plan_.band_x_rows * plan_.x_places * kBlock;
        rows.x_row = shape_.stride * plan_.x_places * kBlock;
        rows.x_place = shape_.stride * kPixels<T> * kBlock;
        rows.dy = dy_copy_ + dy_offset(0, 0, first);
        rows.dy_sample = dy_offset(1, 0, 0);
        rows.dy_row = dy_offset(0, 0, 1);
        rows.dy_block = dy_offset(0, 1, 0);
        rows.blocks = plan_.outputs;
        rows.sums = sums_ + kh * kColumns * kBlock * kBlock;
        rows.sum_block = plan_.inputs * plan_.sums_of_block;
        rows.adds = adds;
        return rows;
    }

    const WeightGradShape& shape_;
    const Plan& plan_;
    const T* x_;
    const T* dy_;
    std::int64_t block_, group_;
    float* sums_;
    float* x_copy_;
    float* dy_copy_;
};

}  // namespace

template <typename T> bool has_weight_grad(const WeightGradShape& shape) {
    const std::int64_t width = HWY_DYNAMIC_DISPATCH(vector_width)();
    if (!std::is_same_v<T, float> && (width < kBlock || !has(TileUnit::dot_products))) return false;
    const auto is_whole = [&](const Blocks& tensor) {
        return tensor.channels() % (shape.groups * kBlock) == 0 &&
               (tensor.lanes % kBlock == 0 || (tensor.lanes == kHalfBlock && width <= kHalfBlock));
    };
    return is_whole(shape.x.shape) && is_whole(shape.y.shape);
}

template <typename T> std::int64_t weight_grad_scratch_floats(const WeightGradShape& shape, int threads) {
    const Plan plan = plan_of<T>(shape);
    return plan.partial_floats() + std::min<std::int64_t>(threads, plan.tasks()) * plan.copied_floats();
}

template <typename T>
void conv_weight_grad(const WeightGradShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch) {
    const Plan plan = plan_of<T>(shape);
    const std::int64_t threads = std::min<std::int64_t>(omp_get_max_threads(), plan.tasks());
    CNNTRAIN_CHECK(std::ssize(scratch) >= plan.partial_floats() + threads * plan.copied_floats(),
                   "scratch is smaller than weight_grad_scratch_floats");
    float* const copies = scratch.data() + plan.partial_floats();
    parallel_tasks(threads, [&](std::int64_t thread) {
        const std::int64_t end = plan.tasks() * (thread + 1) / threads;
        for (std::int64_t task = plan.tasks() * thread / threads; task < end; ++task) {
            const std::int64_t part = task / plan.blocks;
            const std::int64_t samples = shape.x.shape.n;
            float* const sums = plan.parts > 1 ? scratch.data() + part * plan.sums_of_all : dw;
            Task<T>(shape, plan, x, dy, task % plan.blocks, sums, copies + thread * plan.copied_floats())
                .run(samples * part / plan.parts, samples * (part + 1) / plan.parts);
        }
    });
    if (plan.parts > 1) sum_parts(plan.parts, plan.sums_of_all, scratch.data(), dw);
}

template bool has_weight_grad<float>(const WeightGradShape&);
template bool has_weight_grad<BFloat16>(const WeightGradShape&);
template std::int64_t weight_grad_scratch_floats<float>(const WeightGradShape&, int);
template std::int64_t weight_grad_scratch_floats<BFloat16>(const WeightGradShape&, int);
template void conv_weight_grad(const WeightGradShape&, const float*, const float*, float*, std::span<float>);
template void conv_weight_grad(const WeightGradShape&, const BFloat16*, const BFloat16*, float*, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
