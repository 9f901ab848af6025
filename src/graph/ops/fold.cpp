// Folding a batch norm's moving statistics into the convolution before it (inference only).
#include <cmath>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::FoldNormAttrs;

namespace {

void expect_channels(const TensorDesc& desc, std::int64_t channels, std::string_view what) {
    expect_floating(desc, what);
    expect_shape(desc, {channels}, what);
}

std::vector<TensorDesc> infer_weight(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_activation(inputs[0], "w[K,K,I,O]");
    expect_channels(inputs[1], inputs[0].shape[3], "gamma");
    expect_channels(inputs[2], inputs[0].shape[3], "moving_variance");
    TensorDesc result{std::get<FoldNormAttrs>(attrs).type, inputs[0].shape};
    expect_floating(result, "the result");
    return {result};
}

std::vector<TensorDesc> infer_bias(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 4);
    expect_rank(inputs[0], 1, "gamma[O]");
    const std::int64_t channels = inputs[0].shape[0];
    expect_channels(inputs[0], channels, "gamma");
    expect_channels(inputs[1], channels, "beta");
    expect_channels(inputs[2], channels, "moving_mean");
    expect_channels(inputs[3], channels, "moving_variance");
    return {{DType::f32, {channels}}};
}

void evaluate_weight(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double epsilon = std::get<FoldNormAttrs>(attrs).epsilon;
    const std::size_t channels = inputs[1]->values.size();
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const std::size_t c = i % channels;
        outputs[0].values[i] = inputs[0]->values[i] * inputs[1]->values[c] / std::sqrt(inputs[2]->values[c] + epsilon);
    }
}

void evaluate_bias(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double epsilon = std::get<FoldNormAttrs>(attrs).epsilon;
    for (std::size_t c = 0; c < outputs[0].values.size(); ++c) {
        const double scale = inputs[0]->values[c] / std::sqrt(inputs[3]->values[c] + epsilon);
        outputs[0].values[c] = inputs[1]->values[c] - inputs[2]->values[c] * scale;
    }
}

void describe_fold(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<FoldNormAttrs>(attrs);
    text.item("epsilon", a.epsilon);
    text.type("to", a.type);
}

}  // namespace

std::vector<OpDef> fold_ops() {
    return {
        {.kind = OpKind::fold_norm_weight,
         .inputs = {{Layout::kernel}, {}},
         .results = {Layout::kernel},
         .follows_weights = true,
         .infer = infer_weight,
         .flops = flops_per_output<1>,
         .evaluate = evaluate_weight,
         .describe = describe_fold},
        {.kind = OpKind::fold_norm_bias,
         .follows_weights = true,
         .infer = infer_bias,
         .flops = flops_per_output<4>,
         .evaluate = evaluate_bias,
         .describe = describe_fold},
    };
}

}  // namespace cnntrain::ops
