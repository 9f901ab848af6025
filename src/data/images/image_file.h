// The file of an image, in any format that this program decodes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/dataset.h"
#include "data/images/file_format.h"
#include "data/images/large_image.h"
#include "data/images/orientation.h"

namespace cnntrain::data {

/// Whether an image is turned as its Exif data say.
enum class Exif : std::uint8_t { ignored, applied };

/// Opened for one view of it. The first bytes of the file tell its format. Error(data) describes the fault in the
/// image; the caller adds the file.
class ImageFile {
public:
    /// Reads the header, or decodes all of an image that cannot be decoded in parts. `bytes` and `workspace` must
    /// outlive this object; the time is counted in the workspace's seconds.
    ImageFile(std::span<const std::byte> bytes, Exif exif, Workspace& workspace);
    /// Frees the memory of a very large image.
    ~ImageFile();
    ImageFile(const ImageFile&) = delete;
    ImageFile& operator=(const ImageFile&) = delete;

    FileFormat format() const { return format_; }
    /// The image is shown otherwise than it is stored.
    bool is_turned() const { return orientation_ != Orientation(); }
    ImageSize size() const { return orientation_.upright(stored_size_); }
    /// Call it once. The view is valid as long as this object, and until the workspace is used for another image.
    PixelView decode(const Rectangle& part, const DecodeHow& how) const;

private:
    PixelView stored_view(const Rectangle& part, const DecodeHow& how) const;

    Workspace& workspace_;
    FileFormat format_;
    LargeImage room_;
    Orientation orientation_;
    ImageSize stored_size_;
};

}  // namespace cnntrain::data
