// From the bytes of a JPEG image to the pixels that a network gets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// The largest DCT shrink, of 1, 2, 4 and 8, that leaves a part of this size at least `side` pixels each way.
int largest_shrink(ImageSize part, std::int64_t side);

/// The evaluation preprocessing: decode all, shorter side to floor(S * 256 / 224), centre crop S x S.
void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace);

/// The training preprocessing: a random crop (sample_crop()) resized to S x S, mirrored half of the time. The choices
/// depend on `seed` and `position` alone.
void preprocess_for_training(std::span<const std::byte> jpeg, std::span<const Box> boxes, std::int64_t image_size,
                             const PixelFormat& format, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace);

}  // namespace cnntrain::data
