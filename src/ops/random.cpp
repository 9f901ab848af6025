// Dropout (Srivastava et al. 2014) and drop-connect of whole samples (stochastic depth: Huang et al. 2016), inverted scaling.
#include <algorithm>
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
    if (inputs[0].shape.empty()) reject("x needs an axis of samples");
    if (!(a.keep > 0 && a.keep <= 1)) reject("keep must be in (0, 1], not " + std::to_string(a.keep));
    if (inputs[0].elements() / std::max<std::int64_t>(inputs[0].shape[0], 1) >
        std::numeric_limits<std::uint32_t>::max()) {
        reject("a sample of x has more elements than there are random words: " + to_string(inputs[0].shape));
    }
    return {inputs[0]};
}

void random_scale_gradient(GradContext& context) {
    context.set_grad(0, context.add_one(OpKind::random_scale, context.attrs(), {context.grad_output(0)}, "grad"));
}

void evaluate_random_scale(const Attrs& attrs, const graph::RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<RandomScaleAttrs>(attrs);
    const std::uint32_t last_kept = last_word_within(a.keep);
    const auto samples = static_cast<std::size_t>(inputs[0]->desc.shape[0]);
    const std::size_t elements = inputs[0]->values.size() / samples;
    for (std::size_t n = 0; n < samples; ++n) {
        const auto number = static_cast<std::uint64_t>(random.first_sample) + n;
        const WordKey key = word_key(random.seed, RngStream::random_scale, a.site, number);
        for (std::size_t e = 0; e < elements; ++e) {
            const bool kept = random_word(key, a.per_sample ? 0 : static_cast<std::uint32_t>(e)) <= last_kept;
            const std::size_t i = n * elements + e;
            outputs[0].values[i] = kept ? inputs[0]->values[i] / a.keep : 0;
        }
    }
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
