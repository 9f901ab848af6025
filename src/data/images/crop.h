// The random crop for ImageNet training.
#pragma once

#include <span>

#include "cnntrain/base/rng.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// Draws a rectangle with 5 to 100 % of the image's area and width / height in 0.75..1.33 before rounding. It covers at
/// least a tenth of one of the boxes (or of the image, without boxes). Returns the whole image if 100 attempts fail.
Rectangle sample_crop(ImageSize image, std::span<const Box> boxes, Rng& rng);

/// Draws a rectangle with `least` to `most` of the image's area and width / height in 3/4..4/3 (logarithmically
/// uniform). After 10 attempts without one inside of the image, returns the largest centred rectangle with a ratio in
/// that range. The distribution is that of torchvision's RandomResizedCrop.
Rectangle sample_resized_crop(ImageSize image, double least, double most, Rng& rng);

}  // namespace cnntrain::data
