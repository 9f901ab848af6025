// Products of rows of floats. A result does not depend on how rows are divided into calls.
#pragma once

#include <cstdint>

namespace cnntrain::run {

/// out[r * columns + c] = sum over k of a[r * width + k] * b[c * width + k].
void dot_rows(const float* a, std::int64_t rows, const float* b, std::int64_t columns, std::int64_t width, float* out);

/// sums[c * width + k] += sum over r of factors[r * columns + c] * a[r * width + k], r in order.
void add_weighted_rows(const float* factors, const float* a, std::int64_t rows, std::int64_t columns,
                       std::int64_t width, float* sums);

}  // namespace cnntrain::run
