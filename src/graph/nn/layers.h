// Layers with their variables: the building blocks of the networks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cnntrain/base/text.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

/// The value in this type: itself, or a cast of it.
graph::ValueId in_type(graph::Graph& graph, graph::ValueId x, DType type, const std::string& name);

/// Initial scale of a norm: zero makes a residual block start as the identity.
enum class Gamma : std::uint8_t { one, zero };

struct ConvShape {
    std::int64_t filters = 0;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t groups = 1;
    graph::Initialiser initialiser{.kind = graph::Initialiser::Kind::truncated_normal_fan_in, .value = 1};
};

/// The rows of a proxy that the network reads (ProxyNormAttrs in graph/op.h), each f32[C].
struct ProxyRows {
    graph::ValueId beta, gamma, mean, inverse_deviation;
};

/// Adds layers to a graph. Every layer is one node named by its scope, and its variables live below that scope. Inputs
/// and results are [N,H,W,C] in the compute type unless stated otherwise. A kernel's variable is <scope>/weight, in an
/// EfficientNet <scope>/kernel.
class Layers {
public:
    Layers(graph::Graph& graph, const NetworkSettings& model, const NumericsSettings& numerics, Mode mode)
        : graph_(graph), model_(model), numerics_(numerics), mode_(mode), frozen_(model.frozen, "--freeze") {}

    /// Converts images [N,H,W,3] of any type to the compute type, with the device's normalisation if there is one.
    graph::ValueId prepare_images(graph::ValueId images, const InputSettings& input);

    /// No bias.
    graph::ValueId conv(graph::ValueId x, const std::string& scope, const ConvShape& shape);
    /// Variables below <scope>/bn<suffix>/batch_norm or <scope>/gn<suffix>/GroupNorm.
    graph::ValueId norm(graph::ValueId x, const std::string& scope, const std::string& suffix, Gamma gamma);
    /// Variables below <scope>/batch_norm or <scope>/GroupNorm; the node is <scope>/norm.
    graph::ValueId norm(graph::ValueId x, const std::string& scope);
    /// The same norm with <leaf>/gamma only.
    graph::ValueId norm_without_shift(graph::ValueId x, const std::string& scope);
    /// The same norm with given gamma and beta, f32[C].
    graph::ValueId norm_with(graph::ValueId x, const std::string& scope, graph::ValueId gamma, graph::ValueId beta);
    graph::ValueId activation(graph::ValueId x, const std::string& scope, graph::Activation activation);
    graph::ValueId add(graph::ValueId branch, graph::ValueId shortcut, const std::string& scope);
    graph::ValueId max_pool(graph::ValueId x, const std::string& scope, std::int64_t kernel, std::int64_t stride);
    /// Every stride-th pixel, channels zero-padded at the end to `channels`.
    graph::ValueId shortcut_pad(graph::ValueId x, const std::string& scope, std::int64_t channels, std::int64_t stride);
    /// [N,H,W,C] -> [N,C].
    graph::ValueId global_average_pool(graph::ValueId x, const std::string& scope);
    /// [N,I] -> [N,outputs], with <scope>/bias.
    graph::ValueId dense(graph::ValueId x, const std::string& scope, std::int64_t outputs);
    /// [N,I] -> [N,filters]: a 1x1 convolution of one-pixel images with <scope>/bias.
    graph::ValueId pixel_conv(graph::ValueId x, const std::string& scope, std::int64_t filters,
                              graph::Initialiser initialiser);
    /// x * gate[N,C] at every pixel.
    graph::ValueId scale_channels(graph::ValueId x, graph::ValueId gate, const std::string& scope);
    /// The rows of the variable <scope>/proxy of an activation with `channels` channels.
    ProxyRows proxy_rows(const std::string& scope, std::int64_t channels, const graph::ProxyNormAttrs& attrs);
    /// (x - mean) * scale for every channel; an invalid mean or scale is left out.
    graph::ValueId standardise(graph::ValueId x, const std::string& scope, graph::ValueId mean, graph::ValueId scale);
    /// Dropout of elements or of whole samples; adds nothing for rate 0 and in evaluation.
    graph::ValueId drop(graph::ValueId x, const std::string& scope, graph::RandomScaleAttrs attrs);

    std::int64_t channels(graph::ValueId x) const { return graph_.desc(x).shape.back(); }

private:
    DType stored_type(const std::string& variable) const;
    graph::ValueId parameter(const std::string& variable, Shape shape, graph::Initialiser initialiser);
    graph::ValueId in_compute_type(graph::ValueId x, const std::string& scope);
    graph::ValueId channel_vector(graph::ValueId vector);
    graph::Padding padding(graph::ValueId x, std::int64_t kernel, std::int64_t stride) const;
    std::string kernel_name(const std::string& scope) const;
    bool grouped() const { return model_.norm == NormKind::group; }
    std::int64_t norm_groups(std::int64_t channels, const std::string& scope) const;
    std::string norm_leaf(const std::string& scope) const { return scope + (grouped() ? "/GroupNorm" : "/batch_norm"); }
    graph::ValueId gamma_of(const std::string& leaf, std::int64_t channels, Gamma gamma);
    graph::ValueId norm_node(graph::ValueId x, const std::string& scope, const std::string& leaf, graph::ValueId gamma,
                             graph::ValueId beta);
    graph::ValueId batch_norm(graph::ValueId x, const std::string& scope, const std::string& leaf, graph::ValueId gamma,
                              graph::ValueId beta);
    graph::ValueId affine(graph::ValueId x, const std::string& scope, Shape weight, graph::Initialiser initialiser);

    graph::Graph& graph_;
    const NetworkSettings& model_;
    const NumericsSettings& numerics_;
    Mode mode_;
    Patterns frozen_;
};

// A network as data: its functions in order. A pipeline stage may begin at any of them.

struct Function {
    std::string name;  // "stage1/unit1/relu"
    /// Extends the graph by this function; `scope` is "all/" + name.
    std::function<graph::ValueId(Layers&, graph::ValueId x, const std::string& scope)> build;
};

using Network = std::vector<Function>;

}  // namespace cnntrain::nn
