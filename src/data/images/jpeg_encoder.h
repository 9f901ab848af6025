// Encodes RGB pixels as JPEG with libjpeg-turbo.
#pragma once

#include <string>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// Without chroma subsampling. `quality`: 1..100. Error(data) if libjpeg cannot encode the image.
std::string encode_jpeg(const PixelView& rgb, int quality);

}  // namespace cnntrain::data
