#include "cnntrain/nn/last_layer.h"

#include "cnntrain/base/error.h"

namespace cnntrain::nn {

using graph::OpKind;
using graph::ValueId;

namespace {

[[noreturn]] void refuse(const graph::Graph& graph, ValueId logits, const std::string& what) {
    throw Error(ErrorKind::unsupported, "the last layer, which makes '" + graph.value(logits).name + "', " + what);
}

/// The name of the parameter that `id` is, or is cast from.
std::string parameter_behind(const graph::Graph& graph, ValueId id, ValueId logits) {
    while (graph.value(id).producer.valid()) {
        const graph::Node& node = graph.node(graph.value(id).producer);
        if (node.kind != OpKind::cast) refuse(graph, logits, "does not read its weight and bias as they are stored");
        id = node.inputs[0];
    }
    return graph.value(id).name;
}

}  // namespace

LastLayer mark_features(graph::Graph& graph, ValueId logits, const std::string& name) {
    const graph::NodeId producer = graph.value(logits).producer;
    CNNTRAIN_CHECK(producer.valid(), "logits are the result of a node");
    const graph::Node& node = graph.node(producer);
    if (node.kind != OpKind::dense || !node.as<graph::DenseAttrs>().bias)
        refuse(graph, logits, "is no dense layer with a bias");
    const ValueId features = node.inputs[0];
    if (graph.desc(features).shape.size() != 2) {
        refuse(graph, logits,
               "reads " + to_string(graph.desc(features).shape) + ", not one vector of features for each sample");
    }
    LastLayer layer{parameter_behind(graph, node.inputs[1], logits), parameter_behind(graph, node.inputs[2], logits),
                    node.as<graph::DenseAttrs>().transposed};
    graph.mark_output(name, features);
    return layer;
}

}  // namespace cnntrain::nn
