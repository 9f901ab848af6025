// Samples as named fields. Only data sets and networks interpret fields; all code in between knows them by number.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// One named tensor, of a sample ("images": f32[H,W,C], "labels": i32[]) or of a micro-batch ("images": f32[N,H,W,C]).
struct Field {
    std::string name;
    TensorDesc desc;

    bool operator==(const Field&) const = default;
};

/// Total size of all fields.
std::size_t total_bytes(const std::vector<Field>& fields);

/// Error(internal), with the existing names, if there is no field of this name.
std::size_t field_number(const std::vector<Field>& fields, std::string_view name);
const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name);

/// Where to write one sample: the bytes of each field, in the order of the data set's fields.
using SampleView = std::span<const std::span<std::byte>>;

}  // namespace cnntrain::data
