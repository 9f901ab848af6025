#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "support/onnx/operators.h"
#include "support/onnx/run.h"

namespace cnntrain::weights {

// ---- one node ----

void NodeCall::require(bool holds, const std::string& what) const {
    if (!holds) throw Error(ErrorKind::data, "node " + node_.name + " (" + node_.op + "): " + what);
}

void NodeCall::unsupported(const std::string& what) const {
    throw Error(ErrorKind::unsupported, "node " + node_.name + " (" + node_.op + "): " + what);
}

const Array& NodeCall::any(std::size_t index) const {
    require(has(index), "expected an input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::reals(std::size_t index) const {
    require(any(index).real, "expected real numbers as input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::integers(std::size_t index) const {
    require(!any(index).real, "expected integers as input " + std::to_string(index));
    return *inputs_[index];
}

const Array& NodeCall::reals(std::size_t index, std::size_t rank) const {
    const Array& array = reals(index);
    require(array.shape.size() == rank, "expected " + std::to_string(rank) + " axes of input " + std::to_string(index) +
                                            ", got " + to_string(array.shape));
    return array;
}

const Array& NodeCall::vector(std::size_t index, std::int64_t count) const {
    const Array& array = reals(index, 1);
    require(array.shape[0] == count, "expected " + std::to_string(count) + " elements of input " +
                                         std::to_string(index) + ", got " + to_string(array.shape));
    return array;
}

std::int64_t NodeCall::integer(const std::string& attribute, std::int64_t fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<std::int64_t>(&found->second);
    require(value != nullptr, "expected an integer as " + attribute);
    return *value;
}

double NodeCall::number(const std::string& attribute, double fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<float>(&found->second);
    require(value != nullptr, "expected a number as " + attribute);
    return *value;
}

std::vector<std::int64_t> NodeCall::list(const std::string& attribute, std::vector<std::int64_t> fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* values = std::get_if<std::vector<std::int64_t>>(&found->second);
    require(values != nullptr, "expected integers as " + attribute);
    return *values;
}

std::string NodeCall::text(const std::string& attribute, const std::string& fallback) const {
    const auto found = node_.attributes.find(attribute);
    if (found == node_.attributes.end()) return fallback;
    const auto* value = std::get_if<std::string>(&found->second);
    require(value != nullptr, "expected a text as " + attribute);
    return *value;
}

std::int64_t NodeCall::axis(std::int64_t value, std::size_t rank) const {
    const auto count = static_cast<std::int64_t>(rank);
    require(value >= -count && value < count,
            "axis " + std::to_string(value) + " of a tensor with " + std::to_string(rank) + " axes");
    return value < 0 ? value + count : value;
}

Array NodeCall::made(const Shape& shape, bool real) const {
    std::uint64_t count = 1;
    for (const std::int64_t size : shape) {
        require(size >= 0, "its result would have the shape " + to_string(shape));
        if (size > 0 && count > most_elements_ / static_cast<std::uint64_t>(size))
            unsupported("its result would have the shape " + to_string(shape) + ", which is too large");
        count *= static_cast<std::uint64_t>(size);
    }
    Array result{.shape = shape, .real = real};
    if (real) {
        result.reals.resize(count);
    } else {
        result.integers.resize(count);
    }
    return result;
}

// ---- operators ----

namespace {

struct OperatorRow {
    std::string_view name;
    Operator run;
};

constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Add", run_add},
    {"And", run_and},
    {"BatchNormalization", run_batch_norm},
    {"Cast", run_cast},
    {"Clip", run_clip},
    {"Concat", run_concat},
    {"Conv", run_conv},
    {"DequantizeLinear", run_dequantize_linear},
    {"Div", run_div},
    {"Equal", run_equal},
    {"Erf", run_erf},
    {"Flatten", run_flatten},
    {"Floor", run_floor},
    {"Gather", run_gather},
    {"GatherND", run_gather_nd},
    {"Gemm", run_gemm},
    {"GlobalAveragePool", run_global_average_pool},
    {"Identity", run_identity},
    {"InstanceNormalization", run_instance_norm},
    {"LayerNormalization", run_layer_norm},
    {"Less", run_less},
    {"MatMul", run_matmul},
    {"MatMulInteger", run_matmul_integer},
    {"Max", run_max},
    {"MaxPool", run_max_pool},
    {"Min", run_min},
    {"Mul", run_mul},
    {"Not", run_not},
    {"Or", run_or},
    {"Pad", run_pad},
    {"QuantizeLinear", run_quantize_linear},
    {"ReduceMax", run_reduce_max},
    {"ReduceMean", run_reduce_mean},
    {"ReduceMin", run_reduce_min},
    {"Relu", run_relu},
    {"Reshape", run_reshape},
    {"Resize", run_resize},
    {"Round", run_round},
    {"Shape", run_shape},
    {"Sigmoid", run_sigmoid},
    {"Slice", run_slice},
    {"Softmax", run_softmax},
    {"Sqrt", run_sqrt},
    {"Sub", run_sub},
    {"Tanh", run_tanh},
    {"Transpose", run_transpose},
    {"Unsqueeze", run_unsqueeze},
});

void check_input(const OnnxPort& port, const Array& array) {
    const bool real = port.dtype != DType::i32 && port.dtype != DType::i64 && port.dtype != DType::u8;
    bool fits = real == array.real && port.shape.size() == array.shape.size();
    for (std::size_t i = 0; fits && i < array.shape.size(); ++i)
        fits = !port.shape[i].name.empty() || port.shape[i].size == array.shape[i];
    if (!fits) {
        throw Error(ErrorKind::data,
                    "input " + port.name + ": the file expects another type or shape than " + to_string(array.shape));
    }
}

}  // namespace

Array array_of(const HostTensor& tensor) {
    const DType type = tensor.dtype();
    Array result{.shape = tensor.shape(), .real = type != DType::i32 && type != DType::i64 && type != DType::u8};
    const auto count = static_cast<std::size_t>(tensor.elements());
    if (result.real) {
        result.reals.resize(count);
    } else {
        result.integers.resize(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = static_cast<std::int64_t>(i);
        if (type == DType::i64) {
            result.integers[i] = tensor.as<std::int64_t>()[i];
        } else if (result.real) {
            result.reals[i] = static_cast<float>(tensor.at(index));
        } else {
            result.integers[i] = static_cast<std::int64_t>(tensor.at(index));
        }
    }
    return result;
}

Operator find_operator(std::string_view name) {
    const auto* found = std::ranges::find(kOperators, name, &OperatorRow::name);
    return found == kOperators.end() ? nullptr : found->run;
}

// ---- the program ----

OnnxProgram::OnnxProgram(OnnxModel model, Products& products, std::uint64_t most_elements)
    : model_(std::move(model)), products_(products), most_elements_(most_elements) {
    for (const OnnxTensor& tensor : model_.tensors)
        constants_.emplace(tensor.name, array_of(tensor.tensor));
    std::set<std::string> used_later;
    for (const OnnxPort& output : model_.outputs)
        used_later.insert(output.name);
    last_uses_.resize(model_.nodes.size());
    for (std::size_t i = model_.nodes.size(); i-- > 0;) {
        for (const std::string& input : model_.nodes[i].inputs)
            if (used_later.insert(input).second) last_uses_[i].push_back(input);
    }
}

std::map<std::string, Array> OnnxProgram::run(const std::map<std::string, Array>& inputs) const {
    std::map<std::string, Array> values;
    for (const OnnxPort& port : model_.inputs) {
        const auto found = inputs.find(port.name);
        if (found == inputs.end())
            throw Error(ErrorKind::data, "the file has an input " + port.name + " that is not known");
        check_input(port, found->second);
        values.emplace(port.name, found->second);
    }
    std::set<std::string> constant_results;  // of nodes that read constants only, such as casts of weights
    for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
        const OnnxNode& node = model_.nodes[i];
        const Operator compute = find_operator(node.op);
        if (compute == nullptr)
            throw Error(ErrorKind::unsupported, "node " + node.name + ": the operator " + node.op + " is not known");
        std::vector<const Array*> arrays;
        std::vector<bool> constant;
        for (const std::string& input : node.inputs) {
            const auto made = values.find(input);
            const auto stored = constants_.find(input);
            const bool absent = input.empty() || (made == values.end() && stored == constants_.end());
            arrays.push_back(absent ? nullptr : made != values.end() ? &made->second : &stored->second);
            constant.push_back(stored != constants_.end() || constant_results.contains(input));
        }
        if (node.outputs.size() != 1) throw Error(ErrorKind::unsupported, "node " + node.name + " has several results");
        const bool all_constant = std::ranges::all_of(constant, [](bool value) { return value; });
        values[node.outputs[0]] =
            compute(NodeCall(node, std::move(arrays), std::move(constant), products_, most_elements_));
        if (all_constant) constant_results.insert(node.outputs[0]);
        for (const std::string& name : last_uses_[i])
            values.erase(name);
    }
    std::map<std::string, Array> outputs;
    for (const OnnxPort& port : model_.outputs) {
        const auto found = values.find(port.name);
        if (found == values.end()) throw Error(ErrorKind::data, "the output " + port.name + " is not computed");
        outputs.emplace(port.name, found->second);
    }
    return outputs;
}

}  // namespace cnntrain::weights
