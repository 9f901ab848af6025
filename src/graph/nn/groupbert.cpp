// The layers of GroupBERT (cnntrain/graph/bert.h), composed of existing operations: texts are images of one row.
#include <cstdint>
#include <string>

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
    const ValueId values = dense(x, glu + "/values/dense", model_.hidden, Bias::one);
    const ValueId gates = dense(x, glu + "/gates/dense", model_.hidden, Bias::one);
    const ValueId row =
        reshaped(gated(values, gates, glu), {input_.batch, 1, input_.length, model_.hidden}, scope + "/dwconv/row");
    const std::string conv = scope + "/dwconv";
    const std::int64_t kernel = model_.convolution_kernel;
    const ValueId weight = parameter(conv + "/weight", {kernel, model_.convolution_group, model_.hidden},
                                     {.kind = graph::Initialiser::Kind::glorot_uniform});
    const ValueId window =
        reshaped(weight, {1, kernel, model_.convolution_group, model_.hidden}, conv + "/weight/window");
    graph::ConvAttrs attrs;
    attrs.padding = {0, 0, (kernel - 1) / 2, kernel / 2};
    attrs.groups = model_.hidden / model_.convolution_group;
    const ValueId y = graph_.add_one(OpKind::conv2d, attrs, {row, in_compute_type(window)}, conv);
    const ValueId normed = norm(reshaped(y, graph_.desc(x).shape, conv + "/tokens"), ValueId{}, conv, /*dropout=*/0);
    return dense(activate(normed, conv + "/swish", graph::Activation::swish), scope + "/post/dense", model_.hidden,
                 Bias::one);
}

/// Padding's gates are sigmoid(kMaskedScore), which is 0.
ValueId BertEncoder::gated(ValueId x, ValueId gates, const std::string& scope) {
    const graph::ConstantAttrs padded{graph::kMaskedScore, {numerics_.compute, {1, model_.hidden}}};
    const ValueId table = graph_.add_one(OpKind::constant, padded, {}, scope + "/padding/score");
    // The table's only row is that of id 0. Visible tokens have id 1, for which a lookup gives zeros.
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
    const ValueId y = grouped_projection(wide(x, scope), scope + "/output");
    return model_.projection_groups == 1 ? y : dense(y, scope + "/output/mixer/dense", model_.hidden, Bias::one);
}

/// A 1x1 convolution: each group of outputs reads its own group of x[B,S,I].
ValueId BertEncoder::grouped_projection(ValueId x, const std::string& scope) {
    const std::int64_t inputs = model_.intermediate / model_.projection_groups;
    const std::string name = scope + "/dense";
    const ValueId stored = weight(name + "/kernel", {inputs, model_.hidden});
    const ValueId bias =
        vector(name + "/bias", model_.hidden,
               {.kind = graph::Initialiser::Kind::truncated_normal, .value = model_.initializer_range});
    if (model_.projection_groups == 1) return product(x, stored, {}, bias, name);
    const ValueId kernel = reshaped(stored, {1, 1, inputs, model_.hidden}, name + "/kernel/window");
    const ValueId row = reshaped(x, {input_.batch, 1, input_.length, model_.intermediate}, scope + "/row");
    graph::ConvAttrs attrs;
    attrs.groups = model_.projection_groups;
    attrs.bias = true;
    const ValueId y = graph_.add_one(OpKind::conv2d, attrs, {row, in_compute_type(kernel), bias}, name);
    return reshaped(y, {input_.batch, input_.length, model_.hidden}, scope + "/tokens");
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
