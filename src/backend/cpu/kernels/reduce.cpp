// Sums over samples and pixels per channel: statistics, gradient sums, bias gradients.
//
// Statistics that the kernel before has summed by parts are merged instead.
//
// Sums are fp32 over at most kMostPartRows rows, fp64 beyond: equal addends, as of flat areas of photos, all round in
// the same direction. Statistics are sums of differences to a pivot (the mean of a few rows), which keeps the variance
// accurate to fp32 even if the mean is far from zero.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/reduce.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/incoming-inl.h"
#include "backend/cpu/kernels/strips-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_REDUCE_ARGUMENTS_
#define CNNTRAIN_CPU_REDUCE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// rows x lanes of memory and the corresponding per-lane arrays.
template <typename T> struct StatisticRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const float* pivot = nullptr;
    float* sum = nullptr;     // x - pivot is added
    float* square = nullptr;  // (x - pivot)^2 is added
};

template <typename T> struct GradientRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;
    const T* gate = nullptr;
    const T* spread = nullptr;
    float share = 0;  // of the spread
    const T* y = nullptr;
    T* dresidual = nullptr;
    const float* scale = nullptr;
    const float* shift = nullptr;
    const float* mean = nullptr;
    float* sum_dy = nullptr;
    float* sum_dy_x = nullptr;
    Activation activation = Activation::none;
};

/// Sums of `parts` rows, `apart` floats from one to the next.
struct PartRows {
    std::int64_t parts = 0, apart = 0;
    std::int64_t lanes = 0;
    const float* first = nullptr;
    const float* second = nullptr;
    double* first_sum = nullptr;  // 0 at first, as the other
    double* second_sum = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> void sum_rows(std::int64_t rows, std::int64_t lanes, const T* x, float* sum) {
    for_strips<T>(rows, lanes, 1, [&](auto extent, const Strip& strip) {
        Floats total = extent.load_from(sum + strip.lane);
        const auto at = [&](const Place& place) HWY_ATTR { return load_in_strip(extent, x, place); };
        for_row_pairs(
            strip,
            [&](const Place& first, const Place& second)
                HWY_ATTR { total = hn::Add(total, hn::Add(at(first), at(second))); },
            [&](const Place& place) HWY_ATTR { total = hn::Add(total, at(place)); });
        extent.store_to(total, sum + strip.lane);
    });
}

template <typename T> void statistic_rows(const StatisticRows<T>& args) {
    for_strips<T>(args.rows, args.lanes, 1, [&](auto extent, const Strip& strip) {
        const Floats pivot = extent.load_from(args.pivot + strip.lane);
        Floats sum = extent.load_from(args.sum + strip.lane);
        Floats square = extent.load_from(args.square + strip.lane);
        const auto at = [&](const Place& place)
                            HWY_ATTR { return hn::Sub(load_in_strip(extent, args.x, place), pivot); };
        for_row_pairs(
            strip,
            [&](const Place& first, const Place& second) HWY_ATTR {
                const auto x0 = at(first);
                const auto x1 = at(second);
                sum = hn::Add(sum, hn::Add(x0, x1));
                square = hn::Add(square, hn::MulAdd(x1, x1, hn::Mul(x0, x0)));
            },
            [&](const Place& place) HWY_ATTR {
                const auto x = at(place);
                sum = hn::Add(sum, x);
                square = hn::MulAdd(x, x, square);
            });
        extent.store_to(sum, args.sum + strip.lane);
        extent.store_to(square, args.square + strip.lane);
    });
}

template <Activation kActivation, bool kFromResult, typename T> void gradient_rows_sloped(const GradientRows<T>& args) {
    const FloatTag d;
    constexpr bool kFromInput = kActivation != Activation::none && !kFromResult;
    for_strips<T>(args.rows, args.lanes, kGradientArrays, [&](auto extent, const Strip& strip) {
        const std::int64_t lane = strip.lane;
        const Floats mean = extent.load_from(args.mean + lane);
        const Floats scale = kFromInput ? extent.load_from(args.scale + lane) : hn::Zero(d);
        const Floats shift = kFromInput ? extent.load_from(args.shift + lane) : hn::Zero(d);
        Floats sum_dy = extent.load_from(args.sum_dy + lane);
        Floats sum_dy_x = extent.load_from(args.sum_dy_x + lane);
        const Incoming<decltype(extent), GradientRows<T>> incoming(extent, args, lane);
        const auto gradient = [&](const Place& place, Floats x) HWY_ATTR {
            Floats dy = incoming.at(place);
            if constexpr (kFromInput) dy = times_slope_at_input<kActivation>(hn::MulAdd(x, scale, shift), dy);
            if constexpr (kFromResult) {
                dy = ActivationOf<kActivation>::times_slope(load_in_strip(extent, args.y, place), dy);
            }
            if (args.dresidual != nullptr) store_in_strip(extent, dy, args.dresidual, place);
            return dy;
        };
        for_row_pairs(
            strip,
            [&](const Place& first, const Place& second) HWY_ATTR {
                const auto x0 = load_in_strip(extent, args.x, first);
                const auto x1 = load_in_strip(extent, args.x, second);
                const auto dy0 = gradient(first, x0);
                const auto dy1 = gradient(second, x1);
                sum_dy = hn::Add(sum_dy, hn::Add(dy0, dy1));
                const auto product = hn::Mul(dy0, hn::Sub(x0, mean));
                sum_dy_x = hn::Add(sum_dy_x, hn::MulAdd(dy1, hn::Sub(x1, mean), product));
            },
            [&](const Place& place) HWY_ATTR {
                const auto x = load_in_strip(extent, args.x, place);
                const auto dy = gradient(place, x);
                sum_dy = hn::Add(sum_dy, dy);
                sum_dy_x = hn::MulAdd(dy, hn::Sub(x, mean), sum_dy_x);
            });
        extent.store_to(sum_dy, args.sum_dy + lane);
        extent.store_to(sum_dy_x, args.sum_dy_x + lane);
    });
}

template <typename T> void gradient_rows(const GradientRows<T>& args) {
    with_activation(args.activation, [&]<Activation kActivation>() {
        if constexpr (slope_follows_from_result(kActivation) && kActivation != Activation::none) {
            if (args.y != nullptr) return gradient_rows_sloped<kActivation, true>(args);
        }
        gradient_rows_sloped<kActivation, false>(args);
    });
}

void merge_parts(const PartRows& args) {
    const hn::ScalableTag<double> wide;
    const hn::Rebind<float, decltype(wide)> narrow;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(wide));
    const std::int64_t end = args.parts * args.apart;
    std::int64_t lane = 0;
    for (; lane + lanes <= args.lanes; lane += lanes) {
        auto first = hn::Zero(wide);
        auto second = hn::Zero(wide);
        for (std::int64_t at = lane; at < end + lane; at += args.apart) {
            first = hn::Add(first, hn::PromoteTo(wide, hn::LoadU(narrow, args.first + at)));
            second = hn::Add(second, hn::PromoteTo(wide, hn::LoadU(narrow, args.second + at)));
        }
        hn::StoreU(first, wide, args.first_sum + lane);
        hn::StoreU(second, wide, args.second_sum + lane);
    }
    for (; lane < args.lanes; ++lane) {
        for (std::int64_t at = lane; at < end + lane; at += args.apart) {
            args.first_sum[lane] += static_cast<double>(args.first[at]);
            args.second_sum[lane] += static_cast<double>(args.second[at]);
        }
    }
}

void sum_rows_f32(std::int64_t rows, std::int64_t lanes, const float* x, float* sum) {
    sum_rows(rows, lanes, x, sum);
}
void sum_rows_bf16(std::int64_t rows, std::int64_t lanes, const BFloat16* x, float* sum) {
    sum_rows(rows, lanes, x, sum);
}

CNNTRAIN_KERNELS_OF_TYPES(statistic_rows, StatisticRows)
CNNTRAIN_KERNELS_OF_TYPES(gradient_rows, GradientRows)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(sum_rows_f32);
HWY_EXPORT(sum_rows_bf16);
HWY_EXPORT(merge_parts);

void call_sum(std::int64_t rows, std::int64_t lanes, const float* x, float* sum) {
    HWY_DYNAMIC_DISPATCH(sum_rows_f32)(rows, lanes, x, sum);
}
void call_sum(std::int64_t rows, std::int64_t lanes, const BFloat16* x, float* sum) {
    HWY_DYNAMIC_DISPATCH(sum_rows_bf16)(rows, lanes, x, sum);
}

CNNTRAIN_CALL_OF_TYPES(call_statistics, statistic_rows, StatisticRows)
CNNTRAIN_CALL_OF_TYPES(call_gradient, gradient_rows, GradientRows)

constexpr std::int64_t kMostTasks = 64;
constexpr std::int64_t kMostPartRows = 256;
constexpr std::int64_t kFewestElements = 4096;  // of adjacent memory
constexpr std::int64_t kFewestPivotRows = 4;
constexpr std::int64_t kMostPivotRows = 16;
constexpr std::int64_t kRowsPerPivotRow = 512;
constexpr std::int64_t kMergeChannels = 16;  // per task: a line of memory

/// Two sums for every channel of every part.
class Partials {
public:
    Partials(const Blocks& shape, const ReductionPlan& plan, float* memory)
        : memory_(memory), channels_(shape.channels()), parts_(plan.parts) {}

    float* first(std::int64_t part) const { return memory_ + part * 2 * channels_; }
    float* second(std::int64_t part) const { return first(part) + channels_; }
    void clear(std::int64_t part, std::int64_t channel, std::int64_t count) const {
        std::fill_n(first(part) + channel, count, 0.0F);
        std::fill_n(second(part) + channel, count, 0.0F);
    }

    /// Calls finish(index, first sum, second sum) for every channel of every result; index = result * C + channel.
    template <typename Finish> void merge(std::int64_t results, const Finish& finish) const {
        const std::int64_t chunks = ceil_div(channels_, kMergeChannels);
        parallel_tasks(results * chunks, [&](std::int64_t task) {
            const std::int64_t result = task / chunks;
            const std::int64_t begin = task % chunks * kMergeChannels;
            const std::int64_t count = std::min(kMergeChannels, channels_ - begin);
            std::array<double, kMergeChannels> sum0{};
            std::array<double, kMergeChannels> sum1{};
            HWY_DYNAMIC_DISPATCH(merge_parts)
            ({.parts = parts_,
              .apart = 2 * channels_,
              .lanes = count,
              .first = first(result * parts_) + begin,
              .second = second(result * parts_) + begin,
              .first_sum = sum0.data(),
              .second_sum = sum1.data()});
            for (std::int64_t i = 0; i < count; ++i) {
                finish(result * channels_ + begin + i, sum0[static_cast<std::size_t>(i)],
                       sum1[static_cast<std::size_t>(i)]);
            }
        });
    }

private:
    float* memory_;
    std::int64_t channels_;
    std::int64_t parts_;
};

std::int64_t partial_floats(const Blocks& shape, bool per_sample) {
    const ReductionPlan plan = plan_reduction(shape, per_sample);
    return plan.results * plan.parts * 2 * shape.channels();
}

/// pivot[result, C]: the mean of a few rows. Its distance to the true mean enlarges the sums of squares, and with them
/// their rounding errors. The rows lie at multiples of the golden ratio, whose distances follow no period: rows that
/// are evenly spaced may all lie in the middle of photos.
template <typename T> void choose_pivots(const Blocks& shape, const ReductionPlan& plan, const T* x, float* pivots) {
    constexpr double kGoldenRatio = 0.6180339887498949;
    const std::int64_t count =
        std::min(plan.rows, std::clamp(plan.rows / kRowsPerPivotRow, kFewestPivotRows, kMostPivotRows));
    parallel_tasks(plan.results, [&](std::int64_t result) {
        float* pivot = pivots + result * shape.channels();
        std::fill_n(pivot, shape.channels(), 0.0F);
        for (std::int64_t i = 0; i < count; ++i) {
            const double place = static_cast<double>(i + 1) * kGoldenRatio;
            const auto row = static_cast<std::int64_t>((place - std::floor(place)) * static_cast<double>(plan.rows));
            const std::int64_t sample = result + row / shape.pixels;
            for (std::int64_t block = 0; block < shape.blocks; ++block) {
                call_sum(1, shape.lanes, x + shape.offset(sample, block, row % shape.pixels),
                         pivot + block * shape.lanes);
            }
        }
        for (std::int64_t c = 0; c < shape.channels(); ++c)
            pivot[c] /= static_cast<float>(count);
    });
}

/// reduce_statistics() without x: adds up the parts in a fixed order, about the pivot of the first one.
template <typename Finish>
void merge_statistics(const Blocks& shape, bool per_sample, const PartStatistics& parts, const Finish& finish) {
    CNNTRAIN_CHECK(std::reduce(parts.pixels.begin(), parts.pixels.end()) == shape.pixels,
                   "statistics are of other parts of the pixels");
    constexpr std::int64_t kChannels = 16;  // of a task: a line of memory
    const std::int64_t channels = shape.channels();
    const std::int64_t chunks = ceil_div(channels, kChannels);
    const std::int64_t samples = per_sample ? 1 : shape.n;  // of a result
    parallel_tasks((per_sample ? shape.n : 1) * chunks, [&](std::int64_t task) {
        const std::int64_t result = task / chunks;
        const std::int64_t begin = task % chunks * kChannels;
        const auto count = static_cast<std::size_t>(std::min(kChannels, channels - begin));
        const auto of_part = [&](std::int64_t part, std::int64_t sample) {
            return parts.values + (part * shape.n + sample) * 3 * channels + begin;
        };
        const float* const pivots = of_part(0, result * samples);
        std::array<double, kChannels> sums{};
        std::array<double, kChannels> squares{};
        for (std::int64_t part = 0; part < static_cast<std::int64_t>(parts.pixels.size()); ++part) {
            const auto pixels = static_cast<double>(parts.pixels[static_cast<std::size_t>(part)]);
            for (std::int64_t sample = result * samples; sample < (result + 1) * samples; ++sample) {
                const float* const from = of_part(part, sample);
                for (std::size_t i = 0; i < count; ++i) {
                    const double apart = static_cast<double>(from[i]) - static_cast<double>(pivots[i]);
                    const auto sum = static_cast<double>(from[static_cast<std::size_t>(channels) + i]);
                    const auto square = static_cast<double>(from[2 * static_cast<std::size_t>(channels) + i]);
                    sums[i] += sum + pixels * apart;
                    squares[i] += square + apart * (2 * sum + pixels * apart);
                }
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t index = result * channels + begin + static_cast<std::int64_t>(i);
            finish(index, static_cast<double>(pivots[i]), sums[i], squares[i]);
        }
    });
}

/// Calls finish(index, pivot, sum of x - pivot, sum of (x - pivot)^2) for every channel of every result.
template <typename T, typename Finish> void reduce_statistics(const Blocks& shape, bool per_sample, const T* x,
                                                              const PartStatistics& parts, std::span<float> scratch,
                                                              const Finish& finish) {
    if (parts.values != nullptr) return merge_statistics(shape, per_sample, parts, finish);
    const ReductionPlan plan = plan_reduction(shape, per_sample);
    float* pivots = scratch.data();
    const Partials partials(shape, plan, pivots + plan.results * shape.channels());
    choose_pivots(shape, plan, x, pivots);
    parallel_reduction(
        shape, plan,
        [&](std::int64_t part, std::int64_t channel, std::int64_t count) { partials.clear(part, channel, count); },
        [&](std::int64_t part, const RowRange& range) {
            call_statistics({.rows = range.rows,
                             .lanes = shape.lanes,
                             .x = x + range.offset,
                             .pivot = pivots + part / plan.parts * shape.channels() + range.channel,
                             .sum = partials.first(part) + range.channel,
                             .square = partials.second(part) + range.channel});
        });
    partials.merge(plan.results, [&](std::int64_t index, double sum, double square) {
        finish(index, static_cast<double>(pivots[index]), sum, square);
    });
}

void check_scratch(std::span<float> scratch, std::int64_t needed) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= needed, "scratch is smaller than the kernel said");
}

}  // namespace

ReductionPlan plan_reduction(const Blocks& shape, bool per_sample) {
    ReductionPlan plan;
    plan.results = per_sample ? shape.n : 1;
    plan.rows = per_sample ? shape.pixels : shape.n * shape.pixels;
    const std::int64_t block_elements = std::max<std::int64_t>(1, shape.pixels * shape.lanes);
    plan.group = std::clamp<std::int64_t>(kFewestElements / block_elements, 1, std::max<std::int64_t>(1, shape.blocks));
    plan.groups = ceil_div(shape.blocks, plan.group);
    plan.parts = std::max<std::int64_t>(1, ceil_div(plan.rows, kMostPartRows));
    const std::int64_t tasks = std::max<std::int64_t>(1, plan.results * plan.groups);
    const std::int64_t most =
        std::min({kMostTasks / tasks, plan.parts, shape.elements() / (2 * kFewestElements * tasks)});
    plan.chunks = std::max<std::int64_t>(1, most);
    return plan;
}

std::int64_t reduction_scratch_floats(const Blocks& shape, bool per_sample) {
    return partial_floats(shape, per_sample) + (per_sample ? 3 * shape.n : 1) * shape.channels();
}

template <typename T> void channel_statistics(const Blocks& shape, const T* x, const PartStatistics& parts, float* mean,
                                              float* variance, std::span<float> scratch) {
    check_scratch(scratch, reduction_scratch_floats(shape, false));
    const auto count = static_cast<double>(shape.n * shape.pixels);
    reduce_statistics(shape, false, x, parts, scratch, [&](std::int64_t c, double pivot, double sum, double square) {
        const double offset = sum / count;
        mean[c] = static_cast<float>(pivot + offset);
        const double spread = square / count - offset * offset;
        variance[c] = static_cast<float>(spread < 0 ? 0.0 : spread);  // NaN stays NaN
    });
}

template <typename T> void group_statistics(const Blocks& shape, std::int64_t groups, const T* x,
                                            const PartStatistics& parts, float* mean, float* variance,
                                            std::span<float> scratch) {
    check_scratch(scratch, reduction_scratch_floats(shape, true));
    const auto pixels = static_cast<double>(shape.pixels);
    float* means = scratch.data();                        // [N,C]
    float* squares = means + shape.n * shape.channels();  // [N,C] sums of squared differences from these means
    const auto rest = scratch.subspan(static_cast<std::size_t>(2 * shape.n * shape.channels()));
    reduce_statistics(shape, true, x, parts, rest, [&](std::int64_t i, double pivot, double sum, double square) {
        means[i] = static_cast<float>(pivot + sum / pixels);
        squares[i] = static_cast<float>(square - sum * sum / pixels);
    });
    const std::int64_t width = shape.channels() / groups;
    parallel_tasks(shape.n * groups, [&](std::int64_t group) {
        double total = 0;
        for (std::int64_t i = group * width; i < (group + 1) * width; ++i)
            total += static_cast<double>(means[i]);
        const double group_mean = total / static_cast<double>(width);
        double spread = 0;
        for (std::int64_t i = group * width; i < (group + 1) * width; ++i) {
            const double difference = static_cast<double>(means[i]) - group_mean;
            spread += static_cast<double>(squares[i]) + pixels * difference * difference;
        }
        mean[group] = static_cast<float>(group_mean);
        variance[group] = static_cast<float>((spread < 0 ? 0.0 : spread) / (pixels * static_cast<double>(width)));
    });
}

template <typename T> void norm_gradient_sums(const Blocks& shape, const MaskedGradient<T>& args, const float* mean,
                                              float* sum_dy, float* sum_dy_x, T* dresidual, std::span<float> scratch) {
    check_scratch(scratch, reduction_scratch_floats(shape, args.per_sample));
    const ReductionPlan plan = plan_reduction(shape, args.per_sample);
    const Partials partials(shape, plan, scratch.data());
    parallel_reduction(
        shape, plan,
        [&](std::int64_t part, std::int64_t channel, std::int64_t count) { partials.clear(part, channel, count); },
        [&](std::int64_t part, const RowRange& range) {
            const std::int64_t c = range.channel + (args.per_sample ? range.sample * shape.channels() : 0);
            call_gradient({.rows = range.rows,
                           .lanes = shape.lanes,
                           .x = args.x + range.offset,
                           .dy = args.dy + range.offset,
                           .dy2 = shifted(args.dy2, range.offset),
                           .gate = shifted(args.gate, range.sample * shape.all_channels() + range.channel),
                           .spread = shifted(args.spread, range.sample * shape.all_channels() + range.channel),
                           .share = 1 / static_cast<float>(shape.pixels),
                           .y = shifted(args.y, range.offset),
                           .dresidual = shifted(dresidual, range.offset),
                           .scale = shifted(args.scale, c),
                           .shift = shifted(args.shift, c),
                           .mean = mean + c,
                           .sum_dy = partials.first(part) + range.channel,
                           .sum_dy_x = partials.second(part) + range.channel,
                           .activation = args.activation});
        },
        args.gate != nullptr || args.spread != nullptr);
    partials.merge(plan.results, [&](std::int64_t index, double first, double second) {
        sum_dy[index] = static_cast<float>(first);
        sum_dy_x[index] = static_cast<float>(second);
    });
}

template <typename T> void bias_grad(const Blocks& shape, const T* dy, float* db, std::span<float> scratch) {
    check_scratch(scratch, reduction_scratch_floats(shape, false));
    const ReductionPlan plan = plan_reduction(shape, false);
    const Partials partials(shape, plan, scratch.data());
    parallel_reduction(
        shape, plan,
        [&](std::int64_t part, std::int64_t channel, std::int64_t count) { partials.clear(part, channel, count); },
        [&](std::int64_t part, const RowRange& range) {
            call_sum(range.rows, shape.lanes, dy + range.offset, partials.first(part) + range.channel);
        });
    partials.merge(plan.results,
                   [&](std::int64_t index, double sum, double /*unused*/) { db[index] = static_cast<float>(sum); });
}

template void channel_statistics(const Blocks&, const float*, const PartStatistics&, float*, float*, std::span<float>);
template void channel_statistics(const Blocks&, const BFloat16*, const PartStatistics&, float*, float*,
                                 std::span<float>);
template void group_statistics(const Blocks&, std::int64_t, const float*, const PartStatistics&, float*, float*,
                               std::span<float>);
template void group_statistics(const Blocks&, std::int64_t, const BFloat16*, const PartStatistics&, float*, float*,
                               std::span<float>);
template void norm_gradient_sums(const Blocks&, const MaskedGradient<float>&, const float*, float*, float*, float*,
                                 std::span<float>);
template void norm_gradient_sums(const Blocks&, const MaskedGradient<BFloat16>&, const float*, float*, float*,
                                 BFloat16*, std::span<float>);
template void bias_grad(const Blocks&, const float*, float*, std::span<float>);
template void bias_grad(const Blocks&, const BFloat16*, float*, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
