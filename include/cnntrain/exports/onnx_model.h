// A model in the ONNX format, as far as this program writes and reads it: one graph of nodes of the default operator
// set, no control flow, tensors inside the file. Format: https://onnx.ai/onnx/repo-docs/IR.html
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cnntrain/base/tensor.h"

namespace cnntrain::exports {

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
    std::vector<OnnxNode> nodes;      // each behind those whose results it reads
    std::map<std::string, std::string> metadata;
};

/// The bytes of the file. Error(unsupported) for 2 GiB and more, which the format cannot hold in one file.
std::string encode(const OnnxModel& model);

/// Error(data) names what is wrong with the file; Error(unsupported) what this program does not read: other domains and
/// element types, tensors outside the file. Nodes are not checked for what they compute.
OnnxModel decode(std::string_view bytes);

}  // namespace cnntrain::exports
