// Converts the file of an image to a network's input pixels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/augment.h"
#include "data/images/image_file.h"
#include "data/records/example.h"

namespace cnntrain::data {

/// The largest DCT shrink (1, 2, 4 or 8) that leaves at least `side` pixels in each dimension of a part.
int largest_shrink(ImageSize part, std::int64_t side);

/// The image that a photo becomes.
struct PhotoTarget {
    std::int64_t image_size = 224;
    PixelFormat format = {};
    PreparationSettings preparation = {};
    std::array<float, 3> mean_pixel = {};  // levels 0..255, which replace what is padded or erased
};

/// The part of a photo that evaluation uses: the whole photo is resized to `full`, of which `window` is stored with its
/// first pixel at (top, left) of the S x S image.
struct EvaluationView {
    ImageSize full;
    Rectangle window;
    std::int64_t top = 0;
    std::int64_t left = 0;
};
/// The view for the target's resize mode. With antialiasing, sizes and centres are those of torchvision's Resize and
/// CenterCrop; padded images have those of timm.
EvaluationView evaluation_view(ImageSize photo, const PhotoTarget& target);

/// Resizes the view of a whole photo as the target says.
void resize_for_evaluation(const PixelView& photo, const PhotoTarget& target, std::span<std::byte> image,
                           Workspace& workspace);

/// Evaluation preprocessing: decodes the whole image accurately, then resizes it.
void preprocess_for_evaluation(const ImageFile& file, const PhotoTarget& target, std::span<std::byte> image,
                               Workspace& workspace);

/// Training preprocessing: a random crop, resized to S x S, mirrored with probability 1/2, then changed by `augmenter`.
/// The random choices depend only on `seed` and `position`.
void preprocess_for_training(const ImageFile& file, std::span<const Box> boxes, const PhotoTarget& target,
                             const Augmenter& augmenter, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace);

}  // namespace cnntrain::data
