// The tf.Example of one ImageNet record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cnntrain::data {

/// Relative to the image: 0..1.
struct Box {
    float y_min = 0;
    float x_min = 0;
    float y_max = 1;
    float x_max = 1;
};

struct ImageExample {
    std::string jpeg;         // empty if the record has none
    std::int64_t label = -1;  // as stored: 1..classes
    std::vector<Box> boxes;
};

/// Error(data) when the bytes are not a tf.Example or a key has the wrong type; the caller adds file and record.
ImageExample parse_image_example(std::span<const std::byte> record);

}  // namespace cnntrain::data
