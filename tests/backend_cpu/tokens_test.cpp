// Embeddings, gathered rows, layer norm and the loss of tokens against float64, on every instruction set.
#include "backend/cpu/kernels/tokens.h"

#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

template <typename T> class Tokens : public ::testing::Test {};
TYPED_TEST_SUITE(Tokens, Reals);

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<std::int32_t> numbers_below(std::int64_t count, std::int64_t below, std::uint64_t seed) {
    Rng rng(seed, RngStream::test);
    std::vector<std::int32_t> numbers(at(count));
    for (std::int32_t& number : numbers)
        number = static_cast<std::int32_t>(rng.integer(-2, below + 2));
    return numbers;
}

bool is_row(std::int32_t number, std::int64_t rows) {
    return number >= 0 && number < rows;
}

TYPED_TEST(Tokens, EmbeddingCopiesRowsAndLeavesZeros) {
    for_each_target([] {
        for (const std::int64_t features : {1, 7, 16, 33}) {
            const TableShape shape{37, 5, features};
            const auto ids = numbers_below(shape.count, shape.rows, 1);
            const auto table = random_values<TypeParam>(shape.rows * features, 2);
            std::vector<double> want(at(shape.count * features));
            for (std::size_t i = 0; i < want.size(); ++i) {
                const std::int32_t id = ids[i / at(features)];
                if (is_row(id, shape.rows)) want[i] = widened(table[at(id * features) + i % at(features)]);
            }
            auto y = random_values<TypeParam>(shape.count * features, 3);
            embedding(shape, ids.data(), table.data(), y.data());
            expect_near(y, want, 0, "y");
            std::vector<float> wide(y.size());
            embedding(shape, ids.data(), table.data(), wide.data());
            expect_near(wide, want, 0, "y as floats");
        }
    });
}

/// Gradients are added to the values in the table; rows that no id names stay as they are.
TYPED_TEST(Tokens, EmbeddingGradientAddsInOrder) {
    for_each_target([] {
        for (const std::int64_t rows : {1, 3, 50, 1000}) {
            const TableShape shape{333, rows, 19};
            const auto ids = numbers_below(shape.count, rows, 1);
            const auto dy = random_values<TypeParam>(shape.count * shape.features, 2);
            auto dtable = random_values<float>(rows * shape.features, 3);
            std::vector<double> want(dtable.begin(), dtable.end());
            for (std::size_t i = 0; i < dy.size(); ++i) {
                const std::int32_t id = ids[i / at(shape.features)];
                if (is_row(id, rows)) want[at(id * shape.features) + i % at(shape.features)] += widened(dy[i]);
            }
            std::vector<float> scratch(at(embedding_scratch_floats(shape)), kNan);
            embedding_grad(shape, ids.data(), dy.data(), dtable.data(), scratch);
            expect_near(dtable, want, 1e-5, std::to_string(rows) + " rows");
        }
    });
}

TYPED_TEST(Tokens, EmbeddingGradientIsTheSameForAnyNumberOfThreads) {
    const TableShape shape{500, 6, 300};
    const auto ids = numbers_below(shape.count, shape.rows, 1);
    const auto dy = random_values<TypeParam>(shape.count * shape.features, 2);
    expect_thread_independent([&] {
        std::vector<float> dtable(at(shape.rows * shape.features));
        std::vector<float> scratch(at(embedding_scratch_floats(shape)));
        embedding_grad(shape, ids.data(), dy.data(), dtable.data(), scratch);
        return dtable;
    });
}

TYPED_TEST(Tokens, GatherAndItsGradient) {
    for_each_target([] {
        for (const std::int64_t features : {1, 17, 300}) {
            const GatherShape shape{3, 5, 9, features};
            const auto positions = numbers_below(shape.samples * shape.picked, shape.rows, 1);
            const auto x = random_values<TypeParam>(shape.samples * shape.rows * features, 2);
            const auto dy = random_values<TypeParam>(shape.samples * shape.picked * features, 3);
            std::vector<double> want_y(dy.size());
            std::vector<double> want_dx(x.size());
            for (std::size_t i = 0; i < dy.size(); ++i) {
                const std::int64_t place = static_cast<std::int64_t>(i) / features;
                const std::int32_t row = positions[at(place)];
                if (!is_row(row, shape.rows)) continue;
                const std::size_t source = at((place / shape.picked * shape.rows + row) * features) + i % at(features);
                want_y[i] = widened(x[source]);
                want_dx[source] += widened(dy[i]);
            }
            auto y = random_values<TypeParam>(std::ssize(dy), 4);
            gather_rows(shape, x.data(), positions.data(), y.data());
            expect_near(y, want_y, 0, "y");
            auto dx = random_values<TypeParam>(std::ssize(x), 5);
            gather_rows_grad(shape, positions.data(), dy.data(), dx.data());
            expect_near(dx, want_dx, 1e-6, "dx");
        }
    });
}

// ---- layer norm ----

ElementDropout dropout_with(double keep) {
    return {.active = keep < 1,
            .seed = 3,
            .site = 4,
            .first_sample = 10,
            .last_kept = last_word_within(keep),
            .factor = static_cast<float>(1 / keep)};
}

double scaled(const ElementDropout& dropout, const RowsShape& shape, std::size_t i, double x) {
    if (!dropout.active) return x;
    const std::size_t sample = i / at(shape.rows * shape.features);
    const auto element = static_cast<std::uint32_t>(i % at(shape.rows * shape.features));
    const bool kept = random_word(dropout.key(static_cast<std::int64_t>(sample)), element) <= dropout.last_kept;
    return kept ? x * static_cast<double>(dropout.factor) : 0;
}

struct LayerNormWant {
    std::vector<double> y, mean, variance;
};

LayerNormWant layer_norm_of(const std::vector<double>& z, const std::vector<float>& gamma,
                            const std::vector<float>& beta) {
    LayerNormWant want{.y = std::vector<double>(z.size()), .mean = {}, .variance = {}};
    const std::size_t features = gamma.size();
    for (std::size_t row = 0; row < z.size(); row += features) {
        double mean = 0;
        double variance = 0;
        for (std::size_t c = 0; c < features; ++c)
            mean += z[row + c] / static_cast<double>(features);
        for (std::size_t c = 0; c < features; ++c)
            variance += (z[row + c] - mean) * (z[row + c] - mean) / static_cast<double>(features);
        for (std::size_t c = 0; c < features; ++c)
            want.y[row + c] = widened(gamma[c]) * (z[row + c] - mean) / std::sqrt(variance + 1e-3) + widened(beta[c]);
        want.mean.push_back(mean);
        want.variance.push_back(variance);
    }
    return want;
}

/// The norm of a sum with dropout and residual, with z in the place of x; then the norm of x alone, in place.
TYPED_TEST(Tokens, LayerNormMatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t features : {1, 3, 16, 37, 100}) {
            for (const double keep : {1.0, 0.75}) {
                const RowsShape shape{2, 11, features};
                const std::int64_t count = shape.samples * shape.rows * features;
                auto x = random_values<TypeParam>(count, 1, -1, 3);
                const auto residual = random_values<TypeParam>(count, 2);
                const auto gamma = random_values<float>(features, 3);
                const auto beta = random_values<float>(features, 4);
                std::vector<double> z(x.size());
                for (std::size_t i = 0; i < z.size(); ++i) {
                    const auto kept = static_cast<float>(scaled(dropout_with(keep), shape, i, widened(x[i])));
                    const float sum = kept + static_cast<float>(widened(residual[i]));  // rounded as the kernel does
                    z[i] = widened(rounded<TypeParam>(widened(sum)));
                }
                const LayerNormWant want = layer_norm_of(z, gamma, beta);
                std::vector<TypeParam> y(x.size());
                std::vector<float> mean(at(shape.samples * shape.rows));
                std::vector<float> variance(mean.size());
                std::vector<float> scratch(at(layer_norm_scratch_floats(shape)), kNan);
                layer_norm<TypeParam>(shape,
                                      {.x = x.data(),
                                       .residual = residual.data(),
                                       .gamma = gamma.data(),
                                       .beta = beta.data(),
                                       .y = y.data(),
                                       .z = x.data(),
                                       .mean = mean.data(),
                                       .variance = variance.data(),
                                       .epsilon = 1e-3F,
                                       .dropout = dropout_with(keep)},
                                      scratch);
                expect_near(x, z, 1e-6, "z");
                expect_near(y, want.y, 2e-5, "y");
                expect_near(mean, want.mean, 1e-6, "mean");
                expect_near(variance, want.variance, 1e-5, "variance");
                layer_norm<TypeParam>(shape,
                                      {.x = x.data(),
                                       .gamma = gamma.data(),
                                       .beta = beta.data(),
                                       .y = x.data(),
                                       .mean = mean.data(),
                                       .variance = variance.data(),
                                       .epsilon = 1e-3F},
                                      scratch);
                EXPECT_TRUE(same_bits(x, y)) << "without a residual, in place";
            }
        }
    });
}

struct LayerNormGradients {
    std::vector<double> dz, dgamma, dbeta;
};

LayerNormGradients gradients_of(const std::vector<double>& z, const std::vector<float>& gamma,
                                const std::vector<double>& dy) {
    const std::size_t features = gamma.size();
    const auto count = static_cast<double>(features);
    LayerNormGradients want{std::vector<double>(z.size()), std::vector<double>(features),
                            std::vector<double>(features)};
    for (std::size_t row = 0; row < z.size(); row += features) {
        double mean = 0;
        double variance = 0;
        for (std::size_t c = 0; c < features; ++c)
            mean += z[row + c] / count;
        for (std::size_t c = 0; c < features; ++c)
            variance += (z[row + c] - mean) * (z[row + c] - mean) / count;
        const double scale = 1 / std::sqrt(variance + 1e-3);
        double sum = 0;
        double projection = 0;
        for (std::size_t c = 0; c < features; ++c) {
            const double normalised = (z[row + c] - mean) * scale;
            sum += widened(gamma[c]) * dy[row + c] / count;
            projection += widened(gamma[c]) * dy[row + c] * normalised / count;
            want.dgamma[c] += dy[row + c] * normalised;
            want.dbeta[c] += dy[row + c];
        }
        for (std::size_t c = 0; c < features; ++c) {
            const double normalised = (z[row + c] - mean) * scale;
            want.dz[row + c] = scale * (widened(gamma[c]) * dy[row + c] - sum - normalised * projection);
        }
    }
    return want;
}

TYPED_TEST(Tokens, LayerNormGradientMatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t features : {3, 16, 37, 100}) {
            const RowsShape shape{3, 17, features};
            const ElementDropout dropout = dropout_with(0.6);
            const std::int64_t count = shape.samples * shape.rows * features;
            const auto x = random_values<TypeParam>(count, 1, -1, 3);
            auto dy = random_values<TypeParam>(count, 2);
            auto dy2 = random_values<TypeParam>(count, 3);
            const auto gamma = random_values<float>(features, 4);
            std::vector<double> z;
            std::vector<double> sums;
            for (std::size_t i = 0; i < x.size(); ++i) {
                z.push_back(widened(x[i]));
                sums.push_back(widened(dy[i]) + widened(dy2[i]));
            }
            const LayerNormGradients want = gradients_of(z, gamma, sums);
            const LayerNormWant forward = layer_norm_of(z, gamma, gamma);
            const std::vector<float> mean(forward.mean.begin(), forward.mean.end());
            const std::vector<float> variance(forward.variance.begin(), forward.variance.end());
            std::vector<float> dgamma(gamma.size());
            std::vector<float> dbeta(gamma.size());
            std::vector<float> scratch(at(layer_norm_scratch_floats(shape)), kNan);
            // dz and dx take the places of dy and its other summand.
            layer_norm_grad<TypeParam>(shape,
                                       {.z = x.data(),
                                        .dy = dy.data(),
                                        .dy2 = dy2.data(),
                                        .gamma = gamma.data(),
                                        .mean = mean.data(),
                                        .variance = variance.data(),
                                        .dz = dy.data(),
                                        .dx = dy2.data(),
                                        .dgamma = dgamma.data(),
                                        .dbeta = dbeta.data(),
                                        .epsilon = 1e-3F,
                                        .dropout = dropout},
                                       scratch);
            std::vector<double> want_dx;
            for (std::size_t i = 0; i < want.dz.size(); ++i)
                want_dx.push_back(scaled(dropout, shape, i, want.dz[i]));
            expect_near(dy, want.dz, 3e-5, "dz");
            expect_near(dy2, want_dx, 3e-5, "dx");
            expect_near(dgamma, want.dgamma, 3e-5, "dgamma");
            expect_near(dbeta, want.dbeta, 3e-5, "dbeta");
        }
    });
}

TYPED_TEST(Tokens, LayerNormGradientIsTheSameForAnyNumberOfThreads) {
    const RowsShape shape{7, 50, 64};
    const std::int64_t count = shape.samples * shape.rows * shape.features;
    const auto z = random_values<TypeParam>(count, 1);
    const auto dy = random_values<TypeParam>(count, 2);
    const auto gamma = random_values<float>(shape.features, 3);
    const std::vector<float> mean(at(shape.samples * shape.rows), 0.1F);
    const std::vector<float> variance(mean.size(), 1.2F);
    expect_thread_independent([&] {
        std::vector<TypeParam> dz(z.size());
        std::vector<float> sums(at(2 * shape.features));
        std::vector<float> scratch(at(layer_norm_scratch_floats(shape)));
        layer_norm_grad<TypeParam>(shape,
                                   {.z = z.data(),
                                    .dy = dy.data(),
                                    .gamma = gamma.data(),
                                    .mean = mean.data(),
                                    .variance = variance.data(),
                                    .dz = dz.data(),
                                    .dgamma = sums.data(),
                                    .dbeta = sums.data() + shape.features,
                                    .epsilon = 1e-3F},
                                   scratch);
        return sums;
    });
}

// ---- the loss ----

TYPED_TEST(Tokens, LossMatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t classes : {1, 2, 17, 1000}) {
            const std::int64_t tokens = 9;
            auto logits = random_values<TypeParam>(tokens * classes, 1, -6, 6);
            const auto labels = numbers_below(tokens, classes, 2);
            auto weights = random_values<float>(tokens, 3, 0, 2);
            weights[4] = 0;
            std::vector<double> want_gradient(logits.size());
            double sum = 1e-5;
            for (const float weight : weights)
                sum += widened(weight);
            double loss = 0;
            double correct = 0;
            for (std::size_t n = 0; n < at(tokens); ++n) {
                if (!is_row(labels[n], classes)) continue;
                double total = 0;
                std::size_t best = 0;
                const auto z = [&](std::size_t c) { return widened(logits[n * at(classes) + c]); };
                for (std::size_t c = 0; c < at(classes); ++c) {
                    total += std::exp(z(c));
                    if (z(c) > z(best)) best = c;
                }
                const double weight = widened(weights[n]);
                loss += weight * (std::log(total) - z(at(labels[n]))) / sum;
                correct += best == at(labels[n]) ? weight / (sum - 1e-5) : 0;
                for (std::size_t c = 0; c < at(classes); ++c) {
                    const double target = c == at(labels[n]) ? 1 : 0;
                    want_gradient[n * at(classes) + c] = 0.5 * weight / sum * (std::exp(z(c)) / total - target);
                }
            }
            std::vector<float> log_sums(at(tokens));
            std::vector<float> scratch(at(token_loss_scratch_floats(tokens)), kNan);
            const LossSums got = token_cross_entropy<TypeParam>(tokens, classes, logits.data(), labels.data(),
                                                                weights.data(), log_sums.data(), scratch);
            EXPECT_NEAR(widened(got.loss), loss, 1e-5 * (1 + loss));
            EXPECT_NEAR(widened(got.correct), correct, 1e-6);
            token_cross_entropy_grad<TypeParam>(tokens, classes,
                                                {.logits = logits.data(),
                                                 .labels = labels.data(),
                                                 .weights = weights.data(),
                                                 .log_sums = log_sums.data(),
                                                 .dloss = 0.5F,
                                                 .dlogits = logits.data()});
            expect_near(logits, want_gradient, 2e-6, "gradient, in place");
        }
    });
}

TYPED_TEST(Tokens, LossDoesNotHideWhatIsNotANumber) {
    for_each_target([] {
        auto logits = random_values<TypeParam>(40, 1);
        logits[33] = rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN());
        const std::vector<std::int32_t> labels{1, 2};
        const std::vector<float> weights{1, 1};
        std::vector<float> log_sums(2);
        std::vector<float> scratch(4);
        EXPECT_TRUE(std::isnan(token_cross_entropy<TypeParam>(2, 20, logits.data(), labels.data(), weights.data(),
                                                              log_sums.data(), scratch)
                                   .loss));
    });
}

}  // namespace
}  // namespace cnntrain::cpu
