// Parses the tf.Example of one ImageNet record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cnntrain::data {

/// Coordinates relative to the image, 0..1.
struct Box {
    float y_min = 0;
    float x_min = 0;
    float y_max = 1;
    float x_max = 1;
};

struct ImageExample {
    std::span<const std::byte> jpeg;  // a view of the record; empty if missing
    std::int64_t label = -1;          // as stored: 1..classes
    std::vector<Box> boxes;
};

/// Replaces the contents of `example`; its `jpeg` is a view of `record`. Allocates only if there are more boxes than in
/// all earlier records. Throws Error(data) if the bytes are not a tf.Example or a key has the wrong type; the caller
/// adds file and record.
void parse_image_example(std::span<const std::byte> record, ImageExample& example);

}  // namespace cnntrain::data
