// Mixup (Zhang et al. 2017) and cutmix (Yun et al. 2019) of a training micro-batch: partners, coefficients, and mixing
// on the host.
//
// Each sample is mixed with others of its micro-batch: the partner of sample n at distance d is sample (n - d) mod N.
// Mixup first mixes in the partner at distance 1; cutmix then copies a box from the mixed partner at
// nn::cutmix_distance(N). An image thus combines up to four images, and its target up to four labels.
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
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::data {

/// The fields of a mixed micro-batch in addition to those of its samples: kMixup and kCutmixBox for the kinds of mixing
/// that the device does, and kTargetShares.
std::vector<Field> mixing_fields(const nn::MixingSettings& settings, std::int64_t micro_batch);

/// Draws from Beta(alpha, alpha), alpha > 0.
double sample_beta(double alpha, Rng& rng);

/// Draws the share of an image that cutmix leaves, before the box is rounded to pixels. Version 2: lambda. Version 1: 1
/// (no cut) with probability 1.55 lambda - 0.96, otherwise 1 + ln(u) / 4 with u uniform in [exp(-4), 1).
double sample_cutmix_share(const nn::MixingSettings& settings, Rng& rng);

/// Top, bottom, left, right; half-open.
using Box4 = std::array<std::int32_t, 4>;
/// Draws a box that leaves about `share` of the image. It has the image's aspect ratio and lies completely inside the
/// image: its centre is uniform and then moved inwards as far as necessary.
Box4 sample_cutmix_box(double share, std::int64_t height, std::int64_t width, Rng& rng);
/// 1 - box pixels / pixels.
double share_outside(const Box4& box, std::int64_t height, std::int64_t width);

/// Computes the weight [N,P] of each partner's label, with P as in nn::target_distances(). `mixup`: share of each
/// sample's own image; empty: no mixup. `outside`: share of the image outside the box; empty: no cutmix.
void fill_target_shares(std::span<const float> mixup, std::optional<double> outside, std::span<float> shares);

/// The coefficients of one micro-batch. After allocate(), draw() makes no allocation for the same number of samples.
class MixingCoefficients {
public:
    void allocate(const nn::MixingSettings& settings, std::int64_t samples);
    /// The result depends only on the arguments. `images` is [N,H,W,C].
    void draw(const nn::MixingSettings& settings, std::uint64_t seed, std::int64_t batch_number, const Shape& images);
    /// The bytes of each of mixing_fields(), in the same order.
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

/// Mixes the images of samples with image_fields(), or adds the fields that the device needs to mix them. The host
/// mixes f32 images and converts the result to `host_mixed_type`. Null if the settings ask for no mixing.
std::shared_ptr<const BatchTransform> mixing_transform(const nn::MixingSettings& settings, std::uint64_t seed,
                                                       DType host_mixed_type);

/// Mixes f32 images [N,H,W,C] and stores them as f32, bf16 (nearest even) or u8 (truncated, clamped to 0..255).
void mix_on_host(const nn::MixingSettings& settings, const MixingCoefficients& coefficients, const Shape& shape,
                 std::span<const float> images, DType type, std::span<std::byte> mixed);

// Mirror images for evaluation: a network's answer is its mean over an image and its mirror image.

/// Replaces the images [N,H,W,C] of samples with image_fields() by [2N,H,W,C]: each image is followed by the same one
/// mirrored left to right.
std::shared_ptr<const BatchTransform> mirroring_transform();

}  // namespace cnntrain::data
