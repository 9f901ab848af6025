// A tf.Example written straight to bytes, for records that are made by the million. Equal features in the same order
// give equal bytes; readers do not care for the order. Field numbers: example.proto.
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
    /// Appends the tf.Example with these features to `bytes`; the next one begins without any.
    void finish(std::string& bytes);

private:
    void add_list(std::string_view key, char list);

    std::string values_;  // of one packed list
    std::string features_;
};

}  // namespace cnntrain::data
