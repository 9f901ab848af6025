// Reads ONNX files.
#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "onnx.pb.h"
#include "support/onnx/run.h"

namespace cnntrain::weights {
namespace {

struct ElementType {
    DType dtype;
    std::int32_t number;  // TensorProto.DataType
};

constexpr std::array<ElementType, 8> kElementTypes = {{{DType::f32, 1},
                                                       {DType::u8, 2},
                                                       {DType::i8, 3},
                                                       {DType::i32, 6},
                                                       {DType::i64, 7},
                                                       {DType::f16, 10},
                                                       {DType::f64, 11},
                                                       {DType::bf16, 16}}};

// AttributeProto.AttributeType
constexpr int kFloat = 1;
constexpr int kInt = 2;
constexpr int kString = 3;
constexpr int kInts = 7;

DType dtype_of(std::int32_t number, const std::string& what) {
    const auto* found = std::ranges::find(kElementTypes, number, &ElementType::number);
    if (found != kElementTypes.end()) return found->dtype;
    throw Error(ErrorKind::unsupported,
                what + " has elements of ONNX's type " + std::to_string(number) + ", which this program does not read");
}

[[noreturn]] void damaged(const std::string& message) {
    throw Error(ErrorKind::data, message);
}

OnnxAttribute attribute_of(const proto::Attribute& from, const std::string& node) {
    switch (from.type()) {
        case kFloat:
            return from.f();
        case kInt:
            return from.i();
        case kString:
            return from.s();
        case kInts:
            return std::vector<std::int64_t>(from.ints().begin(), from.ints().end());
        default:
            throw Error(ErrorKind::unsupported, "node " + node + ": attribute " + from.name() + " has ONNX's type " +
                                                    std::to_string(from.type()) +
                                                    "; expected a number, numbers or a text");
    }
}

OnnxNode node_of(const proto::Node& from) {
    if (!from.domain().empty() && from.domain() != "ai.onnx") {
        throw Error(ErrorKind::unsupported, "node " + from.name() + ": " + from.op_type() + " is of the domain " +
                                                from.domain() + "; expected ONNX's own operators");
    }
    OnnxNode node{.op = from.op_type(),
                  .name = from.name(),
                  .inputs = {from.input().begin(), from.input().end()},
                  .outputs = {from.output().begin(), from.output().end()}};
    for (const proto::Attribute& attribute : from.attribute())
        node.attributes.emplace(attribute.name(), attribute_of(attribute, from.name()));
    return node;
}

OnnxTensor decoded_tensor(const proto::Tensor& from) {
    const std::string what = "tensor " + from.name();
    TensorDesc desc{dtype_of(from.data_type(), what), {from.dims().begin(), from.dims().end()}};
    std::uint64_t count = 1;
    for (const std::int64_t size : desc.shape) {
        if (size < 0 ||
            (size > 0 && count > std::numeric_limits<std::uint32_t>::max() / static_cast<std::uint64_t>(size)))
            damaged(what + " has the impossible shape " + to_string(desc.shape));
        count *= static_cast<std::uint64_t>(size);
    }
    const std::uint64_t bytes = count * size_bytes(desc.dtype);
    if (from.raw_data().size() != bytes) {
        damaged(what + " " + to_string(desc.shape) + " needs " + std::to_string(bytes) + " bytes and has " +
                std::to_string(from.raw_data().size()) + " in the file");
    }
    OnnxTensor result{from.name(), HostTensor(desc)};
    std::ranges::copy(std::as_bytes(std::span(from.raw_data())), result.tensor.bytes().begin());
    return result;
}

OnnxPort port_of(const proto::ValueInfo& from) {
    OnnxPort port{from.name(), dtype_of(from.type().tensor_type().elem_type(), from.name()), {}};
    for (const proto::Dimension& dim : from.type().tensor_type().shape().dim()) {
        const bool named = dim.value_case() == proto::Dimension::kDimParam;
        port.shape.push_back(named ? OnnxDimension{0, dim.dim_param()} : OnnxDimension{dim.dim_value(), {}});
    }
    return port;
}

/// Every name is made once, and before it is read.
void check_order(const OnnxModel& model) {
    std::set<std::string> known;
    const auto add = [&](const std::string& name) {
        if (!known.insert(name).second) damaged("two values are called " + name);
    };
    for (const OnnxPort& port : model.inputs)
        add(port.name);
    for (const OnnxTensor& tensor : model.tensors)
        add(tensor.name);
    for (const OnnxNode& node : model.nodes) {
        for (const std::string& input : node.inputs) {
            if (!input.empty() && !known.contains(input))
                damaged("node " + node.name + " reads " + input + ", which nothing before it makes");
        }
        for (const std::string& output : node.outputs)
            if (!output.empty()) add(output);
    }
    for (const OnnxPort& port : model.outputs)
        if (!known.contains(port.name)) damaged("nothing makes the output " + port.name);
}

}  // namespace

OnnxModel decode(std::string_view bytes) {
    proto::Model file;
    const bool small = bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max());
    if (!small || !file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !file.has_graph())
        damaged("not an ONNX model, or cut short");
    OnnxModel model;
    model.ir_version = file.ir_version();
    model.opset = 0;
    for (const proto::OperatorSet& operators : file.opset_import())
        if (operators.domain().empty() || operators.domain() == "ai.onnx") model.opset = operators.version();
    if (model.opset != kOpset) {
        throw Error(ErrorKind::unsupported,
                    "operator set " + std::to_string(model.opset) + "; expected " + std::to_string(kOpset));
    }
    model.producer_version = file.producer_version();
    model.name = file.graph().name();
    for (const proto::Property& property : file.metadata_props())
        model.metadata.emplace(property.key(), property.value());
    for (const proto::ValueInfo& port : file.graph().input())
        model.inputs.push_back(port_of(port));
    for (const proto::ValueInfo& port : file.graph().output())
        model.outputs.push_back(port_of(port));
    for (const proto::Tensor& tensor : file.graph().initializer())
        model.tensors.push_back(decoded_tensor(tensor));
    for (const proto::Node& node : file.graph().node())
        model.nodes.push_back(node_of(node));
    check_order(model);
    return model;
}

}  // namespace cnntrain::weights
