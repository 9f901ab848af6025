// Large, aligned outputs are stored past the caches: they must be the same numbers.
#include "backend/cpu/kernels/conv.h"
#include "backend_cpu/kernel_data.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::cpu {
namespace {

template <typename T> class PastCache : public testing::Test {};
using Types = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(PastCache, Types);

/// HostTensor's memory is aligned to a cache line; its values repeat, so that filling it is quick.
template <typename T> HostTensor repeated(std::int64_t count, std::uint64_t seed) {
    const std::vector<T> pattern = random_values<T>(4099, seed);
    HostTensor tensor({DTypeOf<T>::value, {count}});
    const std::span<T> values = tensor.as<T>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = pattern[i % pattern.size()];
    return tensor;
}

template <typename T> void compare(const Blocks& shape) {
    const HostTensor x = repeated<T>(shape.elements(), 1);
    const HostTensor residual = repeated<T>(shape.elements(), 2);
    const std::vector<float> scale = random_values<float>(shape.channels(), 3);
    const std::vector<float> shift = random_values<float>(shape.channels(), 4);
    HostTensor past_cache({DTypeOf<T>::value, {shape.elements()}});
    HostTensor in_place = x;  // an output that is an input is stored the ordinary way
    NormApply<T> args;
    args.x = x.as<T>().data();
    args.residual = residual.as<T>().data();
    args.scale = scale.data();
    args.shift = shift.data();
    args.activation = Activation::relu;
    args.y = past_cache.as<T>().data();
    norm_apply(shape, args);
    args.x = in_place.as<T>().data();
    args.y = in_place.as<T>().data();
    norm_apply(shape, args);
    EXPECT_EQ(std::memcmp(past_cache.bytes().data(), in_place.bytes().data(), x.bytes().size()), 0);

    const std::vector<T> gate = random_values<T>(shape.n * shape.channels(), 5);
    in_place = x;
    scale_channels(shape, x.as<T>().data(), gate.data(), past_cache.as<T>().data());
    scale_channels(shape, in_place.as<T>().data(), gate.data(), in_place.as<T>().data());
    EXPECT_EQ(std::memcmp(past_cache.bytes().data(), in_place.bytes().data(), x.bytes().size()), 0);
}

TYPED_TEST(PastCache, BlockedAndChannelsLast) {
    compare<TypeParam>({2, 2, 102'401, 16});
    compare<TypeParam>({1, 1, 102'401, 64});
}

/// compute(y) fills `count` floats. Unaligned ones are stored the ordinary way.
template <typename Compute> void expect_same_unaligned(std::int64_t count, const Compute& compute) {
    HostTensor aligned({DType::f32, {count}});
    HostTensor unaligned({DType::f32, {count + 1}});
    compute(aligned.as<float>().data());
    compute(unaligned.as<float>().data() + 1);
    EXPECT_EQ(std::memcmp(aligned.as<float>().data(), unaligned.as<float>().data() + 1, aligned.bytes().size()), 0);
}

TEST(PastCacheConv, Pointwise) {
    const PointwiseShape shape{1, 98'305, 3, 32};
    const HostTensor x = repeated<float>(shape.rows() * shape.inputs, 1);
    const std::vector<float> weights = random_values<float>(pointwise_weight_floats(shape), 2);
    expect_same_unaligned(shape.rows() * shape.outputs, [&](float* y) {
        pointwise_conv(shape, {.x = x.as<float>().data(), .weights = weights.data(), .y = y}, Activation::none, {});
    });
}

TEST(PastCacheConv, DepthwiseAndItsInputGradient) {
    const Picture picture{{1, 1, 450 * 450, 16}, 450, 450};
    const DepthwiseShape shape{picture, picture, 3, 1, 1, 1};
    const HostTensor x = repeated<float>(picture.shape.elements(), 1);
    const std::vector<float> weights = random_values<float>(9 * 16, 2);
    expect_same_unaligned(picture.shape.elements(), [&](float* y) {
        depthwise_conv(shape, {.x = x.as<float>().data(), .weights = weights.data(), .y = y}, Activation::none);
    });
    expect_same_unaligned(picture.shape.elements(),
                          [&](float* dx) { depthwise_input_grad(shape, x.as<float>().data(), weights.data(), dx); });
}

}  // namespace
}  // namespace cnntrain::cpu
