#include "cnntrain/exports/onnx_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "exports/onnx/operators.h"

namespace cnntrain::exports {

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

// ---- elementwise operators ----

namespace {

float relu(float x) {
    return x > 0 || std::isnan(x) ? x : 0;
}
float sigmoid(float x) {
    return 1 / (1 + std::exp(-x));
}
float tanh_of(float x) {
    return std::tanh(x);
}
float erf_of(float x) {
    return std::erf(x);
}

template <float (*Function)(float)> Array each(const NodeCall& call) {
    Array result = call.reals(0);
    for (float& value : result.reals)
        value = Function(value);
    return result;
}

Array copied(const NodeCall& call) {
    return call.any(0);
}

/// Steps through a tensor by the shape to which it is broadcast: 0 along axes that are repeated.
std::vector<std::size_t> broadcast_steps(const Shape& from, const Shape& to) {
    std::vector<std::size_t> steps(to.size(), 0);
    std::size_t step = 1;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t axis = from.size() - 1 - i;
        if (from[axis] != 1) steps[to.size() - 1 - i] = step;
        step *= static_cast<std::size_t>(from[axis]);
    }
    return steps;
}

Shape broadcast_shape(const NodeCall& call, const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
        call.require(of_a == of_b || of_a == 1 || of_b == 1,
                     "shapes " + to_string(a) + " and " + to_string(b) + " do not fit");
        result[result.size() - 1 - i] = of_a == 1 ? of_b : of_a;
    }
    return result;
}

template <typename From, typename To, typename Function>
void combine(const Array& a, const std::vector<From>& of_a, const Array& b, const std::vector<From>& of_b,
             const Shape& shape, std::vector<To>& result, Function function) {
    if (result.empty()) return;
    const std::vector<std::size_t> steps_a = broadcast_steps(a.shape, shape);
    const std::vector<std::size_t> steps_b = broadcast_steps(b.shape, shape);
    const std::size_t row = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
    const std::size_t step_a = shape.empty() ? 0 : steps_a.back();
    const std::size_t step_b = shape.empty() ? 0 : steps_b.back();
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t begin = 0; begin < result.size(); begin += row) {
        std::size_t at_a = 0;
        std::size_t at_b = 0;
        for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
            at_a += static_cast<std::size_t>(index[axis]) * steps_a[axis];
            at_b += static_cast<std::size_t>(index[axis]) * steps_b[axis];
        }
        for (std::size_t i = 0; i < row; ++i)
            result[begin + i] = function(of_a[at_a + i * step_a], of_b[at_b + i * step_b]);
        for (std::size_t axis = shape.empty() ? 0 : shape.size() - 1; axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

template <typename Function> Array arithmetic(const NodeCall& call) {
    const Array& a = call.reals(0);
    const Array& b = call.reals(1);
    Array result = call.made(broadcast_shape(call, a.shape, b.shape));
    combine(a, a.reals, b, b.reals, result.shape, result.reals, Function{});
    return result;
}

template <typename Function> Array logic(const NodeCall& call) {
    const Array& a = call.integers(0);
    const Array& b = call.integers(1);
    Array result = call.made(broadcast_shape(call, a.shape, b.shape), /*real=*/false);
    combine(a, a.integers, b, b.integers, result.shape, result.integers, Function{});
    return result;
}

Array run_not(const NodeCall& call) {
    Array result = call.integers(0);
    for (std::int64_t& value : result.integers)
        value = value == 0 ? 1 : 0;
    return result;
}

Array run_cast(const NodeCall& call) {
    const std::int64_t to = call.integer("to", 0);
    const bool real = to == 1 || to == 10 || to == 16;
    if (!real && to != 6 && to != 7) call.unsupported("casts to ONNX's type " + std::to_string(to));
    const Array& from = call.any(0);
    Array result = call.made(from.shape, real);
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (real) {
            result.reals[i] = from.real ? from.reals[i] : static_cast<float>(from.integers[i]);
        } else {
            call.require(!from.real, "a cast from real numbers to integers");
            result.integers[i] = from.integers[i];
        }
    }
    return result;
}

struct OperatorRow {
    std::string_view name;
    Operator run;
};

constexpr auto kOperators = std::to_array<OperatorRow>({
    {"Add", arithmetic<std::plus<float>>},
    {"And", logic<std::logical_and<std::int64_t>>},
    {"BatchNormalization", run_batch_norm},
    {"Cast", run_cast},
    {"Conv", run_conv},
    {"Erf", each<erf_of>},
    {"Flatten", run_flatten},
    {"Gather", run_gather},
    {"GatherND", run_gather_nd},
    {"Gemm", run_gemm},
    {"GlobalAveragePool", run_global_average_pool},
    {"Identity", copied},
    {"InstanceNormalization", run_instance_norm},
    {"LayerNormalization", run_layer_norm},
    {"Less", logic<std::less<std::int64_t>>},
    {"MatMul", run_matmul},
    {"MaxPool", run_max_pool},
    {"Mul", arithmetic<std::multiplies<float>>},
    {"Not", run_not},
    {"Or", logic<std::logical_or<std::int64_t>>},
    {"Pad", run_pad},
    {"Relu", each<relu>},
    {"Reshape", run_reshape},
    {"Sigmoid", each<sigmoid>},
    {"Slice", run_slice},
    {"Softmax", run_softmax},
    {"Sub", arithmetic<std::minus<float>>},
    {"Tanh", each<tanh_of>},
    {"Transpose", run_transpose},
    {"Unsqueeze", run_unsqueeze},
});

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

void check_input(const OnnxPort& port, const Array& array) {
    const bool real = port.dtype != DType::i32 && port.dtype != DType::i64 && port.dtype != DType::u8;
    bool fits = real == array.real && port.shape.size() == array.shape.size();
    for (std::size_t i = 0; fits && i < array.shape.size(); ++i)
        fits = !port.shape[i].name.empty() || port.shape[i].size == array.shape[i];
    if (!fits)
        throw Error(ErrorKind::data,
                    "input " + port.name + ": the file expects another type or shape than " + to_string(array.shape));
}

}  // namespace

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

}  // namespace cnntrain::exports
