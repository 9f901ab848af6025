// Batch and group normalisation, composed of the sweeps over memory in reduce.cpp and apply.cpp. Where channels are in
// blocks, the gradient of a large batch norm sweeps twice over some of them before it goes on to the next ones.
//
// With s = 1 / sqrt(variance + epsilon), x^ = (x - mean) * s, m the number of elements per statistic, and dy' the
// gradient times the activation's slope:
//   y  = x * scale + shift,  scale = gamma * s,  shift = beta - mean * scale
//   dx = s * (gamma * dy' - S1 / m - x^ * S2 / m),  S1 = sum gamma * dy',  S2 = sum gamma * dy' * x^
// with sums over the elements that share the statistic. In terms of x: dx = a * dy' + b * x + c with
//   a = gamma * s,  b = -s^2 * S2 / m,  c = -s * S1 / m - b * mean.
// Given statistics, which do not depend on x, leave b = c = 0.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"
#include "cnntrain/graph/activation.h"

namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kGradientArrays = 7;

/// Divides the scratch memory into pieces.
class Pieces {
public:
    explicit Pieces(std::span<float> memory) : rest_(memory) {}
    float* take(std::int64_t count) {
        CNNTRAIN_CHECK(static_cast<std::int64_t>(rest_.size()) >= count, "scratch is smaller than norm_scratch_floats");
        float* piece = rest_.data();
        rest_ = rest_.subspan(static_cast<std::size_t>(count));
        return piece;
    }
    std::span<float> rest() const { return rest_; }

private:
    std::span<float> rest_;
};

double inverse_deviation(float variance, double epsilon) {
    return 1.0 / std::sqrt(static_cast<double>(variance) + epsilon);
}

/// scale and shift for every channel (groups = 0), or for every sample and channel.
struct Affine {
    float* scale;
    float* shift;
};

/// Forward and backward compute identical numbers, so that a recomputed slope is taken at the same point as in forward.
void set_affine(const Blocks& shape, std::int64_t groups, const float* gamma, const float* beta, const float* mean,
                const float* variance, double epsilon, const Affine& affine) {
    const std::int64_t channels = shape.channels();
    const std::int64_t per_sample = groups == 0 ? channels : groups;  // number of statistics
    const std::int64_t width = channels / per_sample;
    parallel_tasks(groups == 0 ? 1 : shape.n, [&](std::int64_t sample) {
        for (std::int64_t group = 0; group < per_sample; ++group) {
            const std::int64_t statistic = sample * per_sample + group;
            const double s = inverse_deviation(variance[statistic], epsilon);
            for (std::int64_t c = group * width; c < (group + 1) * width; ++c) {
                const double scale = static_cast<double>(gamma[c]) * s;
                const double shift = static_cast<double>(beta[c]) - static_cast<double>(mean[statistic]) * scale;
                affine.scale[sample * channels + c] = static_cast<float>(scale);
                affine.shift[sample * channels + c] = static_cast<float>(shift);
            }
        }
    });
}

/// Sums of one sweep over memory, [C] or [N,C], and the coefficients computed from them.
struct GradientArrays {
    Affine affine;
    float *mean, *sum_dy, *sum_dy_x;
    float *a, *b, *c;
};

/// Computes the coefficients of the `width` channels that share a statistic. Leaves sum dy' * x^ in sum_dy_x.
template <typename T> void set_coefficients(const Blocks& shape, const NormGradient<T>& args, std::int64_t statistic,
                                            std::int64_t width, double elements, const GradientArrays& arrays) {
    const double s = inverse_deviation(args.variance[statistic], args.epsilon);
    const std::int64_t first = statistic * width;
    const float* gamma = args.gamma + first % shape.channels();
    double sum_1 = 0;
    double sum_2 = 0;
    for (std::int64_t i = 0; i < width; ++i) {
        const double sum_dy_x = static_cast<double>(arrays.sum_dy_x[first + i]) * s;
        arrays.sum_dy_x[first + i] = static_cast<float>(sum_dy_x);
        sum_1 += static_cast<double>(gamma[i]) * static_cast<double>(arrays.sum_dy[first + i]);
        sum_2 += static_cast<double>(gamma[i]) * sum_dy_x;
    }
    const double b = args.given_statistics ? 0 : -s * s * sum_2 / elements;
    const double c = args.given_statistics ? 0 : -s * sum_1 / elements - b * static_cast<double>(args.mean[statistic]);
    for (std::int64_t i = 0; i < width; ++i) {
        arrays.a[first + i] = static_cast<float>(static_cast<double>(gamma[i]) * s);
        arrays.b[first + i] = static_cast<float>(b);
        arrays.c[first + i] = static_cast<float>(c);
    }
}

/// Computes the coefficients of a batch norm whose statistics span several ranks' micro-batches; dgamma and dbeta are
/// of this rank's micro-batch only.
template <typename T>
void set_shared_coefficients(const Blocks& shape, const NormGradient<T>& args, const GradientArrays& arrays) {
    const auto channels = static_cast<std::size_t>(shape.channels());
    for (std::size_t c = 0; c < channels; ++c) {
        const double s = inverse_deviation(args.variance[c], args.epsilon);
        args.dgamma[c] = static_cast<float>(static_cast<double>(arrays.sum_dy_x[c]) * s);
        args.dbeta[c] = arrays.sum_dy[c];
    }
    args.over_ranks->add_up({arrays.sum_dy, channels}, {arrays.sum_dy_x, channels});
    const auto elements = static_cast<double>(shape.n * shape.pixels * args.over_ranks->ranks());
    for (std::size_t c = 0; c < channels; ++c)
        set_coefficients(shape, args, static_cast<std::int64_t>(c), 1, elements, arrays);
}

/// Sums over the samples of the arrays: dgamma = sum of dy' * x^, dbeta = sum of dy'.
void sum_over_samples(std::int64_t samples, std::int64_t channels, const float* from, float* to) {
    for (std::int64_t c = 0; c < channels; ++c) {
        double sum = 0;
        for (std::int64_t n = 0; n < samples; ++n)
            sum += static_cast<double>(from[n * channels + c]);
        to[c] = static_cast<float>(sum);
    }
}

/// The number of blocks of channels over which a gradient sweeps twice before it goes on to the next ones. The second
/// sweep runs backward and so begins with what is still in the last-level cache. Of a tensor larger than the cache this
/// is little; of a few channels it is most of what the first sweep has read. On Zen 4 (32 MB of cache), the gradients
/// of all norms of ResNet-50 with 32 images took 0.91 of the time in f32, 0.94 in bfloat16. Smaller tensors were not
/// faster in parts.
template <typename T> std::int64_t blocks_at_a_time(const Blocks& shape) {
    constexpr std::int64_t kMostWholeBytes = std::int64_t{32} << 20;
    constexpr std::int64_t kPartBytes = std::int64_t{4} << 20;
    const std::int64_t bytes = shape.elements() * static_cast<std::int64_t>(sizeof(T));
    if (bytes <= kMostWholeBytes) return shape.blocks;
    return std::max<std::int64_t>(1, shape.blocks * kPartBytes / bytes);
}

/// The arguments for the channels from block `first` on.
template <typename T> NormGradient<T> from_block(const Blocks& shape, NormGradient<T> args, std::int64_t first) {
    const std::int64_t channel = first * shape.lanes;
    const std::int64_t element = shape.offset(0, first, 0);
    for (const float** vector : {&args.gamma, &args.beta, &args.mean, &args.variance})
        *vector += channel;
    args.dgamma += channel;
    args.dbeta += channel;
    for (const T** vector : {&args.gate, &args.spread})
        *vector = shifted(*vector, channel);
    for (const T** tensor : {&args.x, &args.dy, &args.dy2, &args.y})
        *tensor = shifted(*tensor, element);
    args.dx += element;
    args.dresidual = shifted(args.dresidual, element);
    return args;
}

/// The memory in which the first sweep leaves dy' for the second one; null: each sweep computes dy'. That is better
/// where the slope costs little, and in bfloat16, which would round dy'.
template <typename T> T* kept_gradient(const NormGradient<T>& args) {
    if (args.dresidual != nullptr) return args.dresidual;
    const bool is_costly = !graph::is_piecewise_linear(args.activation);
    return std::is_same_v<T, float> && is_costly && args.dx != args.x ? args.dx : nullptr;
}

template <typename T>
void norm_gradient(const Blocks& shape, std::int64_t groups, const NormGradient<T>& args, std::span<float> scratch) {
    const bool per_sample = groups != 0;
    const std::int64_t samples = per_sample ? shape.n : 1;
    const std::int64_t count = samples * shape.channels();
    const std::int64_t width = per_sample ? shape.channels() / groups : 1;
    const std::int64_t statistics = shape.channels() / width;  // number per sample
    const std::int64_t elements = per_sample ? shape.pixels * width : shape.n * shape.pixels;

    Pieces pieces(scratch);
    GradientArrays arrays{};
    for (float** array : {&arrays.affine.scale, &arrays.affine.shift, &arrays.sum_dy, &arrays.sum_dy_x, &arrays.a,
                          &arrays.b, &arrays.c}) {
        *array = pieces.take(count);
    }
    arrays.mean = arrays.a;  // reuses the memory of the means, which are not needed once the coefficients exist
    for (std::int64_t i = 0; i < count; ++i)
        arrays.mean[i] = args.mean[i / width];

    MaskedGradient<T> gradient{.x = args.x,
                               .dy = args.dy,
                               .dy2 = args.dy2,
                               .gate = args.gate,
                               .spread = args.spread,
                               .y = args.y,
                               .per_sample = per_sample};
    gradient.activation = args.activation;
    if (args.activation != Activation::none && args.y == nullptr) {
        set_affine(shape, groups, args.gamma, args.beta, args.mean, args.variance, args.epsilon, arrays.affine);
        gradient.scale = arrays.affine.scale;
        gradient.shift = arrays.affine.shift;
    }
    T* const kept = kept_gradient(args);
    norm_gradient_sums(shape, gradient, arrays.mean, arrays.sum_dy, arrays.sum_dy_x, kept, pieces.rest());
    if (args.over_ranks != nullptr) {
        set_shared_coefficients(shape, args, arrays);
    } else {
        parallel_tasks(samples, [&](std::int64_t sample) {
            for (std::int64_t i = 0; i < statistics; ++i) {
                set_coefficients(shape, args, sample * statistics + i, width, static_cast<double>(elements), arrays);
            }
        });
        sum_over_samples(samples, shape.channels(), arrays.sum_dy_x, args.dgamma);
        sum_over_samples(samples, shape.channels(), arrays.sum_dy, args.dbeta);
    }
    if (kept != nullptr) gradient = {.x = args.x, .dy = kept, .per_sample = per_sample};
    norm_gradient_apply(shape, gradient, arrays.a, arrays.b, arrays.c, args.dx);
}

}  // namespace

std::int64_t norm_scratch_floats(const Blocks& shape, std::int64_t groups) {
    const bool per_sample = groups != 0;
    std::int64_t reduction = reduction_scratch_floats(shape, per_sample);
    Blocks part = shape;  // a part of the channels may be divided into more parts of rows
    for (part.blocks = 1; part.blocks < shape.blocks && !per_sample; ++part.blocks)
        reduction = std::max(reduction, reduction_scratch_floats(part, false));
    return kGradientArrays * (per_sample ? shape.n : 1) * shape.channels() + reduction;
}

template <typename T>
void norm_inference(const Blocks& shape, std::int64_t groups, const NormForward<T>& args, std::span<float> scratch) {
    Pieces pieces(scratch);
    const std::int64_t count = (groups == 0 ? 1 : shape.n) * shape.channels();
    const Affine affine{pieces.take(count), pieces.take(count)};
    set_affine(shape, groups, args.gamma, args.beta, args.mean, args.variance, args.epsilon, affine);
    norm_apply<T>(shape, {.x = args.x,
                          .residual = args.residual,
                          .scale = affine.scale,
                          .shift = affine.shift,
                          .y = args.y,
                          .sums = args.sums,
                          .per_sample = groups != 0,
                          .activation = args.activation});
}

template <typename T>
void batch_norm_forward(const Blocks& shape, const NormForward<T>& args, std::span<float> scratch) {
    channel_statistics(shape, args.x, args.parts, args.mean, args.variance, scratch);
    norm_inference(shape, 0, args, scratch);
}

template <typename T> void group_norm_forward(const Blocks& shape, std::int64_t groups, const NormForward<T>& args,
                                              std::span<float> scratch) {
    group_statistics(shape, groups, args.x, args.parts, args.mean, args.variance, scratch);
    norm_inference(shape, groups, args, scratch);
}

template <typename T>
void batch_norm_gradient(const Blocks& shape, const NormGradient<T>& args, std::span<float> scratch) {
    if (args.over_ranks != nullptr) return norm_gradient(shape, 0, args, scratch);  // ranks add up all sums at a time
    const std::int64_t most = blocks_at_a_time<T>(shape);
    for (std::int64_t first = 0; first < shape.blocks; first += most) {
        Blocks part = shape;
        part.blocks = std::min(most, shape.blocks - first);
        part.apart = shape.blocks;
        norm_gradient(part, 0, from_block(shape, args, first), scratch);
    }
}

template <typename T> void group_norm_gradient(const Blocks& shape, std::int64_t groups, const NormGradient<T>& args,
                                               std::span<float> scratch) {
    norm_gradient(shape, groups, args, scratch);
}

template void batch_norm_forward(const Blocks&, const NormForward<float>&, std::span<float>);
template void batch_norm_forward(const Blocks&, const NormForward<BFloat16>&, std::span<float>);
template void norm_inference(const Blocks&, std::int64_t, const NormForward<float>&, std::span<float>);
template void norm_inference(const Blocks&, std::int64_t, const NormForward<BFloat16>&, std::span<float>);
template void group_norm_forward(const Blocks&, std::int64_t, const NormForward<float>&, std::span<float>);
template void group_norm_forward(const Blocks&, std::int64_t, const NormForward<BFloat16>&, std::span<float>);
template void batch_norm_gradient(const Blocks&, const NormGradient<float>&, std::span<float>);
template void batch_norm_gradient(const Blocks&, const NormGradient<BFloat16>&, std::span<float>);
template void group_norm_gradient(const Blocks&, std::int64_t, const NormGradient<float>&, std::span<float>);
template void group_norm_gradient(const Blocks&, std::int64_t, const NormGradient<BFloat16>&, std::span<float>);

}  // namespace cnntrain::cpu
