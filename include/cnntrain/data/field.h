// Samples as named fields. Only the data sets and the networks know what a field means; whatever lies between them
// passes fields on by their number.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::data {

/// One named tensor: of a sample ("images": f32[H,W,C], "labels": i32[]) or of a micro-batch ("images": f32[N,H,W,C]).
struct Field {
    std::string name;
    TensorDesc desc;

    bool operator==(const Field&) const = default;
};

/// Of all fields together.
std::size_t total_bytes(const std::vector<Field>& fields);

/// Error(internal) with the names that there are.
std::size_t field_number(const std::vector<Field>& fields, std::string_view name);
const TensorDesc& field_desc(const std::vector<Field>& fields, std::string_view name);

/// Where the fields of one sample are written to: their bytes, in the order of the data set's fields.
using SampleView = std::span<const std::span<std::byte>>;

}  // namespace cnntrain::data
