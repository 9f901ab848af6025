#include "exports/onnx/lowering.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <utility>

#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "exports/onnx/preparation.h"

namespace cnntrain::exports {

using graph::Activation;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

struct LoweringRow {
    OpKind kind;
    LowerFunction lower;
};

/// Operations whose results depend on weights alone need no row.
constexpr auto kLowerings = std::to_array<LoweringRow>({
    {OpKind::conv2d, lower_conv2d},
    {OpKind::batch_norm_inference, lower_batch_norm},
    {OpKind::group_norm, lower_group_norm},
    {OpKind::standardise, lower_standardise},
    {OpKind::scale_channels, lower_scale_channels},
    {OpKind::max_pool, lower_max_pool},
    {OpKind::global_average_pool, lower_global_average_pool},
    {OpKind::shortcut_pad, lower_shortcut_pad},
    {OpKind::add, lower_add},
    {OpKind::activation, lower_activation},
    {OpKind::dense, lower_dense},
    {OpKind::cast, lower_cast},
    {OpKind::reshape, lower_reshape},
    {OpKind::slice, lower_slice},
    {OpKind::embedding, lower_embedding},
    {OpKind::gather_rows, lower_gather_rows},
    {OpKind::layer_norm, lower_layer_norm},
    {OpKind::attention_mask, lower_attention_mask},
    {OpKind::attention, lower_attention},
});

constexpr std::size_t kImageRank = 4;

}  // namespace

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
    builder_.add_named("Softmax", probabilities.name, {network_.outputs.front().name}, {{"axis", std::int64_t{-1}}});
    model_.outputs.push_back(std::move(probabilities));
}

void Lowering::run() {
    for (const Port& output : network_.outputs)
        builder_.reserve(output.name);
    if (!settings_.probabilities.empty()) builder_.reserve(settings_.probabilities);
    add_inputs();
    for (const NodeId id : needed()) {
        const graph::Node& node = graph().node(id);
        const auto* const row = std::ranges::find(kLowerings, node.kind, &LoweringRow::kind);
        if (row == kLowerings.end()) {
            throw Error(ErrorKind::unsupported,
                        node.name + ": ONNX has no form of " + std::string(graph().def(node).name) + " here");
        }
        row->lower(*this, node);
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

}  // namespace cnntrain::exports
