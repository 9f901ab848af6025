// Converts image files to the form stored in data sets: JPEGs that decode without warnings, grey or RGB.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cnntrain/data/dataset.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

struct StoredImage {
    std::string jpeg;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::string_view converted_from;  // a format such as "PNG", "CMYK", or ""
    bool turned = false;              // upright, as the Exif data say
};

/// Converts images to JPEG, for one thread.
class ImageConverter {
public:
    /// JPEGs are stored unchanged after all of their data were checked. CMYK JPEGs, JPEGs that Exif data turn, and
    /// files of other formats (recognised by their first bytes, whatever their names) become upright RGB JPEGs of
    /// quality 100, with transparent parts on white. Equal bytes give equal results. Error(data) describes the fault in
    /// the image.
    StoredImage convert(std::string file);

private:
    JpegDecompressor jpeg_;
    Workspace workspace_;
};

}  // namespace cnntrain::data
