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
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

// Pixel arithmetic: standardise, convert, store. Images are HWC, RGB.

/// Converts in place to three bytes per pixel, at the front of `pixels`. Adobe files store inverted ink values.
void cmyk_to_rgb(std::span<std::uint8_t> pixels, std::size_t count, bool adobe);

/// Converts RGBA in place to three bytes per pixel, at the front of `pixels`: blended with white in linear light, as
/// libpng does. Colours are sRGB, not multiplied by alpha.
void onto_white(std::span<std::uint8_t> pixels, std::size_t count);

/// Writes values in 0..255 to `out` in the batch's format. `values`: pixels x 3.
void store_pixels(std::span<const float> values, const PixelFormat& format, std::span<std::byte> out);

/// Writes 8-bit levels to `out` in the batch's format. `levels`: pixels x 3.
void store_levels(std::span<const std::uint8_t> levels, const PixelFormat& format, std::span<std::byte> out);

/// Replaces the pixels of a rectangle in a stored image, `width` pixels wide, by a pixel of levels 0..255.
void fill_rectangle(const Rectangle& rectangle, std::int64_t width, const std::array<float, 3>& pixel,
                    const PixelFormat& format, std::span<std::byte> image);

/// Maps each of the 256 pixel values x to (x - mean) / max(deviation, 1 / sqrt(count)), with the population deviation.
std::array<float, 256> standardisation_table(std::span<const std::uint8_t> image);

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
