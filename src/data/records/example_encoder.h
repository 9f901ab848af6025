// Encodes a tf.Example directly to bytes, for data sets of millions of records. Equal features in the same order give
// equal bytes; readers accept any order. Field numbers: example.proto.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cnntrain::data {

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
