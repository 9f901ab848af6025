// Standardised activations and proxy samples against float64, on every instruction set.
#include <array>
#include <utility>

#include "backend_cpu/kernel_data.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

template <typename T> class ProxyNorm : public ::testing::Test {};
TYPED_TEST_SUITE(ProxyNorm, Reals);

TYPED_TEST(ProxyNorm, StandardisesAndSumsTheGradient) {
    for_each_target([] {
        for (const Blocks& shape : shape_grid()) {
            if (shape.pixels > 100) continue;
            const std::int64_t channels = shape.channels();
            const auto x = random_values<TypeParam>(shape.elements(), 1);
            const auto dy = random_values<TypeParam>(shape.elements(), 2);
            const auto mean = random_values<float>(channels, 3);
            const auto scale = random_values<float>(channels, 4, 0.5, 2);
            std::vector<float> scratch(at(standardise_scratch_floats(shape)), std::numeric_limits<float>::quiet_NaN());
            auto y = x;
            standardise(shape, y.data(), mean.data(), scale.data(), y.data(), scratch);
            auto centred = x;
            standardise(shape, centred.data(), mean.data(), nullptr, centred.data(), scratch);
            auto dx = dy;
            std::vector<float> dmean(at(channels));
            std::vector<float> dscale(at(channels));
            standardise_grad<TypeParam>(shape,
                                        {.y = y.data(),
                                         .dy = dx.data(),
                                         .scale = scale.data(),
                                         .dx = dx.data(),
                                         .dmean = dmean.data(),
                                         .dscale = dscale.data()},
                                        scratch);

            std::vector<double> want_y(x.size());
            std::vector<double> want_centred(x.size());
            std::vector<double> want_dx(x.size());
            std::vector<double> want_dmean(at(channels));
            std::vector<double> want_dscale(at(channels));
            for (std::size_t i = 0; i < x.size(); ++i) {
                const auto index = static_cast<std::int64_t>(i);
                const std::int64_t block = index / shape.lanes / shape.pixels % shape.blocks;
                const std::size_t c = at(block * shape.lanes + index % shape.lanes);
                want_centred[i] = widened(x[i]) - widened(mean[c]);
                want_y[i] = want_centred[i] * widened(scale[c]);
                want_dx[i] = widened(dy[i]) * widened(scale[c]);
                want_dmean[c] -= want_dx[i];
                want_dscale[c] += widened(dy[i]) * widened(y[i]) / widened(scale[c]);
            }
            expect_near(y, want_y, 1e-6, "y " + text(shape));
            expect_near(centred, want_centred, 1e-6, "centred " + text(shape));
            expect_near(dx, want_dx, 1e-6, "dx " + text(shape));
            expect_near(dmean, want_dmean, 1e-4, "dmean " + text(shape));
            expect_near(dscale, want_dscale, 1e-4, "dscale " + text(shape));
        }
    });
}

double exact(Activation activation, double x) {
    return activation == Activation::relu ? std::max(x, 0.0) : x / (1 + std::exp(-x));
}

/// Mean and inverse deviation of the proxy sample of the rows beta, gamma, -, -, beta', gamma'.
std::pair<double, double> moments(Activation activation, double epsilon, const std::array<double, 6>& rows) {
    const std::vector<double> quantiles = normal_quantiles(200);
    double mean = 0;
    double square = 0;
    for (const double z : quantiles)
        mean += exact(activation, rows[1] * ((1 + rows[5]) * z + rows[4]) + rows[0]) / 200;
    for (const double z : quantiles)
        square += std::pow(exact(activation, rows[1] * ((1 + rows[5]) * z + rows[4]) + rows[0]) - mean, 2) / 200;
    return {mean, 1 / std::sqrt(square + epsilon)};
}

TYPED_TEST(ProxyNorm, StatisticsAndTheirGradientMatchFloat64) {
    const std::vector<double> exact = normal_quantiles(200);
    const std::vector<float> quantiles(exact.begin(), exact.end());
    for_each_target([&] {
        for (const Activation activation : {Activation::swish, Activation::relu}) {
            for (const std::int64_t channels : {1, 15, 16, 131}) {
                auto rows = random_values<TypeParam>(6 * channels, 5, -1, 1);
                const auto arriving = random_values<float>(6 * channels, 6);
                const auto row = [&](std::int64_t c) {
                    std::array<double, 6> values{};
                    for (std::size_t r = 0; r < 6; ++r)
                        values[r] = widened(rows[r * at(channels) + at(c)]);
                    return values;
                };
                std::vector<double> want(rows.size());
                std::vector<double> want_gradient(rows.size());
                for (std::int64_t c = 0; c < channels; ++c) {
                    const auto [mean, inverse_deviation] = moments(activation, 0.03, row(c));
                    for (std::size_t r = 0; r < 6; ++r) {
                        const std::size_t i = r * at(channels) + at(c);
                        want[i] = r == 2 ? mean : r == 3 ? inverse_deviation : row(c)[r];
                        if (r == 2 || r == 3) continue;
                        // One step, wide enough for the kinks of many ReLUs to average out.
                        constexpr double kStep = 1e-5;
                        std::array<double, 6> above = row(c);
                        std::array<double, 6> below = row(c);
                        above[r] += kStep;
                        below[r] -= kStep;
                        const auto up = moments(activation, 0.03, above);
                        const auto down = moments(activation, 0.03, below);
                        const double through =
                            (widened(arriving[2 * at(channels) + at(c)]) * (up.first - down.first) +
                             widened(arriving[3 * at(channels) + at(c)]) * (up.second - down.second)) /
                            (2 * kStep);
                        want_gradient[i] = widened(arriving[i]) + through + (r > 3 ? 0.25 * row(c)[r] : 0);
                    }
                }
                std::vector<float> gradient = arriving;
                const Proxy<const TypeParam> read{channels, rows.data(), quantiles, activation, 0.03F};
                proxy_norm_gradient<TypeParam>(read, 0.25F, gradient.data(), gradient.data());
                // A quantile within the step of a kink moves the difference by at most its share.
                expect_near(gradient, want_gradient, activation == Activation::relu ? 2e-2 : 1e-4, "gradient");
                proxy_norm_statistics<TypeParam>({channels, rows.data(), quantiles, activation, 0.03F});
                expect_near(rows, want, 1e-5, "statistics");
            }
        }
    });
}

}  // namespace
}  // namespace cnntrain::cpu
