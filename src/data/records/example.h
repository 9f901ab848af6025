// Parses the tf.Example of one ImageNet record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
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

// Encodes a tf.Example directly to bytes, for data sets of millions of records. Equal features in the same order give
// equal bytes; readers accept any order. Field numbers: example.proto.

class ExampleEncoder {
public:
    void add(std::string_view key, std::span<const std::uint32_t> integers);
    void add(std::string_view key, std::span<const float> floats);
    /// Appends the tf.Example with the features so far to `bytes`, and starts a new one.
    void finish(std::string& bytes);

private:
    void add_list(std::string_view key, char list);

    std::string values_;  // values of one packed list
    std::string features_;
};

}  // namespace cnntrain::data
