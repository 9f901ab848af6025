// Coefficients of mixup and cutmix, mixing on the host, and what a stream says about both.
#include "cnntrain/data/loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "cnntrain/data/batch.h"
#include "fixtures.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

// ---- the distributions ----

class Beta : public ::testing::TestWithParam<double> {};

TEST_P(Beta, HasItsMomentsAndIsSymmetric) {
    const double alpha = GetParam();
    constexpr int kDraws = 40000;
    Rng rng(11, RngStream::mixup);
    double first = 0;
    double second = 0;
    double fourth = 0;
    int below = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double value = sample_beta(alpha, rng);
        ASSERT_GE(value, 0);
        ASSERT_LE(value, 1);
        const double centred = value - 0.5;
        first += centred / kDraws;
        second += centred * centred / kDraws;
        fourth += centred * centred * centred * centred / kDraws;
        below += value < 0.5 ? 1 : 0;
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    // Excess kurtosis of Beta(a, a) is -6 / (2 a + 3).
    const double kurtosis = variance * variance * (3 - 6 / (2 * alpha + 3));
    const double deviations = 5 / std::sqrt(static_cast<double>(kDraws));
    EXPECT_NEAR(first, 0, deviations * std::sqrt(variance));
    EXPECT_NEAR(second, variance, deviations * std::sqrt(kurtosis - variance * variance) + 1e-6);
    EXPECT_NEAR(fourth, kurtosis, deviations * 3 * kurtosis + 1e-6);
    EXPECT_NEAR(static_cast<double>(below) / kDraws, 0.5, deviations / 2);
}

INSTANTIATE_TEST_SUITE_P(FromTinyToHuge, Beta, ::testing::Values(1e-5, 0.01, 0.2, 0.5, 1.0, 2.5, 30.0, 1e6));

TEST(Beta, OfOneIsUniform) {
    Rng rng(5, RngStream::mixup);
    std::array<int, 10> counts{};
    for (int i = 0; i < 20000; ++i)
        ++counts.at(static_cast<std::size_t>(std::min(9.0, 10 * sample_beta(1, rng))));
    for (const int count : counts)
        EXPECT_NEAR(count, 2000, 5 * std::sqrt(2000.0));
}

TEST(CutmixShare, OfVersionOneIsOneAsOftenAsItSays) {
    constexpr int kDraws = 40000;
    const nn::MixingSettings settings{.cutmix_lambda = 0.85};
    Rng rng(3, RngStream::cutmix);
    int whole = 0;
    double cut_sum = 0;
    for (int i = 0; i < kDraws; ++i) {
        const double share = sample_cutmix_share(settings, rng);
        ASSERT_GE(share, 0);
        ASSERT_LE(share, 1);
        whole += share == 1 ? 1 : 0;
        if (share < 1) cut_sum += share;
    }
    EXPECT_NEAR(static_cast<double>(whole) / kDraws, 0.3575, 0.012);
    // The mean of 1 + ln(u) / 4 over [exp(-4), 1).
    const double e = std::exp(-4.0);
    EXPECT_NEAR(cut_sum / (kDraws - whole), 1 + (-1 + 5 * e) / (1 - e) / 4, 0.01);
}

TEST(CutmixShare, OfVersionTwoIsLambda) {
    Rng rng(3, RngStream::cutmix);
    EXPECT_EQ(sample_cutmix_share({.cutmix_lambda = 0.3, .cutmix_version = 2}, rng), 0.3);
}

TEST(CutmixBox, LiesInThePictureWithItsAspectAndArea) {
    Rng rng(9, RngStream::cutmix);
    bool touches_an_edge = false;
    bool touches_none = false;
    for (int i = 0; i < 2000; ++i) {
        const double share = rng.uniform();
        const Box4 box = sample_cutmix_box(share, 40, 80, rng);
        ASSERT_GE(box[0], 0);
        ASSERT_LE(box[0], box[1]);
        ASSERT_LE(box[1], 40);
        ASSERT_GE(box[2], 0);
        ASSERT_LE(box[2], box[3]);
        ASSERT_LE(box[3], 80);
        EXPECT_NEAR(box[1] - box[0], 40 * std::sqrt(1 - share), 1.01);
        EXPECT_NEAR(box[3] - box[2], 80 * std::sqrt(1 - share), 1.01);
        EXPECT_NEAR(share_outside(box, 40, 80), share, 0.08);
        const bool at_edge = box[0] == 0 || box[2] == 0 || box[1] == 40 || box[3] == 80;
        touches_an_edge = touches_an_edge || at_edge;
        touches_none = touches_none || !at_edge;
    }
    EXPECT_TRUE(touches_an_edge && touches_none);
    EXPECT_EQ(share_outside(sample_cutmix_box(1, 32, 32, rng), 32, 32), 1);
    EXPECT_THAT(sample_cutmix_box(0, 32, 16, rng), ElementsAre(0, 32, 0, 16));
}

// ---- coefficients of a micro-batch ----

std::vector<float> to_vector(std::span<const float> values) {
    return {values.begin(), values.end()};
}

TEST(Coefficients, AreAFunctionOfSeedAndNumber) {
    const nn::MixingSettings both{.mixup_alpha = 0.2, .cutmix_lambda = 0.5, .cutmix_version = 1};
    const Shape images{16, 32, 32, 3};
    MixingCoefficients a;
    MixingCoefficients b;
    a.draw(both, 7, 100, images);
    b.draw(both, 7, 99, images);
    EXPECT_NE(a.mixup(), b.mixup());
    b.draw(both, 7, 100, images);  // whatever was drawn before
    EXPECT_EQ(a.mixup(), b.mixup());
    EXPECT_EQ(a.box(), b.box());
    EXPECT_EQ(a.target_shares(), b.target_shares());
    b.draw(both, 8, 100, images);
    EXPECT_NE(a.mixup(), b.mixup());
    for (const float own : a.mixup()) {
        EXPECT_GE(own, 0.5F);
        EXPECT_LE(own, 1.0F);
    }
}

TEST(Coefficients, TargetsFollowTheTable) {
    const Shape images{5, 8, 8, 3};
    MixingCoefficients drawn;
    drawn.draw({.mixup_alpha = 1}, 1, 0, images);
    for (std::size_t n = 0; n < 5; ++n) {
        EXPECT_EQ(drawn.target_shares()[2 * n], drawn.mixup()[n]);
        EXPECT_NEAR(drawn.target_shares()[2 * n + 1], 1 - drawn.mixup()[n], 1e-7);
    }

    drawn.draw({.cutmix_lambda = 0.6, .cutmix_version = 2}, 1, 0, images);
    EXPECT_TRUE(drawn.mixup().empty());
    const auto outside = static_cast<float>(share_outside(drawn.box(), 8, 8));
    EXPECT_GT(outside, 0.4F);
    for (std::size_t n = 0; n < 5; ++n) {
        EXPECT_EQ(drawn.target_shares()[2 * n], outside);
        EXPECT_NEAR(drawn.target_shares()[2 * n + 1], 1 - outside, 1e-7);
    }

    drawn.draw({.mixup_alpha = 1, .cutmix_lambda = 0.6, .cutmix_version = 2}, 1, 0, images);
    for (std::size_t n = 0; n < 5; ++n) {
        const float own = drawn.mixup()[n];
        const float cut = drawn.mixup()[(n + 3) % 5];  // of the partner at distance 2
        const auto shares = to_vector(std::span(drawn.target_shares()).subspan(4 * n, 4));
        EXPECT_NEAR(shares[0], outside * own, 1e-6);
        EXPECT_NEAR(shares[1], outside * (1 - own), 1e-6);
        EXPECT_NEAR(shares[2], (1 - outside) * cut, 1e-6);
        EXPECT_NEAR(shares[3], (1 - outside) * (1 - cut), 1e-6);
    }
}

TEST(Coefficients, PartnersFollowTheTable) {
    const nn::MixingSettings mixup{.mixup_alpha = 1};
    const nn::MixingSettings cutmix{.cutmix_lambda = 0.5};
    const nn::MixingSettings both{.mixup_alpha = 1, .cutmix_lambda = 0.5};
    EXPECT_THAT(nn::target_distances(mixup, 8), ElementsAre(0, 1));
    EXPECT_THAT(nn::target_distances(cutmix, 8), ElementsAre(0, 2));
    EXPECT_THAT(nn::target_distances(cutmix, 2), ElementsAre(0, 1));
    EXPECT_THAT(nn::target_distances(both, 8), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(nn::target_distances(both, 2), ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(nn::target_distances({}, 8), ElementsAre(0));
}

TEST(Coefficients, AreTheFieldsThatTheDeviceNeeds) {
    const auto fields = [](nn::MixingSettings settings) {
        std::vector<Field> all = mixing_fields(settings, 4);
        MixingCoefficients drawn;
        drawn.draw(settings, 1, 0, {4, 8, 8, 3});
        std::vector<std::span<const std::byte>> bytes(all.size());
        drawn.view(bytes);
        for (std::size_t i = 0; i < all.size(); ++i)
            EXPECT_EQ(bytes[i].size(), all[i].desc.bytes()) << all[i].name;
        return all;
    };
    const Field mixup{"mixup", {DType::f32, {4}}};
    const Field box{"cutmix_box", {DType::i32, {4}}};
    const Field shares{"target_shares", {DType::f32, {4, 4}}};
    const Field shares_of_two{"target_shares", {DType::f32, {4, 2}}};
    nn::MixingSettings both{.mixup_alpha = 1, .cutmix_lambda = 0.6};
    EXPECT_THAT(fields(both), ElementsAre(mixup, box, shares));
    EXPECT_THAT(fields({.mixup_alpha = 1}), ElementsAre(mixup, shares_of_two));
    EXPECT_THAT(fields({.cutmix_lambda = 0.6}), ElementsAre(box, shares_of_two));
    both.on_host = true;
    EXPECT_THAT(fields(both), ElementsAre(shares));
}

// ---- mixing on the host ----

struct HostMix {
    Shape shape;
    std::vector<float> images;
    MixingCoefficients coefficients;
    nn::MixingSettings settings;

    double wanted(std::size_t n, std::size_t h, std::size_t w, std::size_t c) const {
        const auto samples = static_cast<std::size_t>(shape[0]);
        const auto image = [&](std::size_t i) {
            const auto at = ((i * static_cast<std::size_t>(shape[1]) + h) * static_cast<std::size_t>(shape[2]) + w) *
                                static_cast<std::size_t>(shape[3]) +
                            c;
            return static_cast<double>(images[at]);
        };
        const auto mixed = [&](std::size_t i) {
            if (!settings.mixup()) return image(i);
            const auto own = static_cast<double>(coefficients.mixup()[i]);
            return own * image(i) + (1 - own) * image((i + samples - 1) % samples);
        };
        const Box4& box = coefficients.box();
        const auto row = static_cast<std::int32_t>(h);
        const auto column = static_cast<std::int32_t>(w);
        const bool cut = settings.cutmix() && row >= box[0] && row < box[1] && column >= box[2] && column < box[3];
        return cut ? mixed((n + samples - (samples > 2 ? 2 : 1)) % samples) : mixed(n);
    }
};

HostMix host_mix(const nn::MixingSettings& settings, std::int64_t samples) {
    HostMix mix{{samples, 6, 5, 3}, {}, {}, settings};
    Rng rng(1, RngStream::test);
    for (std::int64_t i = 0; i < samples * 90; ++i)
        mix.images.push_back(static_cast<float>(rng.uniform(0, 255)));
    mix.coefficients.draw(settings, 5, 3, mix.shape);
    return mix;
}

TEST(HostMixing, FollowsTheFormulasInEveryType) {
    for (const nn::MixingSettings& settings :
         {nn::MixingSettings{.mixup_alpha = 0.7}, nn::MixingSettings{.cutmix_lambda = 0.4, .cutmix_version = 2},
          nn::MixingSettings{.mixup_alpha = 0.7, .cutmix_lambda = 0.4, .cutmix_version = 2}}) {
        for (const std::int64_t samples : {2, 3, 7}) {
            const HostMix mix = host_mix(settings, samples);
            for (const DType type : {DType::f32, DType::bf16, DType::u8}) {
                HostTensor mixed({type, mix.shape});
                mix_on_host(settings, mix.coefficients, mix.shape, mix.images, type, mixed.bytes());
                for (std::int64_t i = 0; i < mixed.elements(); ++i) {
                    const auto at = static_cast<std::size_t>(i);
                    const double wanted = mix.wanted(at / 90, at / 15 % 6, at / 3 % 5, at % 3);
                    const double error = mixed.at(i) - wanted;
                    if (type == DType::u8) {
                        ASSERT_GT(error, -1.0001);  // truncated
                        ASSERT_LT(error, 0.0001);
                    } else {
                        ASSERT_NEAR(error, 0, wanted * (type == DType::f32 ? 1e-6 : 4e-3) + 1e-5);
                    }
                }
            }
        }
    }
}

// ---- streams ----

/// Floats that say which record they belong to.
class FloatDataset final : public Dataset {
public:
    std::int64_t size() const override { return 11; }
    std::vector<Field> fields() const override { return image_fields({DType::f32, {4, 4, 3}}); }
    SampleState read(std::int64_t index, SamplePosition, SampleView out, Workspace&) const override {
        if (index == kPaddingSample) {
            std::memset(out[0].data(), 0, out[0].size());
            std::memset(out[1].data(), 0xFF, out[1].size());  // -1
            return SampleState::padding;
        }
        std::vector<float> values(48);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<float>(index) + static_cast<float>(i) / 64;
        std::memcpy(out[0].data(), values.data(), out[0].size());
        const auto label = static_cast<std::int32_t>(index);
        std::memcpy(out[1].data(), &label, sizeof label);
        return SampleState::counted;
    }
};

using Taken = std::map<std::string, std::vector<std::byte>>;  // by field

std::vector<Taken> take(Stream& stream, int batches) {
    const std::vector<Field> fields = stream.fields();
    std::vector<Taken> all;
    for (int i = 0; i < batches; ++i) {
        const Batch batch = stream.next();
        EXPECT_EQ(batch.fields.size(), fields.size());
        Taken& taken = all.emplace_back();
        for (std::size_t k = 0; k < fields.size(); ++k)
            taken[fields[k].name].assign(batch.fields[k].begin(), batch.fields[k].end());
    }
    return all;
}

nn::MixingSettings both_mixings(bool on_host) {
    return {.mixup_alpha = 0.4, .cutmix_lambda = 0.5, .cutmix_version = 2, .on_host = on_host};
}

LoaderSettings mixing_loader(bool on_host, int threads, std::int64_t first_sample, DType host_mixed = DType::f32) {
    LoaderSettings settings{.micro_batch = 4, .first_sample = first_sample, .threads = threads, .seed = 3};
    settings.transform = mixing_transform(both_mixings(on_host), settings.seed, host_mixed);
    return settings;
}

TEST(MixingLoader, SameForAnyThreadCountRingAndStart) {
    const auto data = std::make_shared<FloatDataset>();
    for (const bool on_host : {false, true}) {
        Loader whole(data, mixing_loader(on_host, 1, 0));
        const std::vector<Taken> all = take(whole, 12);
        EXPECT_EQ(all[0].size(), on_host ? 3U : 5U);
        EXPECT_EQ(all[0].at("target_shares").size(), 16U * sizeof(float));
        EXPECT_EQ(all[0].count("mixup"), on_host ? 0U : 1U);
        EXPECT_EQ(all[0].count("cutmix_box"), on_host ? 0U : 1U);
        EXPECT_NE(all[0].at("target_shares"), all[1].at("target_shares"));
        LoaderSettings threaded = mixing_loader(on_host, 5, 0);
        threaded.batches_ahead = 2;
        Loader other(data, threaded);
        EXPECT_EQ(take(other, 12), all);
        Loader resumed(data, mixing_loader(on_host, 2, 7 * 4));
        EXPECT_EQ(take(resumed, 5), std::vector<Taken>(all.begin() + 7, all.end()));
    }
}

TEST(MixingLoader, RanksHaveTheCoefficientsOfTheOneStream) {
    const auto data = std::make_shared<FloatDataset>();
    Loader alone(data, mixing_loader(true, 1, 0));
    const std::vector<Taken> all = take(alone, 6);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
        LoaderSettings settings = mixing_loader(true, 1, 0);
        settings.rank = rank;
        settings.ranks = 2;
        Loader loader(data, settings);
        const std::vector<Taken> mine = take(loader, 3);
        for (std::size_t i = 0; i < 3; ++i)
            EXPECT_EQ(mine[i], all[2 * i + static_cast<std::size_t>(rank)]);
    }
}

TEST(MixingLoader, HostMixingIsWhatTheCoefficientsOfTheDeviceSay) {
    const auto data = std::make_shared<FloatDataset>();
    Loader plain(data, mixing_loader(false, 1, 0));
    const nn::MixingSettings settings = both_mixings(true);
    Loader mixing(data, mixing_loader(true, 3, 0, DType::bf16));
    EXPECT_EQ(mixing.fields()[0].desc, (TensorDesc{DType::bf16, {4, 4, 4, 3}}));
    for (int i = 0; i < 5; ++i) {
        const Batch unmixed = plain.next();
        const Batch mixed = mixing.next();
        HostMix mix{{4, 4, 4, 3}, std::vector<float>(192), {}, settings};
        std::memcpy(mix.images.data(), images_in(unmixed).data(), images_in(unmixed).size());
        mix.coefficients.draw(settings, 3, i, mix.shape);
        EXPECT_EQ(to_vector(unmixed.as<float>(2)), mix.coefficients.mixup());
        EXPECT_TRUE(std::ranges::equal(labels_in(mixed), labels_in(unmixed)));
        HostTensor got({DType::bf16, mix.shape});
        std::ranges::copy(images_in(mixed), got.bytes().begin());
        for (std::int64_t k = 0; k < got.elements(); ++k) {
            const auto at = static_cast<std::size_t>(k);
            const double wanted = mix.wanted(at / 48, at / 12 % 4, at / 3 % 4, at % 3);
            ASSERT_NEAR(got.at(k), wanted, 4e-3 * wanted + 1e-6);
        }
    }
}

}  // namespace
}  // namespace cnntrain::data
