// Steps of attention between its products against float64, on every instruction set; whole attention for any number of
// threads.
#include <cmath>
#include <cstring>

#include "backend/cpu/kernels/tokens.h"
#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

template <typename T> class Attention : public ::testing::Test {};
TYPED_TEST_SUITE(Attention, Reals);

AttentionTile tile_of(std::int64_t queries, std::int64_t keys, const std::vector<float>& mask, bool drops) {
    AttentionTile tile;
    tile.queries = queries;
    tile.keys = keys;
    tile.mask = mask.data();
    tile.scale = 0.5F;
    tile.drops = drops;
    tile.key = word_key(1, RngStream::random_scale, 2, 3);
    tile.first_word = 1000;
    tile.query_words = keys + 3;
    tile.last_kept = last_word_within(0.7);
    tile.factor = static_cast<float>(1 / 0.7);
    return tile;
}

double kept(const AttentionTile& tile, std::size_t i, double x) {
    if (!tile.drops) return x;
    const std::size_t keys = at(tile.keys);
    const std::size_t word = (at(tile.first_query) + i / keys) * at(tile.query_words) + i % keys;
    const bool is_kept = random_word(tile.key, tile.first_word + static_cast<std::uint32_t>(word)) <= tile.last_kept;
    return is_kept ? x * static_cast<double>(tile.factor) : 0;
}

struct Softmax {
    std::vector<double> q;         // probabilities before dropout
    std::vector<double> log_sums;  // by query
};

Softmax softmax_of(const AttentionTile& tile, const std::vector<float>& scores) {
    Softmax result{std::vector<double>(scores.size()), {}};
    const std::size_t keys = at(tile.keys);
    for (std::size_t row = 0; row < scores.size(); row += keys) {
        const auto score = [&](std::size_t key) {
            return static_cast<double>(tile.scale) * widened(scores[row + key]) + widened(tile.mask[key]);
        };
        double largest = score(0);
        for (std::size_t key = 1; key < keys; ++key)
            largest = std::max(largest, score(key));
        double sum = 0;
        for (std::size_t key = 0; key < keys; ++key)
            sum += std::exp(score(key) - largest);
        result.log_sums.push_back(largest + std::log(sum));
        for (std::size_t key = 0; key < keys; ++key)
            result.q[row + key] = std::exp(score(key) - result.log_sums.back());
    }
    return result;
}

/// Probabilities in the place of the scores, of either type.
TYPED_TEST(Attention, ProbabilitiesMatchFloat64) {
    for_each_target([] {
        for (const std::int64_t queries : {1, 3, 4, 9}) {
            for (const std::int64_t keys : {1, 5, 16, 40, 129}) {
                for (const bool drops : {false, true}) {
                    auto scores = random_values<float>(queries * keys, 1, -8, 8);
                    auto mask = random_values<float>(keys, 2, -2, 0);
                    if (keys > 1) mask[1] = -1000;
                    const AttentionTile tile = tile_of(queries, keys, mask, drops);
                    const Softmax want = softmax_of(tile, scores);
                    std::vector<double> want_p;
                    for (std::size_t i = 0; i < want.q.size(); ++i)
                        want_p.push_back(kept(tile, i, want.q[i]));
                    std::vector<float> log_sums(at(queries));
                    auto* const p = reinterpret_cast<TypeParam*>(scores.data());
                    attention_probabilities(tile, scores.data(), p, log_sums.data());
                    expect_near(std::vector<TypeParam>(p, p + queries * keys), want_p, 1e-6, "p");
                    expect_near(log_sums, want.log_sums, 1e-6, "log sums");
                }
            }
        }
    });
}

TYPED_TEST(Attention, ScoreGradientsMatchFloat64) {
    for_each_target([] {
        for (const std::int64_t queries : {1, 3, 4, 9}) {
            for (const std::int64_t keys : {1, 5, 16, 40, 129}) {
                for (const bool drops : {false, true}) {
                    auto scores = random_values<float>(queries * keys, 1, -4, 4);
                    auto dp = random_values<float>(queries * keys, 2);
                    const auto mask = random_values<float>(keys, 3, -2, 0);
                    const auto dots = random_values<float>(queries, 4);
                    const AttentionTile tile = tile_of(queries, keys, mask, drops);
                    const Softmax forward = softmax_of(tile, scores);
                    const std::vector<float> log_sums(forward.log_sums.begin(), forward.log_sums.end());
                    std::vector<double> want_p;
                    std::vector<double> want_ds;
                    for (std::size_t i = 0; i < forward.q.size(); ++i) {
                        want_p.push_back(kept(tile, i, forward.q[i]));
                        const double slope = kept(tile, i, widened(dp[i])) - widened(dots[i / at(keys)]);
                        want_ds.push_back(0.5 * forward.q[i] * slope);
                    }
                    auto* const p = reinterpret_cast<TypeParam*>(scores.data());
                    auto* const ds = reinterpret_cast<TypeParam*>(dp.data());
                    attention_score_gradients<TypeParam>(tile, {.scores = scores.data(),
                                                                .dp = dp.data(),
                                                                .log_sums = log_sums.data(),
                                                                .dots = dots.data(),
                                                                .p = p,
                                                                .ds = ds});
                    expect_near(std::vector<TypeParam>(p, p + queries * keys), want_p, 2e-6, "p");
                    expect_near(std::vector<TypeParam>(ds, ds + queries * keys), want_ds, 2e-6, "ds");
                }
            }
        }
    });
}

TYPED_TEST(Attention, LargeScoresDoNotOverflowAndNanStays) {
    for_each_target([] {
        std::vector<float> scores(40, -3e30F);
        scores[7] = 3e30F;
        scores[25] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> mask(20, 0.0F);
        const AttentionTile tile = tile_of(2, 20, mask, false);
        std::vector<TypeParam> p(40);
        std::vector<float> log_sums(2);
        attention_probabilities(tile, scores.data(), p.data(), log_sums.data());
        EXPECT_EQ(widened(p[7]), 1);
        EXPECT_LT(widened(p[6]), 1e-30);
        EXPECT_TRUE(std::isnan(widened(p[20]))) << "a query with a score that is none has no probabilities";
        EXPECT_TRUE(std::isnan(log_sums[1]));
    });
}

TYPED_TEST(Attention, GradientsOfAQueryWithoutProbabilitiesAreNan) {
    for_each_target([] {
        for (const std::int64_t keys : {5, 40}) {
            const std::vector<float> scores(at(2 * keys), 0.5F);
            const std::vector<float> dp(at(2 * keys), 2.0F);
            const std::vector<float> mask(at(keys), 0.0F);
            const std::vector<float> log_sums{0.5F + std::log(static_cast<float>(keys)),
                                              std::numeric_limits<float>::quiet_NaN()};
            const std::vector<float> dots(2, 1.0F);
            std::vector<TypeParam> p(at(2 * keys));
            std::vector<TypeParam> ds(at(2 * keys));
            attention_score_gradients<TypeParam>(tile_of(2, keys, mask, false), {.scores = scores.data(),
                                                                                 .dp = dp.data(),
                                                                                 .log_sums = log_sums.data(),
                                                                                 .dots = dots.data(),
                                                                                 .p = p.data(),
                                                                                 .ds = ds.data()});
            for (std::size_t i = 0; i < p.size(); ++i) {
                EXPECT_EQ(std::isnan(widened(p[i])), i >= at(keys)) << i;
                EXPECT_EQ(std::isnan(widened(ds[i])), i >= at(keys)) << i;
            }
        }
    });
}

/// A NaN in the incoming gradient reaches only its own key.
TYPED_TEST(Attention, NanOfAnIncomingGradientStays) {
    for_each_target([] {
        const std::int64_t keys = 40;
        const std::vector<float> scores(at(keys), 0.0F);
        std::vector<float> dp(at(keys), 2.0F);
        dp[3] = std::numeric_limits<float>::quiet_NaN();
        const std::vector<float> mask(at(keys), 0.0F);
        const std::vector<float> log_sums{std::log(40.0F)};
        const std::vector<float> dots{1.0F};
        std::vector<TypeParam> p(at(keys));
        std::vector<TypeParam> ds(at(keys));
        attention_score_gradients<TypeParam>(tile_of(1, keys, mask, false), {.scores = scores.data(),
                                                                             .dp = dp.data(),
                                                                             .log_sums = log_sums.data(),
                                                                             .dots = dots.data(),
                                                                             .p = p.data(),
                                                                             .ds = ds.data()});
        for (std::size_t i = 0; i < ds.size(); ++i)
            EXPECT_EQ(std::isnan(widened(ds[i])), i == 3) << i;
    });
}

/// A tile in the middle of a head draws the words of its queries; what it fetches ahead changes nothing.
TYPED_TEST(Attention, TilesOfAHeadMakeTheWholeHead) {
    for_each_target([] {
        const std::int64_t keys = 37;
        const auto scores = random_values<float>(6 * keys, 1, -4, 4);
        const auto mask = random_values<float>(keys, 2, -2, 0);
        const std::vector<TypeParam> soon(at(6 * 50));
        const RowsAhead rows{reinterpret_cast<const std::byte*>(soon.data()), 50 * sizeof(TypeParam),
                             40 * sizeof(TypeParam)};
        const auto run = [&](AttentionTile tile, std::int64_t first) {
            tile.first_query = first;
            std::vector<float> own(scores.begin() + first * keys, scores.begin() + (first + tile.queries) * keys);
            std::vector<TypeParam> p(own.size());
            std::vector<float> log_sums(at(tile.queries));
            attention_probabilities(tile, own.data(), p.data(), log_sums.data());
            return p;
        };
        const std::vector<TypeParam> whole = run(tile_of(6, keys, mask, true), 0);
        AttentionTile half = tile_of(3, keys, mask, true);
        half.ahead = std::span(&rows, 1);
        std::vector<TypeParam> parts = run(half, 0);
        const std::vector<TypeParam> second = run(half, 3);
        parts.insert(parts.end(), second.begin(), second.end());
        EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(TypeParam)), 0);
    });
}

TYPED_TEST(Attention, RowsWithGaps) {
    for_each_target([] {
        for (const std::int64_t features : {1, 8, 21, 64}) {
            const std::int64_t rows = 5;
            const auto a = random_values<TypeParam>(rows * (features + 3), 1);
            const auto b = random_values<TypeParam>(rows * features, 2);
            const auto x = random_values<float>(rows * features, 3);
            std::vector<double> want(at(rows));
            std::vector<TypeParam> y(at(rows * (features + 2)), rounded<TypeParam>(7));
            std::vector<double> want_y(y.size(), 7.0);
            for (std::int64_t row = 0; row < rows; ++row) {
                for (std::int64_t i = 0; i < features; ++i) {
                    want[at(row)] += widened(a[at(row * (features + 3) + i)]) * widened(b[at(row * features + i)]);
                    want_y[at(row * (features + 2) + i)] = widened(x[at(row * features + i)]);
                }
            }
            std::vector<float> dots(at(rows));
            row_dots<TypeParam>(rows, features, {a.data(), features + 3}, {b.data(), features}, dots.data());
            expect_near(dots, want, 1e-5, "dots");
            store_rows(rows, features, x.data(), features + 2, y.data());
            expect_near(y, want_y, 0, "rows");
            std::vector<TypeParam> copy(b.size());
            copy_rows<TypeParam>(rows, features, {a.data(), features + 3}, copy.data(), features);
            for (std::int64_t row = 0; row < rows; ++row) {
                const TypeParam* const from = a.data() + row * (features + 3);
                EXPECT_EQ(std::memcmp(from, copy.data() + row * features, at(features) * sizeof(TypeParam)), 0);
            }
        }
    });
}

TEST(AttentionMask, OfLengths) {
    const std::vector<std::int32_t> masked{1, 2};
    const std::vector<std::int32_t> lengths{5, 4};
    std::vector<float> mask(12);
    attention_mask({.samples = 2, .tokens = 6, .predictions = 3}, masked.data(), lengths.data(), mask.data());
    EXPECT_EQ(mask, (std::vector<float>{0, -1000, -1000, 0, 0, -1000, 0, 0, -1000, 0, -1000, -1000}));
}

}  // namespace
}  // namespace cnntrain::cpu
