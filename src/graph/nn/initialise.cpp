#include "cnntrain/graph/model.h"

#include <cmath>
#include <iterator>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::nn {

using graph::Initialiser;

namespace {

// Standard deviation of a standard normal distribution that is truncated at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

struct Fans {
    double in = 1;
    double out = 1;
};

/// Fans of a kernel [K,K,I,O] or a matrix [I,O].
Fans fans(const graph::Value& variable) {
    const Shape& shape = variable.desc.shape;
    CNNTRAIN_CHECK(shape.size() >= 2, variable.name + ": a fan needs at least two axes, shape " + to_string(shape));
    const std::int64_t inputs = shape[shape.size() - 2];
    const std::int64_t outputs = shape.back();
    const double window = static_cast<double>(element_count(shape)) / static_cast<double>(inputs * outputs);
    return {window * static_cast<double>(inputs), window * static_cast<double>(outputs)};
}

template <typename Draw> HostTensor filled(const TensorDesc& desc, Draw draw) {
    HostTensor tensor(desc);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, draw());
    return tensor;
}

HostTensor filled_by_rows(const graph::Value& variable) {
    const std::vector<double>& rows = variable.initialiser.rows;
    CNNTRAIN_CHECK(!variable.desc.shape.empty() && variable.desc.shape[0] == std::ssize(rows),
                   variable.name + ": " + std::to_string(rows.size()) + " rows cannot fill the shape " +
                       to_string(variable.desc.shape));
    HostTensor tensor(variable.desc);
    const std::int64_t row_elements = tensor.elements() / std::ssize(rows);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, rows[static_cast<std::size_t>(i / row_elements)]);
    return tensor;
}

}  // namespace

HostTensor initial_value(const graph::Value& variable, std::uint64_t seed) {
    const Initialiser& initialiser = variable.initialiser;
    // The name is the only stable property of a variable.
    Rng rng(seed, RngStream::initialiser, 0, hash_text(variable.name));
    const auto truncated_normal = [&](double fan) {
        const double sigma = std::sqrt(initialiser.value / fan) / kTruncatedDeviation;
        return filled(variable.desc, [&, sigma] { return sigma * rng.truncated_normal(); });
    };
    switch (initialiser.kind) {
        case Initialiser::Kind::constant:
            return filled(variable.desc, [&] { return initialiser.value; });
        case Initialiser::Kind::truncated_normal_fan_in:
            return truncated_normal(fans(variable).in);
        case Initialiser::Kind::truncated_normal_fan_out:
            return truncated_normal(fans(variable).out);
        case Initialiser::Kind::glorot_uniform: {
            const Fans fan = fans(variable);
            const double limit = std::sqrt(6.0 / (fan.in + fan.out));
            return filled(variable.desc, [&, limit] { return rng.uniform(-limit, limit); });
        }
        case Initialiser::Kind::truncated_normal:
            return filled(variable.desc, [&] { return initialiser.value * rng.truncated_normal(); });
        case Initialiser::Kind::rows:
            return filled_by_rows(variable);
    }
    throw Error(ErrorKind::internal, variable.name + ": unknown initialiser");
}

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
