#include "backend/cpu/lower/division.h"

#include <algorithm>

namespace cnntrain::cpu {

Division::Division(const NodeContext& lower, std::int64_t length) : is_on_(lower.request.cpu.thread_independent) {
    constexpr std::int64_t kMost = 16;
    if (!is_on_) return;
    count_ = std::clamp<std::int64_t>(length, 1, kMost);
    while (length % count_ != 0)
        --count_;
}

TensorDesc Division::part_of(TensorDesc whole) const {
    whole.shape[0] /= count_;
    return whole;
}

Desc Division::part_of(const Desc& whole) const {
    if (count_ == 1) return whole;
    Dims dims = dims_of(whole);
    dims[0] /= count_;
    return whole.submemory_desc(dims, Dims(dims.size(), 0));
}

void Division::add(const NodeContext& lower, const Primitive& primitive, const Arguments& arguments,
                   const std::vector<DividedArgument>& divided, const std::vector<int>& written) const {
    if (!is_on_) return lower.steps.add_primitive(primitive, arguments, written);
    std::vector<Arguments> parts(static_cast<std::size_t>(count_), arguments);
    for (std::int64_t part = 0; part < count_; ++part) {
        for (auto& [argument, tensor] : parts[static_cast<std::size_t>(part)]) {
            const auto own = std::ranges::find(divided, argument, &DividedArgument::argument);
            if (own == divided.end()) continue;
            const std::int64_t apart = own->apart > 0 ? own->apart : dims_of(own->piece)[0] * strides_of(own->piece)[0];
            tensor.desc = own->piece;
            tensor.offset += static_cast<std::size_t>(part * apart) * size_bytes(tensor.dtype);
        }
    }
    lower.steps.add_parts(primitive, parts, written);
}

}  // namespace cnntrain::cpu
