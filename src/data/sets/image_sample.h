// A view of one sample with image_fields().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

inline std::span<std::byte> image_of(SampleView out) {
    return out[0];
}
void store_label(std::int32_t label, SampleView out);
/// Writes a zero image that does not count; the label gives the reason.
void store_nothing(std::int32_t label, SampleView out);

}  // namespace cnntrain::data
