// The file of an image, in any format that this program decodes.
#pragma once

#include <cstddef>
#include <span>

#include "cnntrain/data/dataset.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

/// Opened for one view of it. The first bytes of the file tell its format. Error(data) describes the fault in the
/// image; the caller adds the file.
class ImageFile {
public:
    /// Reads the header, or decodes all of an image that cannot be decoded in parts. `bytes` and `workspace` must
    /// outlive this object; the time is counted in the workspace's seconds.
    ImageFile(std::span<const std::byte> bytes, Workspace& workspace);

    ImageSize size() const { return size_; }
    /// Call it once. The view is valid until the workspace is used for another image.
    PixelView decode(const Rectangle& part, const DecodeHow& how) const;

private:
    Workspace& workspace_;
    bool is_png_;
    ImageSize size_;
};

}  // namespace cnntrain::data
