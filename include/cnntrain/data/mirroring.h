// Mirror images for evaluation: a network's answer is its mean over an image and its mirror image.
#pragma once

#include <memory>

#include "cnntrain/data/batch_transform.h"

namespace cnntrain::data {

/// Replaces the images [N,H,W,C] of samples with image_fields() by [2N,H,W,C]: each image is followed by the same one
/// mirrored left to right.
std::shared_ptr<const BatchTransform> mirroring_transform();

}  // namespace cnntrain::data
