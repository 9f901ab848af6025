// The layers of GroupBERT (cnntrain/graph/bert.h), composed of existing operations: texts are images of one row.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/graph/graph.h"
#include "graph/nn/bert_encoder.h"

namespace cnntrain::nn {

using graph::OpKind;
using graph::ValueId;

void BertEncoder::group_layer(const std::string& scope) {
    const auto add = [&](const std::string& block, auto part) {
        const std::string name = scope + block;
        const ValueId y = (this->*part)(norm(x_, ValueId{}, name + "/prenorm", /*dropout=*/0), name);
        const ValueId dropped = drop(y, name + "/dropout", model_.hidden_dropout);
        x_ = graph_.add_one(OpKind::add, graph::NoAttrs{}, {x_, dropped}, name + "/sum");
    };
    add("/convolution", &BertEncoder::convolution);
    add("/feed_forward_1", &BertEncoder::feed_forward);
    add("/attention", &BertEncoder::attention);
    add("/feed_forward_2", &BertEncoder::feed_forward);
}

ValueId BertEncoder::convolution(ValueId x, const std::string& scope) {
    const std::string glu = scope + "/pre/glu";
    const std::string conv = scope + "/dwconv";
    const ValueId values = dense(x, glu + "/values/dense", model_.hidden, Bias::one);
    const ValueId gates = dense(x, glu + "/gates/dense", model_.hidden, Bias::one);
    const std::int64_t kernel = model_.convolution_kernel;
    const ValueId weight = parameter(conv + "/weight", {kernel, model_.convolution_group, model_.hidden},
                                     {.kind = graph::Initialiser::Kind::glorot_uniform});
    graph::ConvAttrs attrs;
    attrs.padding = {0, 0, (kernel - 1) / 2, kernel / 2};
    attrs.groups = model_.hidden / model_.convolution_group;
    const ValueId y = convolved(gated(values, gates, glu), weight, attrs, {}, conv);
    const ValueId normed = norm(y, ValueId{}, conv, /*dropout=*/0);
    return dense(activate(normed, conv + "/swish", graph::Activation::swish), scope + "/post/dense", model_.hidden,
                 Bias::one);
}

/// Padding's gates are sigmoid(kMaskedScore), which is 0.
ValueId BertEncoder::gated(ValueId x, ValueId gates, const std::string& scope) {
    const graph::ConstantAttrs score{graph::kMaskedScore, {numerics_.compute, {1, model_.hidden}}};
    const ValueId row = graph_.add_one(OpKind::constant, score, {}, scope + "/padding/score");
    const graph::SliceAttrs first{.axis = 0, .begin = 0, .end = 1, .extent = 2};  // visible tokens add zeros
    const ValueId table = graph_.add_one(OpKind::slice_grad, first, {row}, scope + "/padding/table");
    const ValueId padding = graph_.add_one(OpKind::embedding, graph::EmbeddingAttrs{.type = numerics_.compute},
                                           {input_mask_, table}, scope + "/padding");
    const ValueId masked = graph_.add_one(OpKind::add, graph::NoAttrs{}, {gates, padding}, scope + "/masked");
    const ValueId open = activate(masked, scope + "/sigmoid", graph::Activation::sigmoid);
    // Images of one pixel: the gates of channels are then those of elements.
    const std::int64_t tokens = input_.batch * input_.length;
    const ValueId pixels = reshaped(x, {tokens, 1, 1, model_.hidden}, scope + "/pixels");
    const ValueId gate = reshaped(open, {tokens, model_.hidden}, scope + "/gate");
    return graph_.add_one(OpKind::scale_channels, graph::NoAttrs{}, {pixels, gate}, scope + "/product");
}

ValueId BertEncoder::feed_forward(ValueId x, const std::string& scope) {
    const std::string name = scope + "/output/dense";
    const ValueId inner = wide(x, scope);
    graph::ConvAttrs attrs;
    attrs.groups = model_.projection_groups;
    attrs.bias = true;
    const ValueId kernel = weight(name + "/kernel", {model_.intermediate / attrs.groups, model_.hidden});
    const ValueId bias =
        vector(name + "/bias", model_.hidden,
               {.kind = graph::Initialiser::Kind::truncated_normal, .value = model_.initializer_range});
    const ValueId y = convolved(inner, kernel, attrs, bias, name);
    return attrs.groups == 1 ? y : dense(y, scope + "/output/mixer/dense", model_.hidden, Bias::one);
}

ValueId BertEncoder::convolved(ValueId x, ValueId kernel, const graph::ConvAttrs& attrs, ValueId bias,
                               const std::string& name) {
    Shape window = graph_.desc(kernel).shape;
    window.insert(window.begin(), 4 - window.size(), 1);
    const ValueId row = reshaped(x, {input_.batch, 1, input_.length, graph_.desc(x).shape.back()}, name + "/row");
    std::vector<ValueId> inputs = {row, in_compute_type(reshaped(kernel, std::move(window), name + "/window"))};
    if (attrs.bias) inputs.push_back(bias);
    const ValueId y = graph_.add_one(OpKind::conv2d, attrs, std::move(inputs), name);
    return reshaped(y, {input_.batch, input_.length, model_.hidden}, name + "/tokens");
}

void check_group_layers(const BertSettings& model, const BertInput& input) {
    require(!input.static_mask && input.sequences == 0,
            "GroupBERT reads input_mask, which sequences of --static-mask and rows of --packed do not have; leave out "
            "these options, and read files made without --remask");
    require(model.projection_groups > 0 && model.convolution_kernel > 0 && model.convolution_group > 0,
            "GroupBERT needs groups and a kernel of at least 1");
    const auto divide = [](std::int64_t width, const char* option, std::int64_t divisor, const char* divides) {
        require(width % divisor == 0, std::string(option) + " " + std::to_string(width) + " is not a multiple of " +
                                          divides + " " + std::to_string(divisor) + "; choose a divisor of it");
    };
    divide(model.hidden, "--hidden-size", model.convolution_group, "--groupbert-conv-group-size");
    divide(model.hidden, "--hidden-size", model.projection_groups, "--groupbert-ffn-output-groups");
    divide(model.intermediate, "--intermediate-size", model.projection_groups, "--groupbert-ffn-output-groups");
}

}  // namespace cnntrain::nn
