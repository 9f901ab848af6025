// GroupBERT's layer with the variables of tests/golden/groupbert.json, and what another implementation in double
// precision computes with them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"

namespace cnntrain::golden {

/// The layer on two sequences of `length` tokens, the second with five that are visible, and the loss sum of y * c.
/// Variables and results have the type `compute`; x, c and the loss are in float.
struct GroupLayer {
    explicit GroupLayer(std::int64_t length = 8, bool splits = true, DType compute = DType::f32);

    std::vector<graph::ValueId> parameters() const { return net.values_with_role(graph::Role::parameter); }
    std::size_t elements(graph::ValueId id) const { return static_cast<std::size_t>(net.desc(id).elements()); }
    graph::ValueId value(const std::string& name) const;

    /// Forward and backward in double precision, by value.
    std::vector<graph::RefTensor> computed() const;
    double computed_loss() const { return computed()[static_cast<std::size_t>(loss.index)].values[0]; }
    const std::vector<double>& gradient(const std::vector<graph::RefTensor>& values, const std::string& variable) const;

    nn::BertSettings model;
    nn::NumericsSettings numerics;
    nn::BertInput input;
    graph::Graph net{ops::op_table()};
    graph::ValueId loss;
    graph::Gradients gradients;
    std::map<std::string, std::vector<double>, std::less<>> starts;
};

const nlohmann::json& golden_layer();

/// Compares the result of one of the layer's four blocks.
void expect_golden_block(const std::vector<double>& y, const nlohmann::json& want, double tolerance);

/// The derivative of the loss by one weight.
struct GoldenGradient {
    std::string variable;
    std::size_t index = 0;
    double value = 0;
};
std::vector<GoldenGradient> golden_gradients(const GroupLayer& layer);

struct GroupTolerances {
    double values = 0;
    double gradients = 0;        // relative to the largest gradient of the variable
    double query_gradients = 0;  // the same of queries, whose gradients are sums that nearly cancel; 0: as others
};
/// Computes one update of a copy of the layer on the backend and compares its four blocks and seven gradients.
void expect_golden_on(const backend::Backend& backend, GroupLayer layer, const GroupTolerances& tolerances);

HostTensor as_tensor(const TensorDesc& desc, const std::vector<double>& values);
std::vector<double> as_doubles(const HostTensor& tensor);

}  // namespace cnntrain::golden
