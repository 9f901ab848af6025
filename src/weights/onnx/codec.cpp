#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/exports.h"
#include "onnx.pb.h"

namespace cnntrain::weights {

namespace {

struct OnnxElementType {
    DType dtype;
    std::int32_t number;  // TensorProto.DataType
};

constexpr std::array<OnnxElementType, 7> kOnnxElementTypes = {{{DType::f32, 1},
                                                               {DType::u8, 2},
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

std::int32_t number_of(DType type) {
    return std::ranges::find(kOnnxElementTypes, type, &OnnxElementType::dtype)->number;
}

template <typename... Functions> struct Overloaded : Functions... { using Functions::operator()...; };

void write(proto::Attribute& to, const std::string& name, const OnnxAttribute& attribute) {
    to.set_name(name);
    std::visit(Overloaded{[&](std::int64_t value) {
                              to.set_type(kInt);
                              to.set_i(value);
                          },
                          [&](float value) {
                              to.set_type(kFloat);
                              to.set_f(value);
                          },
                          [&](const std::string& value) {
                              to.set_type(kString);
                              to.set_s(value);
                          },
                          [&](const std::vector<std::int64_t>& values) {
                              to.set_type(kInts);
                              for (const std::int64_t value : values)
                                  to.add_ints(value);
                          }},
               attribute);
}

void write(proto::Node& to, const OnnxNode& node) {
    to.set_op_type(node.op);
    to.set_name(node.name);
    for (const std::string& input : node.inputs)
        to.add_input(input);
    for (const std::string& output : node.outputs)
        to.add_output(output);
    for (const auto& [name, attribute] : node.attributes)
        write(*to.add_attribute(), name, attribute);
}

void write(proto::Tensor& to, const OnnxTensor& tensor) {
    to.set_name(tensor.name);
    to.set_data_type(number_of(tensor.tensor.dtype()));
    for (const std::int64_t size : tensor.tensor.shape())
        to.add_dims(size);
    const auto bytes = tensor.tensor.bytes();
    to.set_raw_data(bytes.data(), bytes.size());
}

void write(proto::ValueInfo& to, const OnnxPort& port) {
    to.set_name(port.name);
    proto::TensorType& type = *to.mutable_type()->mutable_tensor_type();
    type.set_elem_type(number_of(port.dtype));
    type.mutable_shape();
    for (const OnnxDimension& dimension : port.shape) {
        proto::Dimension& dim = *type.mutable_shape()->add_dim();
        if (dimension.name.empty()) {
            dim.set_dim_value(dimension.size);
        } else {
            dim.set_dim_param(dimension.name);
        }
    }
}

std::uint64_t tensor_bytes(const OnnxModel& model) {
    std::uint64_t sum = 0;
    for (const OnnxTensor& tensor : model.tensors)
        sum += tensor.tensor.bytes().size();
    return sum;
}

}  // namespace

std::string encode(const OnnxModel& model) {
    constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 31) - (std::uint64_t{1} << 24);
    if (tensor_bytes(model) > kMostBytes)
        throw Error(ErrorKind::unsupported, "the weights take more than the 2 GiB that one ONNX file can hold");
    proto::Model file;
    file.set_ir_version(model.ir_version);
    file.set_producer_name("cnntrain");
    file.set_producer_version(model.producer_version);
    proto::OperatorSet& operators = *file.add_opset_import();
    operators.set_domain("");
    operators.set_version(model.opset);
    for (const auto& [key, value] : model.metadata) {
        proto::Property& property = *file.add_metadata_props();
        property.set_key(key);
        property.set_value(value);
    }
    proto::Graph& graph = *file.mutable_graph();
    graph.set_name(model.name);
    for (const OnnxNode& node : model.nodes)
        write(*graph.add_node(), node);
    for (const OnnxTensor& tensor : model.tensors)
        write(*graph.add_initializer(), tensor);
    for (const OnnxPort& port : model.inputs)
        write(*graph.add_input(), port);
    for (const OnnxPort& port : model.outputs)
        write(*graph.add_output(), port);
    return file.SerializeAsString();
}

}  // namespace cnntrain::weights
