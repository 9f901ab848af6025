// Converts the file of an image to a network's input pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/image_file.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// The largest DCT shrink (1, 2, 4 or 8) that leaves at least `side` pixels in each dimension of a part.
int largest_shrink(ImageSize part, std::int64_t side);

/// Evaluation preprocessing: decode the whole image, resize the shorter side to floor(S * 256 / 224), centre crop S x
/// S.
void preprocess_for_evaluation(const ImageFile& file, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace);

/// Training preprocessing: a random crop (sample_crop()), resized to S x S and mirrored with probability 1/2. The
/// random choices depend only on `seed` and `position`.
void preprocess_for_training(const ImageFile& file, std::span<const Box> boxes, std::int64_t image_size,
                             const PixelFormat& format, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace);

}  // namespace cnntrain::data
