#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

template <typename In, typename Out> void check_normalise(std::int64_t pixels, std::int64_t channels) {
    std::vector<In> x;
    Rng rng(1, RngStream::test);
    for (std::int64_t i = 0; i < pixels * channels; ++i)
        x.push_back(rounded<In>(std::floor(rng.uniform(0, 256))));
    const auto scale = random_values<float>(channels, 2, 0.01, 0.02);
    const auto shift = random_values<float>(channels, 3);
    std::vector<double> want;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i % at(channels);
        want.push_back(widened(x[i]) * static_cast<double>(scale[c]) + static_cast<double>(shift[c]));
    }
    std::vector<Out> y(x.size());
    normalise_image(pixels, channels, x.data(), scale.data(), shift.data(), y.data());
    expect_near(y, want, 1e-6, "normalise_image " + std::to_string(pixels) + "x" + std::to_string(channels));
}

/// Bytes are rounded and limited.
template <typename In> void check_normalised_bytes(std::int64_t pixels, std::int64_t channels) {
    std::vector<In> x;
    Rng rng(1, RngStream::test);
    for (std::int64_t i = 0; i < pixels * channels; ++i)
        x.push_back(rounded<In>(std::floor(rng.uniform(0, 256))));
    const auto scale = random_values<float>(channels, 2, 0.9, 1.3);
    const auto shift = random_values<float>(channels, 3, -40, 20);
    std::vector<std::uint8_t> y(x.size());
    normalise_image(pixels, channels, x.data(), scale.data(), shift.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t c = i % at(channels);
        const double want = widened(x[i]) * static_cast<double>(scale[c]) + static_cast<double>(shift[c]);
        ASSERT_NEAR(y[i], std::clamp(want, 0.0, 255.0), 0.5001) << i;
    }
}

TEST(NormaliseImage, EveryTypeAndTail) {
    for_each_target([] {
        for (const std::int64_t pixels : {1, 5, 16, 49, 20'000}) {
            for (const std::int64_t channels : {3, 1, 4, 16}) {
                check_normalised_bytes<std::uint8_t>(pixels, channels);
                check_normalised_bytes<float>(pixels, channels);
                check_normalised_bytes<BFloat16>(pixels, channels);
                check_normalise<std::uint8_t, float>(pixels, channels);
                check_normalise<std::uint8_t, BFloat16>(pixels, channels);
                check_normalise<float, float>(pixels, channels);
                check_normalise<float, BFloat16>(pixels, channels);
                check_normalise<BFloat16, float>(pixels, channels);
                check_normalise<BFloat16, BFloat16>(pixels, channels);
            }
        }
    });
}

std::int64_t index_of(const Blocks& shape, std::int64_t n, std::int64_t c, std::int64_t pixel) {
    return ((n * shape.blocks + c / shape.lanes) * shape.pixels + pixel) * shape.lanes + c % shape.lanes;
}

/// body(n, c, pixel, index) over all elements.
template <typename Body> void for_elements(const Blocks& shape, const Body& body) {
    for (std::int64_t n = 0; n < shape.n; ++n) {
        for (std::int64_t c = 0; c < shape.channels(); ++c) {
            for (std::int64_t pixel = 0; pixel < shape.pixels; ++pixel)
                body(n, c, pixel, at(index_of(shape, n, c, pixel)));
        }
    }
}

template <typename T> class Spatial : public ::testing::Test {};
TYPED_TEST_SUITE(Spatial, Reals);

TYPED_TEST(Spatial, GlobalAveragePool) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            const auto x = random_values<TypeParam>(shape.elements(), 1);
            const auto dy = random_values<TypeParam>(shape.n * shape.channels(), 2);
            std::vector<double> mean(dy.size());
            std::vector<double> want_dx(x.size());
            const auto pixels = static_cast<double>(shape.pixels);
            for_elements(shape, [&](std::int64_t n, std::int64_t c, std::int64_t, std::size_t i) {
                mean[at(n * shape.channels() + c)] += widened(x[i]) / pixels;
                want_dx[i] = widened(dy[at(n * shape.channels() + c)]) / pixels;
            });
            std::vector<TypeParam> y(dy.size());
            global_average_pool(shape, x.data(), y.data());
            expect_near(y, mean, 1e-5, "pool " + text(shape));
            std::vector<TypeParam> dx(x.size());
            global_average_pool_grad(shape, dy.data(), dx.data());
            expect_near(dx, want_dx, 1e-7, "pool gradient " + text(shape));
        }
    });
}

TYPED_TEST(Spatial, BiasGradient) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            const auto x = random_values<TypeParam>(shape.elements(), 1);
            std::vector<double> sums(at(shape.channels()));
            for_elements(shape, [&](std::int64_t, std::int64_t c, std::int64_t, std::size_t i) {
                sums[at(c)] += widened(x[i]);
            });
            std::vector<float> db(sums.size());
            auto scratch = scratch_for(shape);
            bias_grad<TypeParam>(shape, x.data(), db.data(), scratch);
            expect_near(db, sums, 1e-4, "bias_grad " + text(shape));
        }
    });
}

struct ShortcutCase {
    Picture x, y;
    std::int64_t stride;
};

std::vector<ShortcutCase> shortcut_cases() {
    return {
        {{{2, 1, 64, 16}, 8, 8}, {{2, 1, 16, 32}, 4, 4}, 2},  // NHWC
        {{{3, 1, 35, 3}, 5, 7}, {{3, 1, 12, 10}, 3, 4}, 2},   // odd sizes
        {{{2, 1, 6, 5}, 2, 3}, {{2, 1, 6, 5}, 2, 3}, 1},      // nothing to do
        {{{2, 1, 64, 16}, 8, 8}, {{2, 2, 16, 16}, 4, 4}, 2},  // blocks of 16
        {{{1, 2, 25, 16}, 5, 5}, {{1, 5, 4, 16}, 2, 2}, 3},
    };
}

TYPED_TEST(Spatial, ShortcutPad) {
    for (const auto& [x_picture, y_picture, stride] : shortcut_cases()) {
        const auto x = random_values<TypeParam>(x_picture.shape.elements(), 1);
        const auto dy = random_values<TypeParam>(y_picture.shape.elements(), 2);
        std::vector<double> want_y(dy.size());
        std::vector<double> want_dx(x.size());
        const std::int64_t width = y_picture.width;
        for_elements(y_picture.shape, [&, &from = x_picture, &step = stride](std::int64_t n, std::int64_t c,
                                                                             std::int64_t pixel, std::size_t i) {
            if (c >= from.shape.channels()) return;
            const std::int64_t source = pixel / width * step * from.width + pixel % width * step;
            const std::size_t j = at(index_of(from.shape, n, c, source));
            want_y[i] = widened(x[j]);
            want_dx[j] = widened(dy[i]);
        });
        auto y = random_values<TypeParam>(y_picture.shape.elements(), 3);  // to be overwritten everywhere
        shortcut_pad(x_picture, y_picture, stride, x.data(), y.data());
        expect_near(y, want_y, 0, "shortcut_pad");
        auto dx = random_values<TypeParam>(x_picture.shape.elements(), 4);
        shortcut_pad_grad(x_picture, y_picture, stride, dy.data(), dx.data());
        expect_near(dx, want_dx, 0, "shortcut_pad_grad");
    }
}

TEST(ShortcutPad, MixedLayoutsAreRefused) {
    const Picture x{{1, 1, 4, 32}, 2, 2};
    const Picture y{{1, 4, 1, 16}, 1, 1};
    const std::vector<float> from(128);
    std::vector<float> to(64);
    EXPECT_ANY_THROW(shortcut_pad(x, y, 2, from.data(), to.data()));
}

TYPED_TEST(Spatial, BiasGradIsTheSameForAnyNumberOfThreads) {
    const Blocks shape{4, 1, 3136, 64};
    const auto dy = random_values<TypeParam>(shape.elements(), 1);
    expect_thread_independent([&] {
        std::vector<float> db(64);
        auto scratch = scratch_for(shape);
        bias_grad<TypeParam>(shape, dy.data(), db.data(), scratch);
        return db;
    });
}

}  // namespace
}  // namespace cnntrain::cpu
