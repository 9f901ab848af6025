// Small pictures of samples, for people.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// A JPEG of an image as a network reads it: `image` describes its pixels, [H,W,3] of any type. The least value becomes
/// black and the greatest white, as pixels are standardised. The longer side is at most `most_side`: pixels are
/// averaged, never made up.
std::string thumbnail(const TensorDesc& image, std::span<const std::byte> pixels, std::int64_t most_side);

}  // namespace cnntrain::data
