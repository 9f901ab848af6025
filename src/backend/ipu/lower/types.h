// Descriptors of the graph as Poplar's types and shapes.
#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Type.hpp>

#include "cnntrain/base/tensor.h"

namespace cnntrain::ipu {

/// False for types that tiles do not compute with: f64, bf16, i64.
bool has_device_type(DType type);
/// Error(internal) unless has_device_type().
poplar::Type device_type(DType type);
std::vector<std::size_t> extents(const Shape& shape);

}  // namespace cnntrain::ipu
