// The tf.Example of one ImageNet record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
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
    std::span<const std::byte> jpeg;  // part of the record; empty if there is none
    std::int64_t label = -1;          // as stored: 1..classes
    std::vector<Box> boxes;
};

/// Replaces the contents of `example`; its jpeg is a view of `record`. Allocates only when there are more boxes than
/// ever before. Error(data) when the bytes are not a tf.Example or a key has the wrong type; the caller adds file and
/// record.
void parse_image_example(std::span<const std::byte> record, ImageExample& example);

}  // namespace cnntrain::data
