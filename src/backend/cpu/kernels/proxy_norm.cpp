// Proxy norm: standardised activations, and the moments of the proxy samples with their gradient. The moments are
// vectors over channels; with hundreds of quantiles per channel, the activation function determines their time.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"
#include "cnntrain/graph/op.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/proxy_norm.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_PROXY_NORM_ARGUMENTS_
#define CNNTRAIN_CPU_PROXY_NORM_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

namespace proxy_row = graph::proxy_row;

/// Channels first .. first + count - 1 of a proxy.
template <typename T> struct ProxyChannels {
    Proxy<T> proxy;
    std::int64_t first = 0, count = 0;
    float weight_decay = 0;
    const float* gradient = nullptr;
    float* result = nullptr;
};
template <typename T> using ReadProxyChannels = ProxyChannels<const T>;

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// The proxy samples of one vector of channels, with their mean and inverse deviation.
template <Activation kActivation> class ProxySamples {
public:
    template <typename T, typename Extent>
    HWY_INLINE ProxySamples(const ProxyChannels<T>& args, const Extent& extent, std::int64_t channel) {
        const Proxy<T>& proxy = args.proxy;
        const auto row = [&](proxy_row::Row index)
                             HWY_ATTR { return extent.load_from(proxy.rows + index * proxy.channels + channel); };
        const FloatTag d;
        gamma = row(proxy_row::gamma);
        stretch = hn::Add(hn::Set(d, 1.0F), row(proxy_row::proxy_gamma));
        shift = row(proxy_row::proxy_beta);
        slope_of_input = hn::Mul(gamma, stretch);
        input_at_zero = hn::MulAdd(gamma, shift, row(proxy_row::beta));

        const auto count = static_cast<std::int64_t>(proxy.quantiles.size());
        const Floats share = hn::Set(d, 1.0F / static_cast<float>(count));
        Floats sum = hn::Zero(d);
        for (std::int64_t i = 0; i < count; ++i) {
            const Floats value = ActivationOf<kActivation>::value(input(proxy.quantiles[static_cast<std::size_t>(i)]));
            hn::StoreU(value, d, values_ + i * kWidth);
            sum = hn::Add(sum, value);
        }
        mean = hn::Mul(sum, share);
        // Samples far from zero may have a small deviation: the rounding error of the mean must not contribute to it.
        Floats rest = hn::Zero(d);
        for (std::int64_t i = 0; i < count; ++i)
            rest = hn::Add(rest, hn::Sub(load(values_ + i * kWidth), mean));
        rest_of_mean = hn::Mul(rest, share);
        Floats squares = hn::Zero(d);
        for (std::int64_t i = 0; i < count; ++i) {
            const Floats difference = difference_at(i);
            squares = hn::MulAdd(difference, difference, squares);
        }
        const Floats variance = hn::MulAdd(squares, share, hn::Set(d, proxy.epsilon));
        inverse_deviation = hn::Div(hn::Set(d, 1.0F), hn::Sqrt(variance));
    }

    /// Input of the activation for a quantile of the normal distribution.
    HWY_INLINE Floats input(float quantile) const {
        return hn::MulAdd(slope_of_input, hn::Set(FloatTag(), quantile), input_at_zero);
    }
    HWY_INLINE Floats difference_at(std::int64_t i) const {
        return hn::Sub(hn::Sub(load(values_ + i * kWidth), mean), rest_of_mean);
    }

    Floats gamma, stretch, shift, slope_of_input, input_at_zero, mean, rest_of_mean, inverse_deviation;

private:
    float values_[kMostQuantiles * kWidth];
};

template <Activation kActivation, typename T> void statistics_of_channels(const ProxyChannels<T>& args) {
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const std::int64_t channel = args.first + i;
        const ProxySamples<kActivation> samples(args, extent, channel);
        T* rows = args.proxy.rows + channel;
        extent.store_to(samples.mean, rows + proxy_row::mean * args.proxy.channels);
        extent.store_to(samples.inverse_deviation, rows + proxy_row::inverse_deviation * args.proxy.channels);
    });
}

template <Activation kActivation, typename T> void gradient_of_channels(const ProxyChannels<T>& args) {
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const std::int64_t channel = args.first + i;
        const ProxySamples<kActivation> samples(args, extent, channel);
        const auto at = [&](proxy_row::Row row) { return row * args.proxy.channels + channel; };
        const FloatTag d;
        const Floats share = hn::Set(d, 1.0F / static_cast<float>(args.proxy.quantiles.size()));
        const Floats cube =
            hn::Mul(samples.inverse_deviation, hn::Mul(samples.inverse_deviation, samples.inverse_deviation));
        const Floats dmean = hn::Mul(extent.load_from(args.gradient + at(proxy_row::mean)), share);
        const Floats dspread =
            hn::Mul(hn::Mul(extent.load_from(args.gradient + at(proxy_row::inverse_deviation)), cube), share);
        Floats sum = hn::Zero(d);     // of the gradients of the activations' inputs
        Floats moment = hn::Zero(d);  // of these gradients times their quantiles
        for (std::size_t k = 0; k < args.proxy.quantiles.size(); ++k) {
            const float quantile = args.proxy.quantiles[k];
            const Floats dp = hn::NegMulAdd(dspread, samples.difference_at(static_cast<std::int64_t>(k)), dmean);
            const Floats du = times_slope_at_input<kActivation>(samples.input(quantile), dp);
            sum = hn::Add(sum, du);
            moment = hn::MulAdd(du, hn::Set(d, quantile), moment);
        }
        const auto put = [&](proxy_row::Row row, Floats through) HWY_ATTR {
            extent.store_to(hn::Add(extent.load_from(args.gradient + at(row)), through), args.result + at(row));
        };
        const Floats decay = hn::Set(d, args.weight_decay);
        const auto decayed = [&](proxy_row::Row row, Floats through) HWY_ATTR {
            return hn::MulAdd(extent.load_from(args.proxy.rows + at(row)), decay, through);
        };
        put(proxy_row::beta, sum);
        put(proxy_row::gamma, hn::MulAdd(samples.stretch, moment, hn::Mul(samples.shift, sum)));
        put(proxy_row::proxy_beta, decayed(proxy_row::proxy_beta, hn::Mul(samples.gamma, sum)));
        put(proxy_row::proxy_gamma, decayed(proxy_row::proxy_gamma, hn::Mul(samples.gamma, moment)));
        for (const auto row : {proxy_row::mean, proxy_row::inverse_deviation})
            extent.store_to(hn::Zero(d), args.result + at(row));
    });
}

template <typename T> void statistics(const ProxyChannels<T>& args) {
    with_activation(args.proxy.activation,
                    [&]<Activation kActivation>() { statistics_of_channels<kActivation>(args); });
}
template <typename T> void gradient(const ProxyChannels<T>& args) {
    with_activation(args.proxy.activation, [&]<Activation kActivation>() { gradient_of_channels<kActivation>(args); });
}

CNNTRAIN_KERNELS_OF_TYPES(statistics, ProxyChannels)
CNNTRAIN_KERNELS_OF_TYPES(gradient, ReadProxyChannels)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_statistics, statistics, ProxyChannels)
CNNTRAIN_CALL_OF_TYPES(call_gradient, gradient, ReadProxyChannels)

constexpr std::int64_t kChannelGrain = 64;

template <typename T> void check_proxy(const Proxy<T>& proxy) {
    CNNTRAIN_CHECK(!proxy.quantiles.empty() && proxy.quantiles.size() <= kMostQuantiles,
                   "a proxy needs quantiles, and not too many");
}

void check_scratch(const Blocks& shape, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= standardise_scratch_floats(shape),
                   "scratch is smaller than standardise_scratch_floats");
}

}  // namespace

std::int64_t standardise_scratch_floats(const Blocks& shape) {
    return 2 * shape.channels() + reduction_scratch_floats(shape, false);
}

template <typename T> void standardise(const Blocks& shape, const T* x, const float* mean, const float* scale, T* y,
                                       std::span<float> scratch) {
    check_scratch(shape, scratch);
    const std::int64_t channels = shape.channels();
    float* factors = scratch.data();
    float* shifts = factors + channels;
    for (std::int64_t c = 0; c < channels; ++c) {
        factors[c] = scale == nullptr ? 1.0F : scale[c];
        shifts[c] = mean == nullptr ? 0.0F : -mean[c] * factors[c];
    }
    norm_apply<T>(shape, {.x = x, .scale = factors, .shift = shifts, .y = y});
}

template <typename T>
void standardise_grad(const Blocks& shape, const StandardiseGradient<T>& args, std::span<float> scratch) {
    check_scratch(shape, scratch);
    const std::int64_t channels = shape.channels();
    float* zeros = scratch.data();
    float* sums = zeros + channels;
    std::fill_n(zeros, channels, 0.0F);
    norm_gradient_sums<T>(shape, {.x = args.y, .dy = args.dy}, zeros, sums, args.dscale, nullptr,
                          scratch.subspan(static_cast<std::size_t>(2 * channels)));
    for (std::int64_t c = 0; c < channels; ++c) {
        if (args.dmean != nullptr) args.dmean[c] = -sums[c] * args.scale[c];
        args.dscale[c] /= args.scale[c];
    }
    norm_apply<T>(shape, {.x = args.dy, .scale = args.scale, .shift = zeros, .y = args.dx});
}

template <typename T> void proxy_norm_statistics(const Proxy<T>& proxy) {
    check_proxy(proxy);
    parallel_ranges(
        proxy.channels,
        [&](std::int64_t begin, std::int64_t end) {
            call_statistics({.proxy = proxy, .first = begin, .count = end - begin});
        },
        kChannelGrain);
}

template <typename T>
void proxy_norm_gradient(const Proxy<const T>& proxy, float weight_decay, const float* gradient, float* result) {
    check_proxy(proxy);
    parallel_ranges(
        proxy.channels,
        [&](std::int64_t begin, std::int64_t end) {
            call_gradient({.proxy = proxy,
                           .first = begin,
                           .count = end - begin,
                           .weight_decay = weight_decay,
                           .gradient = gradient,
                           .result = result});
        },
        kChannelGrain);
}

template void standardise(const Blocks&, const float*, const float*, const float*, float*, std::span<float>);
template void standardise(const Blocks&, const BFloat16*, const float*, const float*, BFloat16*, std::span<float>);
template void standardise_grad(const Blocks&, const StandardiseGradient<float>&, std::span<float>);
template void standardise_grad(const Blocks&, const StandardiseGradient<BFloat16>&, std::span<float>);
template void proxy_norm_statistics(const Proxy<float>&);
template void proxy_norm_statistics(const Proxy<BFloat16>&);
template void proxy_norm_gradient<float>(const Proxy<const float>&, float, const float*, float*);
template void proxy_norm_gradient<BFloat16>(const Proxy<const BFloat16>&, float, const float*, float*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
