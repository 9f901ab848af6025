// Operations on images, [N,C,H,W] in the model.
#include <string>
#include <vector>

#include "cnntrain/base/axes.h"
#include "cnntrain/base/error.h"
#include "exports/onnx/lowering.h"

namespace cnntrain::exports {

using graph::Node;
using graph::ValueId;

namespace {

std::vector<std::int64_t> pads(const graph::Padding& padding) {
    return {padding.top, padding.left, padding.bottom, padding.right};
}

/// Adds the residual, if there is one, and applies the activation.
void finish(Lowering& to, const Node& node, std::string x, bool residual, graph::Activation activation) {
    if (residual) x = to.builder().add("Add", node.name + "/sum", {x, to.at(node.inputs.back())});
    to.set(node.outputs[0], to.activated(x, activation, node.name + "/activation"));
}

std::string image_reshape(Lowering& to, const std::string& name, const std::string& x,
                          const std::vector<std::int64_t>& shape) {
    return to.builder().add("Reshape", name, {x, to.builder().integers(name + "/shape", shape)});
}

}  // namespace

void lower_conv2d(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::ConvAttrs>();
    const HostTensor& kernel = to.constant(node.inputs[1]);
    std::vector<std::string> inputs = {
        to.at(node.inputs[0]), to.builder().weight(to.name_of(node.inputs[1]), with_axes(kernel, {3, 2, 0, 1}))};
    if (attrs.bias) inputs.push_back(to.at(node.inputs[2]));
    const std::string y = to.builder().add("Conv", node.name, std::move(inputs),
                                           {{"kernel_shape", std::vector{kernel.shape()[0], kernel.shape()[1]}},
                                            {"strides", std::vector{attrs.stride, attrs.stride}},
                                            {"pads", pads(attrs.padding)},
                                            {"group", attrs.groups}});
    finish(to, node, y, attrs.residual, attrs.activation);
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::NormAttrs>();
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < 5; ++i)
        inputs.push_back(to.at(node.inputs[i]));
    const std::string y = to.builder().add("BatchNormalization", node.name, std::move(inputs),
                                           {{"epsilon", static_cast<float>(attrs.epsilon)}});
    finish(to, node, y, attrs.residual, attrs.activation);
}

/// An instance norm of [N,G,everything else], then gamma and beta.
void lower_group_norm(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::NormAttrs>();
    const Shape& shape = to.shape(node.inputs[0]);
    const auto filled = [&](double value) {
        HostTensor tensor({DType::f32, {attrs.groups}});
        for (std::int64_t i = 0; i < attrs.groups; ++i)
            tensor.set(i, value);
        return tensor;
    };
    const std::string grouped = image_reshape(to, node.name + "/groups", to.at(node.inputs[0]), {0, attrs.groups, -1});
    const std::string normed = to.builder().add("InstanceNormalization", node.name + "/normalised",
                                                {grouped, to.builder().weight(node.name + "/ones", filled(1)),
                                                 to.builder().weight(node.name + "/zeros", filled(0))},
                                                {{"epsilon", static_cast<float>(attrs.epsilon)}});
    const std::string image = image_reshape(to, node.name + "/image", normed, {0, shape[3], shape[1], shape[2]});
    const std::string scaled =
        to.builder().add("Mul", node.name + "/scaled", {image, to.per_channel(node.inputs[1], node.inputs[0])});
    const std::string y = to.builder().add("Add", node.name, {scaled, to.per_channel(node.inputs[2], node.inputs[0])});
    finish(to, node, y, attrs.residual, attrs.activation);
}

void lower_standardise(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::StandardiseAttrs>();
    std::string x = to.at(node.inputs[0]);
    if (attrs.mean)
        x = to.builder().add("Sub", node.name + "/centred", {x, to.per_channel(node.inputs[1], node.inputs[0])});
    if (attrs.scale) x = to.builder().add("Mul", node.name, {x, to.per_channel(node.inputs.back(), node.inputs[0])});
    to.set(node.outputs[0], x);
}

void lower_scale_channels(Lowering& to, const Node& node) {
    const std::string axes = to.builder().integers(node.name + "/axes", {2, 3});
    const std::string gate = to.builder().add("Unsqueeze", node.name + "/gate", {to.at(node.inputs[1]), axes});
    to.set(node.outputs[0], to.builder().add("Mul", node.name, {to.at(node.inputs[0]), gate}));
}

void lower_max_pool(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::PoolAttrs>();
    to.set(node.outputs[0], to.builder().add("MaxPool", node.name, {to.at(node.inputs[0])},
                                             {{"kernel_shape", std::vector{attrs.kernel, attrs.kernel}},
                                              {"strides", std::vector{attrs.stride, attrs.stride}},
                                              {"pads", pads(attrs.padding)}}));
}

void lower_global_average_pool(Lowering& to, const Node& node) {
    const std::string mean = to.builder().add("GlobalAveragePool", node.name + "/mean", {to.at(node.inputs[0])});
    to.set(node.outputs[0], to.builder().add("Flatten", node.name, {mean}, {{"axis", std::int64_t{1}}}));
}

void lower_shortcut_pad(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::ShortcutPadAttrs>();
    const Shape& from = to.shape(node.inputs[0]);
    OnnxBuilder& b = to.builder();
    std::string x = to.at(node.inputs[0]);
    if (attrs.stride > 1) {
        x = b.add(
            "Slice", node.name + "/pixels",
            {x, b.integers(node.name + "/begin", {0, 0}), b.integers(node.name + "/end", {from[1], from[2]}),
             b.integers(node.name + "/axes", {2, 3}), b.integers(node.name + "/steps", {attrs.stride, attrs.stride})});
    }
    const std::int64_t added = attrs.channels - from[3];
    if (added > 0) {
        x = b.add("Pad", node.name, {x, b.integers(node.name + "/pads", {0, 0, 0, 0, 0, added, 0, 0}), b.number(0)},
                  {{"mode", std::string("constant")}});
    }
    to.set(node.outputs[0], x);
}

}  // namespace cnntrain::exports
