// Tensors with their axes in another order, and with other shapes of the same elements.
#pragma once

#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain {

/// Axis i of the result is axis order[i] of the tensor; `order` has each axis once.
HostTensor with_axes(const HostTensor& tensor, const std::vector<std::size_t>& order);

/// The same elements in row-major order; `shape` has as many.
HostTensor reshaped(const HostTensor& tensor, const Shape& shape);

}  // namespace cnntrain
