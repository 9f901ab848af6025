// Input for a graph whose speed is measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::run {

/// Repeats the same generated values for every input of a graph. Numbers are in [0, 1), bytes are any. Integers that
/// name rows are spread over all rows, since the speed of their gradients depends on how often a row is named; masks
/// hide nothing; other integers are 0.
class MadeUpBatches final : public data::BatchSource {
public:
    explicit MadeUpBatches(const graph::Graph& graph);

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override;

private:
    std::vector<data::Field> fields_;
    std::vector<HostTensor> tensors_;
    std::vector<std::span<const std::byte>> spans_;
    std::int64_t samples_ = 0;
    std::int64_t pulls_ = 0;
};

}  // namespace cnntrain::run
