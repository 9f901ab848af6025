#include "exports/onnx/constants.h"

#include <algorithm>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::exports {

using graph::RefTensor;
using graph::Role;
using graph::ValueId;

namespace {

RefTensor reference(const HostTensor& tensor) {
    RefTensor result{tensor.desc(), std::vector<double>(static_cast<std::size_t>(tensor.elements()))};
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        result.values[static_cast<std::size_t>(i)] = tensor.at(i);
    return result;
}

}  // namespace

bool Constants::has(ValueId value) {
    const auto found = known_.find(value);
    if (found != known_.end()) return found->second;
    const graph::Graph& graph = network_.graph;
    bool constant = graph.is_variable(value);
    if (graph.value(value).role == Role::intermediate) {
        const graph::Node& node = graph.node(graph.value(value).producer);
        constant = graph.def(node).evaluate != nullptr &&
                   std::ranges::all_of(node.inputs, [&](ValueId input) { return has(input); });
    }
    known_.emplace(value, constant);
    return constant;
}

const HostTensor& Constants::at(ValueId value) {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    const graph::Value& wanted = network_.graph.value(value);
    if (wanted.role == Role::intermediate) {
        compute(wanted.producer);
        return values_.at(value);
    }
    const auto variable = network_.variables.find(wanted.name);
    CNNTRAIN_CHECK(variable != network_.variables.end(), "no values of " + wanted.name);
    return values_.emplace(value, variable->second).first->second;
}

void Constants::compute(graph::NodeId id) {
    const graph::Graph& graph = network_.graph;
    const graph::Node& node = graph.node(id);
    std::vector<RefTensor> inputs;
    for (const ValueId input : node.inputs)
        inputs.push_back(reference(at(input)));
    std::vector<const RefTensor*> pointers;
    for (const RefTensor& input : inputs)
        pointers.push_back(&input);
    std::vector<RefTensor> outputs;
    for (const ValueId output : node.outputs) {
        const TensorDesc& desc = graph.desc(output);
        outputs.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
    }
    graph.def(node).evaluate(node.attrs, pointers, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const bool is_integer = outputs[i].desc.dtype == DType::i32 || outputs[i].desc.dtype == DType::i64;
        HostTensor tensor({is_integer ? outputs[i].desc.dtype : DType::f32, outputs[i].desc.shape});
        for (std::int64_t k = 0; k < tensor.elements(); ++k)
            tensor.set(k, outputs[i].values[static_cast<std::size_t>(k)]);
        values_.emplace(node.outputs[i], std::move(tensor));
    }
}

}  // namespace cnntrain::exports
