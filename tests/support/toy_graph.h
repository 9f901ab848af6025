// Small networks for tests, put together from the real operations.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "support/graph_names.h"

namespace cnntrain::test {

/// A graph and short words for the nodes that most networks have. Images are [batch, height, width, channels], rows
/// [batch, features]; parameters are of type `stored` and begin as zeros.
class ToyGraph {
public:
    using ValueId = graph::ValueId;

    explicit ToyGraph(DType stored = DType::f32) : stored_(stored) {}

    graph::Graph graph{ops::op_table()};

    ValueId input(const std::string& name, const Shape& shape, DType type = DType::f32) {
        return graph.add_input(name, {type, shape});
    }
    ValueId parameter(const std::string& name, const Shape& shape) {
        return graph.add_parameter(name, {stored_, shape}, {});
    }

    ValueId activation(ValueId x, const std::string& name, graph::Activation kind = graph::Activation::relu) {
        return graph.add_one(graph::OpKind::activation, graph::ActivationAttrs{kind}, {x}, name);
    }
    ValueId sum(ValueId a, ValueId b, const std::string& name) {
        return graph.add_one(graph::OpKind::add, graph::NoAttrs{}, {a, b}, name);
    }
    ValueId cast(ValueId x, DType type, const std::string& name) {
        return graph.add_one(graph::OpKind::cast, graph::CastAttrs{type}, {x}, name);
    }
    ValueId reshaped(ValueId x, const Shape& shape, const std::string& name) {
        return graph.add_one(graph::OpKind::reshape, graph::ReshapeAttrs{shape}, {x}, name);
    }
    ValueId average_pool(ValueId images) {
        return graph.add_one(graph::OpKind::global_average_pool, graph::NoAttrs{}, {images}, "pool");
    }

    /// Rows times "<name>/weight", plus "<name>/bias".
    ValueId dense(ValueId x, std::int64_t outputs, const std::string& name) {
        const ValueId weight = parameter(name + "/weight", {graph.desc(x).shape.back(), outputs});
        const ValueId bias = parameter(name + "/bias", {outputs});
        return graph.add_one(graph::OpKind::dense, graph::DenseAttrs{}, {x, weight, bias}, name);
    }

    struct Window {
        std::int64_t width = 3;
        std::int64_t stride = 1;
        std::int64_t groups = 1;
    };
    /// Convolution with a square window and SAME padding; its weight is "<name>/weight".
    ValueId conv(ValueId x, std::int64_t channels, const std::string& name, const Window& window) {
        const Shape& images = graph.desc(x).shape;
        graph::ConvAttrs attrs;
        attrs.stride = window.stride;
        attrs.groups = window.groups;
        if (window.width > 1) attrs.padding = graph::same_padding(images[1], images[2], window.width, window.stride);
        const ValueId weight =
            parameter(name + "/weight", {window.width, window.width, images[3] / window.groups, channels});
        return graph.add_one(graph::OpKind::conv2d, attrs, {x, weight}, name);
    }
    ValueId conv(ValueId x, std::int64_t channels, const std::string& name) { return conv(x, channels, name, {}); }

    /// The sum over the batch against the input "labels"; outputs "loss" and "correct".
    ValueId cross_entropy(ValueId logits, double smoothing = 0) {
        const ValueId labels = input("labels", {graph.desc(logits).shape.front()}, DType::i32);
        const std::vector<ValueId> results =
            graph.add(graph::OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{smoothing}, {logits, labels}, "loss");
        graph.mark_output("loss", results[0]);
        graph.mark_output("correct", results[1]);
        return results[0];
    }

    std::vector<ValueId> parameters() const { return graph.values_with_role(graph::Role::parameter); }
    graph::Gradients differentiate(ValueId loss, const std::vector<ValueId>& recompute_points = {}) {
        return graph::build_backward(graph,
                                     {.loss = loss, .targets = parameters(), .recompute_points = recompute_points});
    }

    /// The scalars that every update reads: "learning_rate", "step", "loss_scaling". The update phase begins.
    std::array<ValueId, 3> begin_update() {
        graph.set_phase(graph::Phase::update);
        const ValueId rate = graph.add_scalar("learning_rate");
        const ValueId step = graph.add_scalar("step");
        return {rate, step, graph.add_scalar("loss_scaling")};
    }
    /// Adds "<parameter>/update" for every parameter; with momentum it has the slot "<parameter>/velocity".
    void update_all(const graph::Gradients& gradients, const graph::UpdateAttrs& attrs) {
        const auto [rate, step, scaling] = begin_update();
        for (const ValueId parameter : parameters()) {
            const std::string name = graph.value(parameter).name;
            std::vector<ValueId> inputs = {parameter, gradients.of.at(parameter), rate, step, scaling};
            if (attrs.rule == graph::UpdateRule::momentum)
                inputs.push_back(graph.add_slot(parameter, name + "/velocity", graph.desc(parameter), {}));
            graph.add(graph::OpKind::update, attrs, inputs, name + "/update");
        }
    }

private:
    DType stored_;
};

/// Numbers from [low, high) that follow from seed and index.
inline HostTensor random_tensor(const TensorDesc& desc, std::uint64_t index, double low, double high,
                                std::uint64_t seed = 7) {
    Rng rng(seed, RngStream::test, 0, index);
    HostTensor tensor(desc);
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, rng.uniform(low, high));
    return tensor;
}

}  // namespace cnntrain::test
