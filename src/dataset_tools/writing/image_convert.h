// Image files as a data set stores them: JPEGs that decode without complaint, grey or RGB.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cnntrain::dataset_tools {

struct StoredImage {
    std::string jpeg;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::string_view converted_from;  // "PNG", "CMYK" or ""
};

/// One thread's.
class ImageConverter {
public:
    ImageConverter();
    ~ImageConverter();

    /// JPEGs pass unchanged after a look at all of their data; CMYK JPEGs and PNG files (told by their first bytes,
    /// whatever their names) become RGB JPEGs of quality 100, transparent parts on white. Equal bytes give equal
    /// results. Error(data) says what is wrong with the image.
    StoredImage convert(std::string file);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::dataset_tools
