// Dropout (Srivastava et al. 2014) and drop-connect of whole samples (stochastic depth: Huang et al. 2016), inverted
// scaling.
#include <algorithm>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::RandomScaleAttrs;

namespace {

std::vector<TensorDesc> infer_random_scale(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    if (inputs[0].shape.empty()) reject("x needs an axis of samples");
    expect_probability(a.keep, "keep");
    expect_random_words(inputs[0].elements() / std::max<std::int64_t>(inputs[0].shape[0], 1), inputs[0].shape);
    return {inputs[0]};
}

void random_scale_gradient(GradContext& context) {
    context.set_grad(0, context.add_one(OpKind::random_scale, context.attrs(), {context.grad_output(0)}, "grad"));
}

void evaluate_random_scale(const Attrs& attrs, const graph::RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    const std::int64_t samples = inputs[0]->desc.shape[0];
    const RandomScale scale(random, a.keep, a.site, samples);
    const std::size_t elements = inputs[0]->values.size() / static_cast<std::size_t>(samples);
    for (std::size_t i = 0; i < inputs[0]->values.size(); ++i)
        outputs[0].values[i] = scale(i / elements, a.per_sample ? 0 : i % elements, inputs[0]->values[i]);
}

void describe_random_scale(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    text.item("keep", a.keep);
    text.flag("per sample", a.per_sample);
    text.item("site", a.site);
}

}  // namespace

std::vector<OpDef> random_ops() {
    return {
        {.kind = OpKind::random_scale,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .infer = infer_random_scale,
         .gradient = random_scale_gradient,
         .flops = flops_per_input<1>,
         .evaluate_random = evaluate_random_scale,
         .describe = describe_random_scale},
    };
}

}  // namespace cnntrain::ops
