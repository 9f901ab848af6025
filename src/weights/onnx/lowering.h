// Lowers the nodes of a graph into an ONNX model. Each operation has a function in lower_networks.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/settings.h"
#include "cnntrain/weights/exports.h"

namespace cnntrain::weights {

// Appends nodes and constants to an ONNX model: names, element types, and constants that several nodes share.

class OnnxBuilder {
public:
    OnnxBuilder(OnnxModel& model, OnnxWeights weights) : model_(model), weights_(weights) {}

    /// Returns the name of the result.
    std::string add(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                    std::map<std::string, OnnxAttribute> attributes = {});
    /// The same with the result's name given, which must be free.
    void add_named(std::string_view op, const std::string& result, std::vector<std::string> inputs,
                   std::map<std::string, OnnxAttribute> attributes = {});
    /// A constant in the types of these weights; f32 or an integer type.
    std::string weight(const std::string& name, const HostTensor& tensor);
    /// A constant as it is.
    std::string stored(const std::string& name, const HostTensor& tensor);
    /// A number in the type in which the model computes.
    std::string number(double value);
    std::string integers(const std::string& name, const std::vector<std::int64_t>& values);

    DType compute_type() const { return weights_ == OnnxWeights::f16 ? DType::f16 : DType::f32; }
    /// ONNX's number of compute_type(), for Cast.
    std::int64_t compute_number() const;
    bool computes_in_f32() const { return compute_type() == DType::f32; }
    void reserve(const std::string& name) { names_.insert(name); }

private:
    std::string free_name(const std::string& wanted);

    OnnxModel& model_;
    OnnxWeights weights_;
    std::set<std::string> names_;
    std::map<double, std::string> numbers_;
};

inline constexpr const char* kOnnxBatch = "batch";  // name of the number of samples
inline constexpr std::size_t kImageRank = 4;        // [N,C,H,W]; [N,H,W,C] in the graph
inline constexpr std::int64_t kOnnxFloat = 1;
inline constexpr std::int64_t kOnnxUint8 = 2;
inline constexpr std::int64_t kOnnxInt64 = 7;
inline constexpr std::int64_t kOnnxFloat16 = 10;

// Values of a graph that depend on its variables alone.

class Constants {
public:
    explicit Constants(const NetworkPart& network) : network_(network) {}

    bool has(graph::ValueId value);
    /// The value in f32, or in the integer type that it has; has() must be true.
    const HostTensor& at(graph::ValueId value);

private:
    void compute(graph::NodeId node);

    const NetworkPart& network_;
    std::map<graph::ValueId, bool> known_;
    std::map<graph::ValueId, HostTensor> values_;
};

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

/// Null if ONNX has no form of the operation here.
LowerFunction lowering_of(graph::OpKind kind);

// Nodes that prepare photos as evaluation does (cnntrain/data/settings.h), in front of an image network.

/// The input: pixels u8 [N,H,W,3] of any size. Images that are standardised one by one have the size of the network's.
OnnxPort photo_port(const std::string& name, const data::DataSettings& images);

/// Returns the name of the network's images, f32 [N,3,S,S].
std::string add_preparation(OnnxBuilder& builder, const std::string& photos, const data::DataSettings& images);

}  // namespace cnntrain::weights
