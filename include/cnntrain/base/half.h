// IEEE binary16, the element type f16, and rounding to any element type.
#pragma once

#include <cstdint>

#include "cnntrain/base/tensor.h"

namespace cnntrain {

/// IEEE binary16 storage.
struct Half {
    std::uint16_t bits = 0;
};
/// Round to nearest, ties to even; NaN stays NaN.
Half to_half(float value);
float to_float(Half value);

/// The nearest value that this type can hold, as HostTensor::set() stores it.
double rounded_to(DType type, double value);

// NOLINTNEXTLINE(readability-identifier-naming): named as type traits are.
template <> struct DTypeOf<Half> { static constexpr DType value = DType::f16; };

}  // namespace cnntrain
