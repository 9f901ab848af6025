// What is done to a whole micro-batch once its samples are there, such as mixing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cnntrain/data/field.h"

namespace cnntrain::data {

struct MadeField {
    Field field;  // of a micro-batch
    std::optional<std::size_t> replaces =
        {};  // the data set's field in whose place it is delivered; empty: behind them
};

class BatchTransform {
public:
    virtual ~BatchTransform() = default;
    /// What it makes from a micro-batch with these fields. The fields that are not replaced are delivered as they are.
    virtual std::vector<MadeField> makes(const std::vector<Field>& batch) const = 0;
    /// Writes the made fields. `number`: of the micro-batch in the stream of all ranks. Depends on its arguments alone;
    /// called by many threads.
    virtual void make(std::int64_t number, const std::vector<Field>& fields,
                      std::span<const std::span<const std::byte>> batch,
                      std::span<const std::span<std::byte>> made) const = 0;
};

}  // namespace cnntrain::data
