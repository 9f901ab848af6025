// Lowers the nodes of a graph into an ONNX model. Each operation has a function; lowering.cpp has their table.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/exports/onnx_export.h"
#include "exports/onnx/builder.h"
#include "exports/onnx/constants.h"

namespace cnntrain::exports {

class Lowering {
public:
    Lowering(const NetworkPart& network, const OnnxSettings& settings, OnnxModel& model)
        : network_(network),
          settings_(settings),
          model_(model),
          builder_(model, settings.weights),
          constants_(network) {}

    void run();

    // ---- for the functions of operations ----

    OnnxBuilder& builder() { return builder_; }
    const graph::Graph& graph() const { return network_.graph; }
    const Shape& shape(graph::ValueId value) const { return network_.graph.desc(value).shape; }
    DType type(graph::ValueId value) const { return network_.graph.desc(value).dtype; }
    bool is_constant(graph::ValueId value) { return constants_.has(value); }
    const HostTensor& constant(graph::ValueId value) { return constants_.at(value); }
    /// The name of a value in the model. A constant has the axes that it has in the graph.
    std::string at(graph::ValueId value);
    /// A constant per channel, in the shape in which it applies to `x`: [C,1,1] for images, [C] otherwise.
    std::string per_channel(graph::ValueId vector, graph::ValueId x);
    std::string name_of(graph::ValueId value) const;
    std::string activated(std::string x, graph::Activation activation, const std::string& name);
    void set(graph::ValueId value, std::string name) { names_[value] = std::move(name); }

private:
    void add_inputs();
    void add_outputs();
    /// The nodes that the outputs need, in the order of the graph.
    std::vector<graph::NodeId> needed() const;
    OnnxPort port(const Port& port, DType dtype) const;

    const NetworkPart& network_;
    const OnnxSettings& settings_;
    OnnxModel& model_;
    OnnxBuilder builder_;
    mutable Constants constants_;
    std::map<graph::ValueId, std::string> names_;
};

using LowerFunction = void (*)(Lowering& to, const graph::Node& node);

// ---- images ----
void lower_conv2d(Lowering& to, const graph::Node& node);
void lower_batch_norm(Lowering& to, const graph::Node& node);
void lower_group_norm(Lowering& to, const graph::Node& node);
void lower_standardise(Lowering& to, const graph::Node& node);
void lower_scale_channels(Lowering& to, const graph::Node& node);
void lower_max_pool(Lowering& to, const graph::Node& node);
void lower_global_average_pool(Lowering& to, const graph::Node& node);
void lower_shortcut_pad(Lowering& to, const graph::Node& node);

// ---- all networks ----
void lower_add(Lowering& to, const graph::Node& node);
void lower_activation(Lowering& to, const graph::Node& node);
void lower_dense(Lowering& to, const graph::Node& node);
void lower_cast(Lowering& to, const graph::Node& node);
void lower_reshape(Lowering& to, const graph::Node& node);
void lower_slice(Lowering& to, const graph::Node& node);

// ---- text ----
void lower_embedding(Lowering& to, const graph::Node& node);
void lower_gather_rows(Lowering& to, const graph::Node& node);
void lower_layer_norm(Lowering& to, const graph::Node& node);
void lower_attention_mask(Lowering& to, const graph::Node& node);
void lower_attention(Lowering& to, const graph::Node& node);

}  // namespace cnntrain::exports
