// Activations, channel gates, random scales and the depthwise weight gradient against float64, on every instruction
// set.
#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

template <typename T> class Gate : public ::testing::Test {};
TYPED_TEST_SUITE(Gate, Reals);

TYPED_TEST(Gate, ActivationsMatchFloat64) {
    for_each_target([] {
        for (const Activation activation : graph::kActivations) {
            for (const std::int64_t count : {1, 15, 16, 1003}) {
                const auto x = random_values<TypeParam>(count, 1, -20, 20);
                const auto dy = random_values<TypeParam>(count, 2);
                std::vector<double> values;
                std::vector<double> gradients;  // where x stands for y, too
                for (std::size_t i = 0; i < x.size(); ++i) {
                    values.push_back(graph::activated(activation, widened(x[i])));
                    gradients.push_back(widened(dy[i]) * graph::slope(activation, widened(x[i])));
                }
                const std::string name(graph::name(activation));
                auto y = x;
                activate(count, activation, y.data(), y.data());
                expect_near(y, values, 2e-6, name);
                y = dy;
                activation_grad(count, activation, x.data(), y.data(), y.data());
                expect_near(y, gradients, 1e-5, name + " gradient");
            }
        }
    });
}

TYPED_TEST(Gate, ExtremesStayFiniteAndNanStaysNan) {
    for_each_target([] {
        const std::vector<TypeParam> x = {rounded<TypeParam>(-3e38), rounded<TypeParam>(3e38),
                                          rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN())};
        std::vector<TypeParam> y(3);
        activate(3, Activation::sigmoid, x.data(), y.data());
        EXPECT_NEAR(widened(y[0]), 0, 1e-30);
        EXPECT_NEAR(widened(y[1]), 1, 1e-6);
        EXPECT_TRUE(std::isnan(widened(y[2])));
        activate(3, Activation::swish, x.data(), y.data());
        EXPECT_NEAR(widened(y[1]) / widened(x[1]), 1, 1e-6);
        EXPECT_TRUE(std::isnan(widened(y[2])));
    });
}

TYPED_TEST(Gate, ScalesChannelsAndSumsTheGradient) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            if (shape.pixels > 100) continue;
            const auto x = random_values<TypeParam>(shape.elements(), 1);
            const auto dy = random_values<TypeParam>(shape.elements(), 2);
            const auto gate = random_values<TypeParam>(shape.n * shape.channels(), 3, 0, 1);
            std::vector<double> want_y(x.size());
            std::vector<double> want_dx(x.size());
            std::vector<double> want_dgate(gate.size());
            for (std::size_t i = 0; i < x.size(); ++i) {
                const std::int64_t row = static_cast<std::int64_t>(i) / shape.lanes;
                const std::size_t g = at(row / shape.pixels * shape.lanes + static_cast<std::int64_t>(i) % shape.lanes);
                want_y[i] = widened(x[i]) * widened(gate[g]);
                want_dx[i] = widened(dy[i]) * widened(gate[g]);
                want_dgate[g] += widened(dy[i]) * widened(x[i]);
            }
            auto y = x;
            scale_channels(shape, y.data(), gate.data(), y.data());
            expect_near(y, want_y, 1e-7, "scale_channels " + text(shape));
            std::vector<float> scratch(at(scale_channels_scratch_floats(shape)));
            auto dx = dy;
            std::vector<TypeParam> dgate(gate.size());
            scale_channels_grad(shape, x.data(), gate.data(), dx.data(), dx.data(), dgate.data(), scratch);
            expect_near(dx, want_dx, 1e-7, "dx " + text(shape));
            expect_near(dgate, want_dgate, 3e-5, "dgate " + text(shape));
            std::vector<TypeParam> alone(gate.size());
            scale_channels_grad<TypeParam>(shape, x.data(), gate.data(), dy.data(), nullptr, alone.data(), scratch);
            EXPECT_TRUE(same_bits(alone, dgate)) << text(shape);
        }
    });
}

TYPED_TEST(Gate, RandomScaleKeepsWhatTheWordsSay) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            if (shape.pixels > 100) continue;
            for (const bool per_sample : {false, true}) {
                const RandomScale scale{.seed = 5,
                                        .site = 2,
                                        .first_sample = 1000,
                                        .last_kept = last_word_within(0.3),
                                        .factor = static_cast<float>(1 / 0.3),
                                        .per_sample = per_sample};
                const auto x = random_values<TypeParam>(shape.elements(), 1);
                std::vector<double> want(x.size());
                for (std::size_t i = 0; i < x.size(); ++i) {
                    const auto index = static_cast<std::int64_t>(i);
                    const std::int64_t row = index / shape.lanes;
                    const std::int64_t sample = row / shape.pixels / shape.blocks;
                    const std::int64_t c = row / shape.pixels % shape.blocks * shape.lanes + index % shape.lanes;
                    const std::int64_t element = row % shape.pixels * shape.channels() + c;
                    const WordKey key =
                        word_key(5, RngStream::random_scale, 2, static_cast<std::uint64_t>(1000 + sample));
                    const auto word = random_word(key, per_sample ? 0 : static_cast<std::uint32_t>(element));
                    want[i] = word <= scale.last_kept ? widened(x[i]) / 0.3 : 0;
                }
                auto y = x;
                random_scale(shape, scale, y.data(), y.data());
                expect_near(y, want, 1e-6, text(shape));
            }
        }
    });
}

TYPED_TEST(Gate, DepthwiseWeightGradientMatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t kernel : {1, 3, 5, 7}) {
            for (const std::int64_t stride : {1, 2}) {
                for (const Picture& x_picture : {Picture{{3, 1, 42, 17}, 7, 6}, Picture{{2, 2, 42, 16}, 7, 6},
                                                 Picture{{1, 1, 9 * 61, 40}, 9, 61}}) {
                    const auto& [x_shape, height, width] = x_picture;
                    DepthwiseShape shape;
                    shape.x = x_picture;
                    shape.y = {x_shape, (height + stride - 1) / stride, (width + stride - 1) / stride};
                    shape.y.shape.pixels = shape.y.height * shape.y.width;
                    shape.kernel = kernel;
                    shape.stride = stride;
                    shape.top = (kernel - 1) / 2;
                    shape.left = kernel / 2 / stride;
                    const auto x = random_values<TypeParam>(shape.x.shape.elements(), 1);
                    const auto dy = random_values<TypeParam>(shape.y.shape.elements(), 2);
                    const std::int64_t channels = x_shape.channels();
                    std::vector<double> want(at(kernel * kernel * channels));
                    for (std::int64_t i = 0; i < shape.y.shape.elements(); ++i) {
                        const std::int64_t pixel = i / x_shape.lanes % shape.y.shape.pixels;
                        const std::int64_t image = i / x_shape.lanes / shape.y.shape.pixels;
                        const std::int64_t c = image % x_shape.blocks * x_shape.lanes + i % x_shape.lanes;
                        for (std::int64_t tap = 0; tap < kernel * kernel; ++tap) {
                            const std::int64_t ih = pixel / shape.y.width * stride - shape.top + tap / kernel;
                            const std::int64_t iw = pixel % shape.y.width * stride - shape.left + tap % kernel;
                            if (ih < 0 || ih >= height || iw < 0 || iw >= width) continue;
                            const std::int64_t j = ((image * height + ih) * width + iw) * x_shape.lanes;
                            want[at(tap * channels + c)] += widened(x[at(j + i % x_shape.lanes)]) * widened(dy[at(i)]);
                        }
                    }
                    std::vector<float> scratch(at(depthwise_scratch_floats(shape)));
                    std::vector<float> dw(want.size());
                    depthwise_weight_grad(shape, x.data(), dy.data(), dw.data(), scratch);
                    expect_near(dw, want, 2e-5,
                                "k=" + std::to_string(kernel) + " s=" + std::to_string(stride) + " " + text(x_shape));
                }
            }
        }
    });
}

TEST(MergedGroups, AreBlockDiagonalAndComeBack) {
    const MergedKernel kernel{2, 2, 8, 4, 2};
    const auto from = random_values<float>(2 * 2 * 8, 1);
    std::vector<float> merged(2 * 4 * 8, 1.0F);
    merge_groups(kernel, from.data(), merged.data());
    for (std::int64_t tap = 0; tap < 2; ++tap) {
        for (std::int64_t row = 0; row < 4; ++row) {
            for (std::int64_t o = 0; o < 8; ++o) {
                const bool same_group = row / 2 == o / 2 % 2;
                const float want = same_group ? from[at((tap * 2 + row % 2) * 8 + o)] : 0;
                EXPECT_EQ(merged[at((tap * 4 + row) * 8 + o)], want) << tap << " " << row << " " << o;
            }
        }
    }
    std::vector<float> back(from.size());
    split_groups(kernel, merged.data(), back.data());
    EXPECT_EQ(back, from);
}

}  // namespace
}  // namespace cnntrain::cpu
