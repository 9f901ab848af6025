// The orientation in which a camera stored an image.
#pragma once

#include <cstddef>
#include <span>

#include "data/images/file_format.h"
#include "data/images/orientation.h"

namespace cnntrain::data {

/// The orientation in the Exif data of a JPEG, PNG or WebP file, or in the first directory of a TIFF file. Upright if
/// there is none, or if it is damaged: no image is refused for its Exif data.
Orientation stored_orientation(std::span<const std::byte> file, FileFormat format);

}  // namespace cnntrain::data
