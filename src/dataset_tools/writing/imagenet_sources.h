// The raw images of an ImageNet conversion: which there are, and of which class each is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cnntrain/dataset_tools/writers.h"

namespace cnntrain::dataset_tools {

struct RawImage {
    std::string path;         // relative to the split's folder
    std::size_t class_index;  // of ImagenetSources::classes
    std::int64_t bytes;       // -1 if the file cannot be looked at
    std::int64_t changed_ns;  // its last change; 0 likewise
};

struct ImagenetSources {
    std::vector<RawImage> train;
    std::vector<RawImage> validation;
    std::vector<std::string> classes;  // in label order
};

/// Error(data) when an image has no class, there are more classes than labels, or a list does not fit the files.
ImagenetSources find_imagenet_sources(const ImagenetWriterSettings& settings,
                                      const std::function<void(const std::string&)>& notice);

}  // namespace cnntrain::dataset_tools
