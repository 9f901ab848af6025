// Turns a network's evaluation graph and its weights into an ONNX model.
//
// What depends on weights alone is computed here, in float64: norms folded into convolutions, casts, rows of proxies.
// Images are [N,C,H,W] in the model, as ONNX's operators want them, and [N,H,W,C] in the graph. The number of samples
// is the caller's; all other sizes are those of the graph.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/exports/onnx_model.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::exports {

/// A value of the graph that is an input or an output of the network, and its name there.
struct Port {
    std::string name;
    graph::ValueId value;
};

/// An input of the graph that is the same for all samples, such as the positions of tokens: [1,...].
struct FixedInput {
    graph::ValueId value;
    HostTensor tensor;
};

/// The part of a graph between inputs and outputs, with all its variables.
struct NetworkPart {
    const graph::Graph& graph;
    std::vector<Port> inputs;  // all have N as their first axis
    std::vector<FixedInput> fixed;
    std::vector<Port> outputs;  // likewise
    const std::map<std::string, HostTensor>& variables;
};

enum class OnnxWeights : std::uint8_t {
    f32,
    f16,   // computed in float16, too; inputs and outputs are float32
    bf16,  // matrices and kernels are stored in bfloat16 and computed in float32
};

struct OnnxSettings {
    OnnxWeights weights = OnnxWeights::f32;
    /// Adds an output with the softmax over the last axis of the first output; empty: none.
    std::string probabilities = {};
    /// Images are photos of any size, u8 [N,H,W,3], which the file itself prepares as evaluation does with these
    /// settings; empty: the network's own input.
    std::optional<data::DataSettings> preparation = {};
    std::string name = "network";
    std::string version = {};  // of this program
    std::map<std::string, std::string> metadata = {};
};

/// Error(unsupported) names operations that ONNX has no form of, and weights beyond float16.
OnnxModel to_onnx(const NetworkPart& network, const OnnxSettings& settings);

}  // namespace cnntrain::exports
