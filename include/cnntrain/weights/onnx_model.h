// A model in the ONNX format, as far as this program writes it: one graph of nodes of the default operator
// set, no control flow, tensors inside the file. Format: https://onnx.ai/onnx/repo-docs/IR.html
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::weights {

/// The version of the operator set that is written, and its IR version.
inline constexpr std::int64_t kOpset = 18;
inline constexpr std::int64_t kIrVersion = 8;

using OnnxAttribute = std::variant<std::int64_t, float, std::string, std::vector<std::int64_t>>;

struct OnnxNode {
    std::string op;    // "Conv"
    std::string name;  // for people
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    std::map<std::string, OnnxAttribute> attributes = {};
};

struct OnnxDimension {
    std::int64_t size = 0;
    std::string name = {};  // of a size that the caller chooses, such as "batch"; `size` is 0 then
};

struct OnnxPort {
    std::string name;
    DType dtype = DType::f32;
    std::vector<OnnxDimension> shape;
};

struct OnnxTensor {
    std::string name;
    HostTensor tensor;
};

struct OnnxModel {
    std::int64_t ir_version = kIrVersion;
    std::int64_t opset = kOpset;
    std::string producer_version;
    std::string name;  // of the graph
    std::vector<OnnxPort> inputs;
    std::vector<OnnxPort> outputs;
    std::vector<OnnxTensor> tensors;  // constants
    std::vector<OnnxNode> nodes;      // each after the nodes whose results it reads
    std::map<std::string, std::string> metadata;
};

/// The bytes of the file. Error(unsupported) for 2 GiB and more, which the format cannot hold in one file.
std::string encode(const OnnxModel& model);

// Turns a network's evaluation graph and its weights into an ONNX model.
//
// What depends on weights alone is computed here, in float64: norms folded into convolutions, casts, rows of proxies.
// Images are [N,C,H,W] in the model, as ONNX's operators want them, and [N,H,W,C] in the graph. The number of samples
// is the caller's; all other sizes are those of the graph.

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

}  // namespace cnntrain::weights
