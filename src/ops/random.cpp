// Dropout (Srivastava et al. 2014) and drop-connect of whole samples (stochastic depth: Huang et al. 2016), inverted scaling.
#include <limits>

#include "cnntrain/base/rng.h"
#include "ops/families.h"
#include "ops/op_support.h"

namespace cnntrain::ops {

using graph::Attrs;
using graph::AttrText;
using graph::GradContext;
using graph::Layout;
using graph::OpDef;
using graph::OpKind;
using graph::RandomScaleAttrs;

namespace {

std::vector<TensorDesc> infer_random_scale(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    if (inputs[0].shape.empty()) reject("x must have an axis of samples");
    if (!(a.keep > 0 && a.keep <= 1)) reject("keep must be in (0, 1], not " + std::to_string(a.keep));
    if (inputs[0].elements() > std::numeric_limits<std::uint32_t>::max()) {
        reject("x has more elements than there are random words: " + to_string(inputs[0].shape));
    }
    return {inputs[0]};
}

void random_scale_gradient(GradContext& context) {
    context.set_grad(0, context.add_one(OpKind::random_scale, context.attrs(), {context.grad_output(0)}, "grad"));
}

void evaluate_random_scale(const Attrs& attrs, const graph::RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    const WordKey key = word_key(random.seed, RngStream::random_scale, a.site, random.iteration, random.micro_batch);
    const std::uint32_t last_kept = last_word_within(a.keep);
    const std::size_t unit =
        a.per_sample ? inputs[0]->values.size() / static_cast<std::size_t>(inputs[0]->desc.shape[0]) : 1;
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const bool kept = random_word(key, static_cast<std::uint32_t>(i / unit)) <= last_kept;
        outputs[0].values[i] = kept ? inputs[0]->values[i] / a.keep : 0;
    }
}

void describe_random_scale(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    text.item("keep", a.keep);
    text.flag("per sample", a.per_sample);
    text.item("site", static_cast<std::int64_t>(a.site));
}

}  // namespace

std::vector<OpDef> random_ops() {
    return {
        {.kind = OpKind::random_scale,
         .name = "random_scale",
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
