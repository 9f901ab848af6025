// Single ops by their naive evaluators, and their results against numbers worked out by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "cnntrain/graph/op.h"

namespace cnntrain::test {

inline graph::RefTensor tensor(Shape shape, std::vector<double> values, DType type = DType::f32) {
    return {{type, std::move(shape)}, std::move(values)};
}

/// Infers and evaluates, with the random words of seed 0; for an update op, the new values of what it overwrites.
inline std::vector<graph::RefTensor> run(graph::OpKind kind, const graph::Attrs& attrs,
                                         const std::vector<graph::RefTensor>& inputs) {
    const graph::OpDef& def = ops::op_table()[static_cast<std::size_t>(kind)];
    std::vector<TensorDesc> descs;
    std::vector<const graph::RefTensor*> pointers;
    for (const graph::RefTensor& input : inputs) {
        descs.push_back(input.desc);
        pointers.push_back(&input);
    }
    std::vector<TensorDesc> result_descs = def.infer(attrs, descs);
    for (const std::size_t index : def.overwritten_inputs(descs.size()))
        result_descs.push_back(descs.at(index));
    std::vector<graph::RefTensor> outputs;
    outputs.reserve(result_descs.size());
    for (const TensorDesc& desc : result_descs)
        outputs.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
    if (def.evaluate != nullptr) {
        def.evaluate(attrs, pointers, outputs);
    } else {
        def.evaluate_random(attrs, {}, pointers, outputs);
    }
    return outputs;
}

MATCHER_P(Near, tolerance, "") {
    return std::abs(std::get<0>(arg) - std::get<1>(arg)) <= tolerance;
}

inline void expect_values(const graph::RefTensor& got, const Shape& shape, const std::vector<double>& values) {
    EXPECT_EQ(got.desc.shape, shape);
    EXPECT_THAT(got.values, testing::Pointwise(Near(1e-12), values));
}

}  // namespace cnntrain::test
