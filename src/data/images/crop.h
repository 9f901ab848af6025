// The random crop of ImageNet training.
#pragma once

#include <span>

#include "cnntrain/base/rng.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// A rectangle of 5 to 100 % of the area, width / height in 0.75..1.33 before rounding, that covers at least a tenth of
/// one of the boxes (of the image, if there are none). The whole image when 100 attempts fail.
Rectangle sample_crop(ImageSize image, std::span<const Box> boxes, Rng& rng);

}  // namespace cnntrain::data
