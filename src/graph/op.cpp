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

Padding symmetric_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride) {
    const std::int64_t before = (kernel - 1) / 2;
    const auto behind = [&](std::int64_t in) {
        const std::int64_t out = (in + stride - 1) / stride;
        return std::max<std::int64_t>((out - 1) * stride + kernel - in - before, 0);
    };
    return {.top = before, .bottom = behind(height), .left = before, .right = behind(width)};
}

Operand OpDef::input(std::size_t index) const {
    return inputs.empty() ? Operand{} : inputs[std::min(index, inputs.size() - 1)];
}

Layout OpDef::result(std::size_t index) const {
    return results.empty() ? Layout::plain : results[std::min(index, results.size() - 1)];
}

std::vector<std::size_t> OpDef::overwritten_inputs(std::size_t input_count) const {
    std::vector<std::size_t> overwritten;
    for (std::size_t i = 0; i < input_count; ++i) {
        const Use use = input(i).use;
        if (use == Use::target || use == Use::slot) overwritten.push_back(i);
    }
    return overwritten;
}

std::optional<std::size_t> OpDef::input_used_as(Use use) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i].use == use) return i;
    }
    return std::nullopt;
}

}  // namespace cnntrain::graph
