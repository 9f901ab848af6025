// Random changes of a training image besides its crop and mirroring: colour jitter, RandAugment (Cubuk et al. 2019) and
// random erasing (Zhong et al. 2017). Operations and distributions are those of torchvision.transforms.v2; the random
// numbers depend only on seed and position.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/operations.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// An operation of RandAugment. `strength`: for a magnitude of 0 to 30 and an image size.
struct RandAugmentOperation {
    std::string_view name;
    double (*strength)(int magnitude, ImageSize size);
    bool either_sign;
    void (*apply)(const Canvas& image, double strength);
};

/// All of them; each is as likely as the others.
std::span<const RandAugmentOperation> rand_augment_operations();

class Augmenter {
public:
    /// Without any change.
    Augmenter() = default;
    explicit Augmenter(const AugmentationSettings& settings);

    /// The part of a training photo: sample_crop(), or with --crop-area sample_resized_crop().
    Rectangle crop(ImageSize image, std::span<const Box> boxes, Rng& rng) const;

    bool changes_levels() const { return operations_ > 0 || jitters_; }
    /// Colour jitter, then RandAugment.
    void change_levels(const Canvas& image, std::uint64_t seed, SamplePosition position) const;

    /// The rectangle to erase, if there is one: 2 to 33 % of the image's area, height / width in 0.3..3.3.
    std::optional<Rectangle> erased(ImageSize size, std::uint64_t seed, SamplePosition position) const;

private:
    void jitter_colours(const Canvas& image, Rng& rng) const;

    std::optional<std::array<double, 2>> crop_area_;
    std::int64_t operations_ = 0;
    int magnitude_ = 0;
    bool jitters_ = false;
    std::array<double, 4> jitter_{};  // brightness, contrast, saturation, hue
    double erasing_ = 0;
};

}  // namespace cnntrain::data
