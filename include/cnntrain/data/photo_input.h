// The pixels of photos and their preparation for evaluation, for exported files that prepare photos themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"

namespace cnntrain::data {

/// Evaluation: length of the shorter side for images of side S, floor(S / crop fraction). A rounded fraction, such as
/// 224 / 232, gives the whole number that it stands for.
constexpr std::int64_t evaluation_shorter_side(std::int64_t image_size, double crop_fraction = 0.875) {
    constexpr double kRounding = 1e-6;
    return static_cast<std::int64_t>(static_cast<double>(image_size) / crop_fraction + kRounding);
}

/// The pixels of an image file as it is shown, u8 [H,W,3]. Error(data) describes the fault in the image.
HostTensor decoded_photo(std::span<const std::byte> file);

/// Writes the image [S,S,3] that evaluation makes of such pixels, in the format of a batch. Images that are
/// standardised one by one must have this size already.
void prepare_photo(const HostTensor& pixels, const DataSettings& settings, const PixelFormat& format,
                   std::span<std::byte> image);

// Small pictures of samples, for users to look at.

/// A JPEG of an image as a network reads it: `image` describes its pixels, [H,W,3] of any type. The least value becomes
/// black and the greatest white, as pixels are standardised. The longer side is at most `most_side`: pixels are
/// averaged, never made up.
std::string thumbnail(const TensorDesc& image, std::span<const std::byte> pixels, std::int64_t most_side);

}  // namespace cnntrain::data
