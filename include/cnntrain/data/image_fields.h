// The fields of classified images. The names match the networks' inputs.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

inline constexpr std::string_view kImages = "images";  // [H,W,C]: f32, bf16 or u8
inline constexpr std::string_view kLabels = "labels";  // i32[]: 0..classes-1, or one of the two values below

/// Labels of images that do not count.
inline constexpr std::int32_t kNoLabel = -1;  // padding, or an image without a label
inline constexpr std::int32_t kLeftOut = -2;  // the image could not be decoded; its pixels are 0

// Fields of a micro-batch with mixed images (mixing.h).
inline constexpr std::string_view kMixup = "mixup";                 // f32[N]: share of each sample's own image
inline constexpr std::string_view kCutmixBox = "cutmix_box";        // i32[4]: top, bottom, left, right; half-open
inline constexpr std::string_view kTargetShares = "target_shares";  // f32[N,P]: weight of each partner's label

/// Fields of one sample: kImages described by `image`, then kLabels.
std::vector<Field> image_fields(const TensorDesc& image);

}  // namespace cnntrain::data
