// Finds the raw images of an ImageNet conversion and their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cnntrain/data/writers.h"

namespace cnntrain::data {

struct RawImage {
    std::string path;         // relative to the split's folder
    std::size_t class_index;  // index in ImagenetSources::classes
    std::int64_t bytes;       // -1 if the file is inaccessible
    std::int64_t changed_ns;  // modification time; 0 if the file is inaccessible
};

struct ImagenetSources {
    std::vector<RawImage> train;
    std::vector<RawImage> validation;
    std::vector<std::string> classes;  // in label order
};

/// Throws Error(data) if an image has no class, or if a list does not match the files.
ImagenetSources find_imagenet_sources(const ImagenetWriterSettings& settings,
                                      const std::function<void(const std::string&)>& notice);

}  // namespace cnntrain::data
