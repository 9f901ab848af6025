// Operations on a complete micro-batch, such as mixing its samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

struct MadeField {
    Field field;                               // of a micro-batch
    std::optional<std::size_t> replaces = {};  // the sample field that it replaces; empty: appended after all fields
};

class BatchTransform {
public:
    virtual ~BatchTransform() = default;
    /// The fields made from a micro-batch with these fields. Fields that are not replaced are delivered unchanged.
    virtual std::vector<MadeField> makes(const std::vector<Field>& batch) const = 0;
    /// Writes the made fields. `number`: number of the micro-batch in the stream of all ranks. The result depends only
    /// on the arguments. Thread-safe.
    virtual void make(std::int64_t number, const std::vector<Field>& fields,
                      std::span<const std::span<const std::byte>> batch,
                      std::span<const std::span<std::byte>> made) const = 0;
};

}  // namespace cnntrain::data
