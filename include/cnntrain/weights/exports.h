// Files of a trained network for other programs. Weights come to the disk only if they answer as the network does: the
// file is made in memory, read from there, and computes the replayed samples. What is on the disk is read again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {

// A model in the ONNX format, as far as this program writes it: one graph of nodes of the default operator
// set, no control flow, tensors inside the file. Format: https://onnx.ai/onnx/repo-docs/IR.html

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
constexpr auto spellings(OnnxWeights) {
    return enumerator_names<OnnxWeights>();
}

struct OnnxSettings {
    OnnxWeights weights = OnnxWeights::f32;
    /// Adds an output with the softmax over the last axis of the first output, or with the sigmoid where samples have
    /// several labels; empty: none.
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

enum class Format : std::uint8_t { onnx, torchvision, timm, tf };
constexpr auto spellings(Format) {
    return enumerator_names<Format>();
}

using Outputs = std::map<std::string, HostTensor>;

/// Facts about an image network from which another program computes the same of a photo.
struct ImageNetwork {
    nn::NetworkSettings network;
    data::DataSettings images;
};

/// A trained network, ready to be exported. The owner of its graph and weights outlives it.
struct ExportedNetwork {
    std::string checkpoint;  // path of the file with its weights
    NetworkPart part;
    std::optional<ImageNetwork> image = {};     // empty for networks of other inputs
    std::vector<std::string> class_names = {};  // as the run has them
    std::string samples = {};  // with which files are compared: "64 samples of the validation set"; "": none
    Outputs outputs = {};      // of these samples
    /// The outputs of the same network with other weights, in any layout that is read here. `path`: for messages.
    std::function<Outputs(Checkpoint weights, const std::string& path)> answers = {};
    /// The tensors of the checkpoint as they are stored, with the optimiser's; with --ema the moving averages.
    std::function<Checkpoint()> stored = {};
};

struct ExportRequest {
    Format format = Format::onnx;
    std::string target = {};                    // a file (onnx) or a folder; empty: next to the checkpoint
    OnnxWeights weights = OnnxWeights::f32;     // of onnx
    bool probabilities = false;                 // onnx: a second output
    bool preparation = false;                   // onnx: the file reads photos
    bool in_f32 = false;                        // tf: tensors of 16 bits are widened
    std::vector<std::string> class_names = {};  // instead of the run's own
    std::string version = {};                   // of this program
    bool overwrite = false;
};

struct ExportReport {
    std::vector<std::string> paths = {};    // that were written
    std::string what = {};                  // "timm's resnet50"
    std::optional<double> difference = {};  // of the outputs; empty: they were not compared
};

/// Error(unsupported) if the other program has no such network, Error(usage) like check_outputs(), Error(data) if the
/// written file answers otherwise.
ExportReport export_network(const ExportRequest& request, const ExportedNetwork& network, FileSystem& files);

// ---- parts of it, for tests ----

/// The greatest difference of two outputs, as a share of the greatest number in the expected one, or of 1 if that is
/// smaller. NaN is infinitely different.
double difference(const HostTensor& expected, const HostTensor& got);

/// The difference that is allowed.
inline constexpr double kTolerance = 1e-4;

/// Writes the files `paths` if they answer as expected. `write` makes them in memory, from where `answers` reads them;
/// then they are written to `files`, all or none. Returns the difference of the outputs. Error(data) if it is above
/// kTolerance, or what `answers` throws: nothing is written, and what was there stays.
double write_if_same(FileSystem& files, const std::vector<std::string>& paths, const Outputs& expected,
                     const std::function<void(FileSystem& memory)>& write,
                     const std::function<Outputs(const FileSystem& memory)>& answers);

}  // namespace cnntrain::weights
