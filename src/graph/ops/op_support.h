// Shape rules' vocabulary: each function throws Error(usage) with a reason; Graph::add puts node, op and shapes before
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cnntrain/base/rng.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "graph/attr_text.h"

namespace cnntrain::ops {

using graph::Attrs;
using graph::AttrText;
using graph::GradContext;
using graph::Layout;
using graph::NoAttrs;
using graph::OpDef;
using graph::OpKind;
using graph::Use;
using graph::ValueId;

using Descs = std::span<const TensorDesc>;
using RefInputs = std::span<const graph::RefTensor* const>;
using RefOutputs = std::span<graph::RefTensor>;

/// The function of an OpDef that calls F, whose first parameter are the operation's own attributes.
template <auto F, typename = decltype(F)> struct Typed;
template <auto F, typename Result, typename Own, typename... Rest> struct Typed<F, Result (*)(const Own&, Rest...)> {
    static Result call(const Attrs& attrs, Rest... rest) { return F(std::get<Own>(attrs), rest...); }
};
template <auto F> inline constexpr auto* typed = &Typed<F>::call;

[[noreturn]] void reject(const std::string& reason);

void expect_inputs(Descs inputs, std::size_t count);
void expect_floating(const TensorDesc& desc, std::string_view what);  // f32, bf16 or f16
void expect_type(const TensorDesc& desc, DType type, std::string_view what);
void expect_rank(const TensorDesc& desc, std::size_t rank, std::string_view axes);  // axes: "x[N,H,W,C]"
void expect_activation(const TensorDesc& desc, std::string_view axes);              // floating, rank 4
/// Floating, with a last axis of features below at least one other axis.
void expect_rows(const TensorDesc& desc, std::string_view axes);
void expect_same(const TensorDesc& a, const TensorDesc& b, std::string_view what);  // "y and residual"
void expect_same_type(const TensorDesc& a, const TensorDesc& b, std::string_view what);
void expect_shape(const TensorDesc& desc, const Shape& shape, std::string_view what);
/// A per-channel vector: f32, or the type of the activations that it is applied to.
void expect_channel_vector(const TensorDesc& desc, std::int64_t channels, DType activations, std::string_view what);

/// [N,H,W,C] with row-major offsets.
struct Nhwc {
    explicit Nhwc(const Shape& shape) : n(shape.at(0)), h(shape.at(1)), w(shape.at(2)), c(shape.at(3)) {}
    std::int64_t pixels() const { return n * h * w; }
    std::int64_t pixel(std::int64_t in, std::int64_t ih, std::int64_t iw) const { return ((in * h + ih) * w + iw) * c; }

    std::int64_t n, h, w, c;
};

/// Calls pair(index in x[N,H,W,C], index in [N,C]) for every element of x.
template <typename Pair> void for_each_of_images(const Shape& shape, Pair pair) {
    const Nhwc x(shape);
    for (std::int64_t i = 0; i < element_count(shape); ++i)
        pair(static_cast<std::size_t>(i), static_cast<std::size_t>(i / (x.h * x.w * x.c) * x.c + i % x.c));
}

/// Rows of [...,C].
std::int64_t count_rows(const TensorDesc& desc);

/// Sliding-window output extent: (in + padding - kernel) / stride + 1. Rejects windows that fit nowhere.
std::int64_t window_count(std::int64_t in, std::int64_t padding, std::int64_t kernel, std::int64_t stride);

/// A given number of operations per element of the first input / all inputs / first output.
template <int kPerElement> double flops_per_input(const graph::Attrs&, Descs inputs, Descs) {
    return kPerElement * static_cast<double>(inputs[0].elements());
}
template <int kPerElement> double flops_of_all_inputs(const graph::Attrs&, Descs inputs, Descs) {
    double flops = 0;
    for (const TensorDesc& input : inputs)
        flops += kPerElement * static_cast<double>(input.elements());
    return flops;
}
template <int kPerElement> double flops_per_output(const graph::Attrs&, Descs, Descs outputs) {
    return kPerElement * static_cast<double>(outputs[0].elements());
}

double log_sum_of_exponentials(std::span<const double> values);

void expect_probability(double probability, std::string_view what);  // in (0, 1]
/// Checks that every element of a sample has a random word.
void expect_random_words(std::int64_t elements_per_sample, const Shape& shape);

/// Inverted scaling with random words, of one execution and site (graph::RandomScaleAttrs).
class RandomScale {
public:
    RandomScale(const graph::RandomKey& random, double keep, std::uint64_t site, std::int64_t samples);

    /// x / keep or 0, of element number `element` of a sample of this micro-batch.
    double operator()(std::size_t sample, std::size_t element, double x) const;

private:
    double keep_;
    std::uint32_t last_kept_;
    std::vector<WordKey> keys_;  // by sample
};

/// OpDef::evaluate of an op whose result has the elements of its first input, in their order.
void evaluate_copy(const Attrs& attrs, RefInputs inputs, RefOutputs outputs);

/// OpDef::by_sample of an op that never mixes samples.
bool always(const Attrs& attrs);

/// Gradients that only flow through the op's first output: false when it has none. Any other incoming gradient is a
/// defect of the graph that asked for it.
bool only_first_output_has_gradient(const graph::GradContext& context);

/// OpDef::gradient by an op that reads all inputs, the outputs with these numbers, and dy. Its results are the
/// gradients of the first inputs.
template <OpKind kGrad, std::size_t... kOutputs> void gradient_by_op(GradContext& context) {
    if (!only_first_output_has_gradient(context)) return;
    std::vector<ValueId> inputs = context.inputs();
    inputs.insert(inputs.end(), {context.output(kOutputs)..., context.grad_output(0)});
    const std::vector<ValueId> gradients = context.add(kGrad, context.attrs(), std::move(inputs), "grad");
    for (std::size_t i = 0; i < gradients.size(); ++i)
        context.set_grad(i, gradients[i]);
}

// The operations by family, one file each; op_table() joins them.

std::vector<graph::OpDef> attention_ops();   // attention.cpp
std::vector<graph::OpDef> conv_ops();        // conv.cpp
std::vector<graph::OpDef> dense_ops();       // dense.cpp
std::vector<graph::OpDef> gate_ops();        // gate.cpp
std::vector<graph::OpDef> loss_ops();        // loss.cpp
std::vector<graph::OpDef> norm_ops();        // norm.cpp
std::vector<graph::OpDef> pointwise_ops();   // pointwise.cpp
std::vector<graph::OpDef> proxy_norm_ops();  // proxy_norm.cpp
std::vector<graph::OpDef> quantise_ops();    // quantise.cpp
std::vector<graph::OpDef> token_ops();       // tokens.cpp
std::vector<graph::OpDef> update_ops();      // update.cpp
std::vector<graph::OpDef> view_ops();        // view.cpp

}  // namespace cnntrain::ops
