// How image files become a network's input: size, interpolation, normalisation, and augmentation of training images.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cnntrain/base/enumerators.h"

namespace cnntrain::data {

/// How evaluation makes an S x S image of a photo of any aspect ratio.
enum class ResizeMode : std::uint8_t {
    crop,    // the shorter side becomes floor(S / crop fraction), then the centre is cut out
    squash,  // the whole photo; its aspect ratio is not kept
    pad,     // the whole photo; its longer side becomes S, the mean pixel fills the rest
};
inline constexpr std::array<std::string_view, 3> kResizeModeNames = {"crop", "squash", "pad"};
static_assert(kResizeModeNames.size() == enumerator_count<ResizeMode>());

enum class Interpolation : std::uint8_t {
    tf1_bilinear,  // TensorFlow 1's: two neighbours, no antialiasing, source = destination * in / out
    bilinear,      // antialiased, as Pillow's and torchvision's
    bicubic,       // antialiased, as Pillow's and torchvision's (a = -1/2)
};
inline constexpr std::array<std::string_view, 3> kInterpolationNames = {"tf1-bilinear", "bilinear", "bicubic"};
static_assert(kInterpolationNames.size() == enumerator_count<Interpolation>());

/// Training images take the interpolation and the normalisation; evaluation takes all.
struct PreparationSettings {
    double crop_fraction = 0.875;  // side of the centre crop / shorter side; 0 < F <= 1
    ResizeMode resize_mode = ResizeMode::crop;
    Interpolation interpolation = Interpolation::tf1_bilinear;
    std::vector<double> normalise_mean = {};  // of R, G, B in 0..1; empty, as normalise_std then is: ImageNet's
    std::vector<double> normalise_std = {};
};

/// Changes of training images beyond crop and mirroring (augment.h). All are off by default.
struct AugmentationSettings {
    std::vector<double> rand_augment = {};   // number of operations, magnitude; empty: none
    std::vector<double> colour_jitter = {};  // brightness, contrast, saturation, hue; empty: none
    double random_erasing = 0;               // probability
    std::vector<double> crop_area = {};      // least and largest share of the photo; empty: 0.05 and 1
};

}  // namespace cnntrain::data
