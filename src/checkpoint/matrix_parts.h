// Copies parts of tensors. The caller checks the shapes: a part outside of a tensor is an Error(internal).
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::checkpoint {

HostTensor transposed(const HostTensor& matrix);
/// Columns [begin, begin + count).
HostTensor columns_of(const HostTensor& matrix, std::int64_t begin, std::int64_t count);
/// Matrices of one type and of as many rows, side by side.
HostTensor side_by_side(const std::vector<HostTensor>& matrices);
HostTensor first_rows(const HostTensor& tensor, std::int64_t rows);

/// True if shape, type and bits are equal.
bool equal(const HostTensor& one, const HostTensor& other);
bool all_zero(const HostTensor& tensor);

}  // namespace cnntrain::checkpoint
