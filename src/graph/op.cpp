#include "cnntrain/graph/op.h"

#include <algorithm>

namespace cnntrain::graph {

Padding same_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride) {
    const auto total = [&](std::int64_t in) {
        const std::int64_t out = (in + stride - 1) / stride;
        return std::max<std::int64_t>((out - 1) * stride + kernel - in, 0);
    };
    const std::int64_t rows = total(height);
    const std::int64_t columns = total(width);
    return {.top = rows / 2, .bottom = rows - rows / 2, .left = columns / 2, .right = columns - columns / 2};
}

}  // namespace cnntrain::graph
