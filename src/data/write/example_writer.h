// Writes the tf.Example of one ImageNet record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cnntrain::data {

/// Box of an object in coordinates relative to the image, 0..1.
struct ObjectBox {
    float x_min = 0;
    float y_min = 0;
    float x_max = 1;
    float y_max = 1;
    bool operator==(const ObjectBox&) const = default;
};

/// The standard keys of the published set.
struct ImageDescription {
    std::string jpeg;
    std::int64_t label = 0;  // 1..classes
    std::string synset;
    std::string file_name;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::string text = {};  // the name of the class
    std::vector<ObjectBox> boxes = {};
    std::vector<std::int64_t> box_labels = {};  // one per box
};

/// Equal descriptions give equal bytes.
std::string serialise_image_example(ImageDescription image);

}  // namespace cnntrain::data
