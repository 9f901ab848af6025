#include "cnntrain/base/tensor.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain {

HostTensor with_axes(const HostTensor& tensor, const std::vector<std::size_t>& order) {
    const Shape& from = tensor.shape();
    CNNTRAIN_CHECK(order.size() == from.size(), "an order of other axes than those of " + to_string(from));
    std::vector<std::size_t> steps(from.size(), 1);
    for (std::size_t i = from.size(); i-- > 1;)
        steps[i - 1] = steps[i] * static_cast<std::size_t>(from[i]);
    Shape shape;
    for (const std::size_t axis : order)
        shape.push_back(from[axis]);
    HostTensor result({tensor.dtype(), shape});
    const std::size_t width = size_bytes(tensor.dtype());
    const std::byte* source = tensor.bytes().data();
    std::byte* target = result.bytes().data();
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::int64_t i = 0; i < result.elements(); ++i) {
        std::size_t place = 0;
        for (std::size_t axis = 0; axis < order.size(); ++axis)
            place += static_cast<std::size_t>(index[axis]) * steps[order[axis]];
        std::copy_n(source + place * width, width, target + static_cast<std::size_t>(i) * width);
        for (std::size_t axis = order.size(); axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
    return result;
}

HostTensor reshaped(const HostTensor& tensor, const Shape& shape) {
    HostTensor result({tensor.dtype(), shape});
    CNNTRAIN_CHECK(result.elements() == tensor.elements(), to_string(tensor.shape()) + " as " + to_string(shape));
    std::ranges::copy(tensor.bytes(), result.bytes().begin());
    return result;
}

}  // namespace cnntrain
