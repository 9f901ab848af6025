// The numbers that both sides of the golden comparison make for themselves; tools/golden/make_golden.py has the same in
// Python. Doubles here and there, so that the rounded results are equal bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::golden {

/// Element i of the stream called `text`: MurmurHash3's finaliser over FNV-1a(text) + i * 0x9E3779B9.
class Stream {
public:
    explicit Stream(std::string_view text);
    std::uint32_t bits(std::int64_t i) const;
    double noise(std::int64_t i) const;  // uniform in [-1, 1)
    double sign(std::int64_t i) const;   // +-1

private:
    std::uint32_t hash_;
};

/// `choices`: one letter per channel for a beta before a ReLU, else empty.
HostTensor initial_value(const std::string& name, const Shape& shape, std::string_view choices);

struct Images {
    std::vector<float> pixels;  // [N,size,size,3]
    std::vector<std::int32_t> labels;
};

/// Micro-batch `index` of `samples` images.
Images make_images(std::int64_t index, std::int64_t samples, std::int64_t size);

}  // namespace cnntrain::golden
