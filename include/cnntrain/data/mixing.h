// Mixup (Zhang et al. 2017) and cutmix (Yun et al. 2019) of a training micro-batch: who is mixed with whom, how much,
// and the mixing itself where the host does it.
//
// Samples are mixed with others of their micro-batch: the partner of sample n at distance d is sample (n - d) mod N.
// Mixup first takes the partner at 1; cutmix then takes a box from the mixed partner at cutmix_distance(N). So an image
// consists of up to four, and its target of as many labels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch_transform.h"
#include "cnntrain/data/image_settings.h"

namespace cnntrain::data {

/// What a mixed micro-batch has besides its samples: kMixup and kCutmixBox where the device mixes in such a way, and
/// kTargetShares.
std::vector<Field> mixing_fields(const MixingSettings& settings, std::int64_t micro_batch);

/// Beta(alpha, alpha), alpha > 0.
double sample_beta(double alpha, Rng& rng);

/// Share of an image that cutmix leaves, before the box is rounded to pixels: version 2 lambda itself; version 1 is 1
/// (no cut) with probability 1.55 lambda - 0.96, otherwise 1 + ln(u) / 4 with u uniform in [exp(-4), 1).
double sample_cutmix_share(const MixingSettings& settings, Rng& rng);

/// Top, bottom, left, right; half-open.
using Box4 = std::array<std::int32_t, 4>;
/// A box that leaves about `share` of the picture, of the picture's aspect, whole inside of it; its centre is uniform
/// and then pushed inwards.
Box4 sample_cutmix_box(double share, std::int64_t height, std::int64_t width, Rng& rng);
/// 1 - box pixels / pixels.
double share_outside(const Box4& box, std::int64_t height, std::int64_t width);

/// The weight [N,P] of each partner's label, P as in target_distances(): from the shares of the own images (empty: no
/// mixup) and the share outside the box (empty: no cutmix).
void fill_target_shares(std::span<const float> mixup, std::optional<double> outside, std::span<float> shares);

/// The coefficients of one micro-batch. draw() allocates nothing after allocate() for as many samples.
class MixingCoefficients {
public:
    void allocate(const MixingSettings& settings, std::int64_t samples);
    /// A function of its arguments alone; `images` is [N,H,W,C].
    void draw(const MixingSettings& settings, std::uint64_t seed, std::int64_t batch_number, const Shape& images);
    /// The bytes of each of mixing_fields(), in their order.
    void view(std::span<std::span<const std::byte>> fields) const;

    const std::vector<float>& mixup() const { return mixup_; }
    const Box4& box() const { return box_; }
    const std::vector<float>& target_shares() const { return target_shares_; }

private:
    bool on_host_ = false;
    bool cutmix_ = false;
    std::vector<float> mixup_;  // empty: no mixup
    Box4 box_{};
    std::vector<float> target_shares_;
};

/// Mixes the images of samples with image_fields(), or adds what the device needs to mix them. Images that the host
/// mixes are f32, and are delivered in `host_mixed_type`. Null when the settings ask for no mixing.
std::shared_ptr<const BatchTransform> mixing_transform(const MixingSettings& settings, std::uint64_t seed,
                                                       DType host_mixed_type);

/// Mixes f32 images [N,H,W,C] and stores them as f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255).
void mix_on_host(const MixingSettings& settings, const MixingCoefficients& coefficients, const Shape& shape,
                 std::span<const float> images, DType type, std::span<std::byte> mixed);

}  // namespace cnntrain::data
