#include "weights/onnx/lowering.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::weights {

using graph::Activation;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

std::string Lowering::name_of(ValueId value) const {
    const graph::Value& wanted = graph().value(value);
    return wanted.role == graph::Role::intermediate ? graph().node(wanted.producer).name : wanted.name;
}

std::string Lowering::at(ValueId value) {
    const auto found = names_.find(value);
    if (found != names_.end()) return found->second;
    CNNTRAIN_CHECK(constants_.has(value), name_of(value) + " is neither computed nor constant");
    return names_[value] = builder_.weight(name_of(value), constants_.at(value));
}

std::string Lowering::per_channel(ValueId vector, ValueId x) {
    const HostTensor& values = constants_.at(vector);
    const bool image = shape(x).size() == kImageRank;
    return builder_.weight(name_of(vector), image ? reshaped(values, {values.elements(), 1, 1}) : values);
}

std::string Lowering::activated(std::string x, Activation activation, const std::string& name) {
    OnnxBuilder& b = builder_;
    switch (activation) {
        case Activation::none:
            return x;
        case Activation::relu:
            return b.add("Relu", name, {x});
        case Activation::relu6:
            return b.add("Clip", name, {x, b.number(0), b.number(6)});
        case Activation::sigmoid:
            return b.add("Sigmoid", name, {x});
        case Activation::tanh:
            return b.add("Tanh", name, {x});
        case Activation::swish:
            return b.add("Mul", name, {x, b.add("Sigmoid", name + "/sigmoid", {x})});
        case Activation::gelu: {
            const std::string scaled = b.add("Mul", name + "/scaled", {x, b.number(1 / std::numbers::sqrt2)});
            const std::string erf = b.add("Erf", name + "/erf", {scaled});
            const std::string share = b.add("Add", name + "/share", {erf, b.number(1)});
            return b.add("Mul", name, {b.add("Mul", name + "/half", {x, b.number(0.5)}), share});
        }
        case Activation::gelu_tanh: {
            const std::string square = b.add("Mul", name + "/square", {x, x});
            const std::string cubic = b.add("Mul", name + "/cubic", {square, b.number(0.044715)});
            const std::string factor = b.add("Add", name + "/factor", {cubic, b.number(1)});
            const std::string inner = b.add("Mul", name + "/inner", {x, factor});
            const double scale = std::sqrt(2 * std::numbers::inv_pi);
            const std::string scaled = b.add("Mul", name + "/scaled", {inner, b.number(scale)});
            const std::string tanh = b.add("Tanh", name + "/tanh", {scaled});
            const std::string share = b.add("Add", name + "/share", {tanh, b.number(1)});
            return b.add("Mul", name, {b.add("Mul", name + "/half", {x, b.number(0.5)}), share});
        }
    }
    CNNTRAIN_CHECK(false, "an activation without a form in ONNX");
}

std::vector<NodeId> Lowering::needed() const {
    std::set<NodeId> nodes;
    std::vector<ValueId> open;
    for (const Port& output : network_.outputs)
        open.push_back(output.value);
    while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        if (names_.contains(value) || constants_.has(value)) continue;
        if (graph().value(value).role != graph::Role::intermediate)
            throw Error(ErrorKind::internal, "the network reads " + name_of(value) + ", which is not among its inputs");
        const NodeId producer = graph().value(value).producer;
        if (!nodes.insert(producer).second) continue;
        const std::vector<ValueId>& inputs = graph().node(producer).inputs;
        open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return {nodes.begin(), nodes.end()};
}

/// Images [N,H,W,C] become [N,C,H,W].
OnnxPort Lowering::port(const Port& port, DType dtype) const {
    OnnxPort result{port.name, dtype, {}};
    Shape sizes = shape(port.value);
    if (sizes.size() == kImageRank) sizes = {sizes[0], sizes[3], sizes[1], sizes[2]};
    for (const std::int64_t size : sizes)
        result.shape.push_back({size, {}});
    CNNTRAIN_CHECK(!sizes.empty(), "a network's input or output without samples");
    result.shape.front() = {0, kOnnxBatch};
    return result;
}

void Lowering::add_inputs() {
    for (const Port& input : network_.inputs) {
        const DType dtype = graph().desc(input.value).dtype;
        const bool real = dtype != DType::i32 && dtype != DType::i64;
        builder_.reserve(input.name);
        std::string name = input.name;
        if (settings_.preparation && shape(input.value).size() == kImageRank) {
            model_.inputs.push_back(photo_port(name, *settings_.preparation));
            name = add_preparation(builder_, name, *settings_.preparation);
        } else {
            model_.inputs.push_back(port(input, real ? DType::f32 : dtype));
        }
        const bool casts = real && !builder_.computes_in_f32();
        if (casts) name = builder_.add("Cast", input.name + "/half", {name}, {{"to", builder_.compute_number()}});
        set(input.value, std::move(name));
    }
    for (const FixedInput& input : network_.fixed)
        set(input.value, builder_.weight(name_of(input.value), input.tensor));
}

void Lowering::add_outputs() {
    for (const Port& output : network_.outputs) {
        model_.outputs.push_back(port(output, DType::f32));
        if (builder_.computes_in_f32()) {
            builder_.add_named("Identity", output.name, {at(output.value)});
        } else {
            builder_.add_named("Cast", output.name, {at(output.value)}, {{"to", kOnnxFloat}});
        }
    }
    if (settings_.probabilities.empty()) return;
    OnnxPort probabilities = model_.outputs.front();
    probabilities.name = settings_.probabilities;
    const std::vector<std::string> logits = {network_.outputs.front().name};
    const std::vector<NodeId>& users = graph().value(network_.outputs.front().value).users;
    const bool several = std::ranges::any_of(
        users, [&](NodeId user) { return graph().node(user).kind == OpKind::sigmoid_cross_entropy; });
    if (several) builder_.add_named("Sigmoid", probabilities.name, logits);
    if (!several) builder_.add_named("Softmax", probabilities.name, logits, {{"axis", std::int64_t{-1}}});
    model_.outputs.push_back(std::move(probabilities));
}

void Lowering::run() {
    for (const Port& output : network_.outputs)
        builder_.reserve(output.name);
    if (!settings_.probabilities.empty()) builder_.reserve(settings_.probabilities);
    add_inputs();
    for (const NodeId id : needed()) {
        const graph::Node& node = graph().node(id);
        const LowerFunction lower = lowering_of(node.kind);
        if (lower == nullptr) {
            throw Error(ErrorKind::unsupported,
                        node.name + ": ONNX has no form of " + std::string(graph().def(node).name) + " here");
        }
        lower(*this, node);
    }
    add_outputs();
}

OnnxModel to_onnx(const NetworkPart& network, const OnnxSettings& settings) {
    OnnxModel model;
    model.name = settings.name;
    model.producer_version = settings.version;
    model.metadata = settings.metadata;
    Lowering(network, settings, model).run();
    return model;
}

namespace {

/// Error(unsupported) for finite numbers that float16 turns into infinity.
void require_f16_range(const std::string& name, const HostTensor& tensor) {
    constexpr double kMost = 65504;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (std::abs(tensor.at(i)) <= kMost) continue;
        throw Error(ErrorKind::unsupported, name + " holds " + std::to_string(tensor.at(i)) +
                                                ", and float16 ends at 65504; export in f32 or bf16");
    }
}

}  // namespace

std::string OnnxBuilder::free_name(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 2; !names_.insert(name).second; ++i)
        name = wanted + "_" + std::to_string(i);
    return name;
}

std::string OnnxBuilder::add(std::string_view op, const std::string& name, std::vector<std::string> inputs,
                             std::map<std::string, OnnxAttribute> attributes) {
    std::string result = free_name(name);
    model_.nodes.push_back({std::string(op), result, std::move(inputs), {result}, std::move(attributes)});
    return result;
}

void OnnxBuilder::add_named(std::string_view op, const std::string& result, std::vector<std::string> inputs,
                            std::map<std::string, OnnxAttribute> attributes) {
    model_.nodes.push_back({std::string(op), result, std::move(inputs), {result}, std::move(attributes)});
}

std::string OnnxBuilder::stored(const std::string& name, const HostTensor& tensor) {
    model_.tensors.push_back({free_name(name), tensor});
    return model_.tensors.back().name;
}

std::string OnnxBuilder::weight(const std::string& name, const HostTensor& tensor) {
    if (!is_float(tensor.dtype())) return stored(name, tensor);
    constexpr std::size_t kMatrixRank = 2;
    const bool in_bf16 = weights_ == OnnxWeights::bf16 && tensor.shape().size() >= kMatrixRank;
    if (weights_ == OnnxWeights::f16) require_f16_range(name, tensor);
    const DType type = in_bf16 ? DType::bf16 : compute_type();
    const std::string result = stored(name, tensor.dtype() == type ? tensor : tensor.cast(type));
    return in_bf16 ? add("Cast", name + "/f32", {result}, {{"to", kOnnxFloat}}) : result;
}

std::string OnnxBuilder::number(double value) {
    const auto found = numbers_.find(value);
    if (found != numbers_.end()) return found->second;
    HostTensor scalar({DType::f32, {}});
    scalar.set(0, value);
    return numbers_.emplace(value, weight("number", scalar)).first->second;
}

std::string OnnxBuilder::integers(const std::string& name, const std::vector<std::int64_t>& values) {
    HostTensor tensor({DType::i64, {std::ssize(values)}});
    std::ranges::copy(values, tensor.as<std::int64_t>().begin());
    return weight(name, tensor);
}

std::int64_t OnnxBuilder::compute_number() const {
    return weights_ == OnnxWeights::f16 ? kOnnxFloat16 : kOnnxFloat;
}

using graph::RefTensor;
using graph::Role;

namespace {

RefTensor reference(const HostTensor& tensor) {
    RefTensor result{tensor.desc(), std::vector<double>(static_cast<std::size_t>(tensor.elements()))};
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        result.values[static_cast<std::size_t>(i)] = tensor.at(i);
    return result;
}

}  // namespace

bool Constants::has(ValueId value) {
    const auto found = known_.find(value);
    if (found != known_.end()) return found->second;
    const graph::Graph& graph = network_.graph;
    bool constant = graph.is_variable(value);
    if (graph.value(value).role == Role::intermediate) {
        const graph::Node& node = graph.node(graph.value(value).producer);
        constant = graph.def(node).evaluate != nullptr &&
                   std::ranges::all_of(node.inputs, [&](ValueId input) { return has(input); });
    }
    known_.emplace(value, constant);
    return constant;
}

const HostTensor& Constants::at(ValueId value) {
    const auto found = values_.find(value);
    if (found != values_.end()) return found->second;
    const graph::Value& wanted = network_.graph.value(value);
    if (wanted.role == Role::intermediate) {
        compute(wanted.producer);
        return values_.at(value);
    }
    const auto variable = network_.variables.find(wanted.name);
    CNNTRAIN_CHECK(variable != network_.variables.end(), "no values of " + wanted.name);
    return values_.emplace(value, variable->second).first->second;
}

void Constants::compute(graph::NodeId id) {
    const graph::Graph& graph = network_.graph;
    const graph::Node& node = graph.node(id);
    std::vector<RefTensor> inputs;
    for (const ValueId input : node.inputs)
        inputs.push_back(reference(at(input)));
    std::vector<const RefTensor*> pointers;
    for (const RefTensor& input : inputs)
        pointers.push_back(&input);
    std::vector<RefTensor> outputs;
    for (const ValueId output : node.outputs) {
        const TensorDesc& desc = graph.desc(output);
        outputs.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
    }
    graph.def(node).evaluate(node.attrs, pointers, outputs);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const DType type = outputs[i].desc.dtype;
        HostTensor tensor({is_float(type) ? DType::f32 : type, outputs[i].desc.shape});
        for (std::int64_t k = 0; k < tensor.elements(); ++k)
            tensor.set(k, outputs[i].values[static_cast<std::size_t>(k)]);
        values_.emplace(node.outputs[i], std::move(tensor));
    }
}

}  // namespace cnntrain::weights
