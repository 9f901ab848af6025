#include "graph/ops/op_support.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::ops {

void reject(const std::string& reason) {
    throw Error(ErrorKind::usage, reason);
}

void expect_inputs(Descs inputs, std::size_t count) {
    if (inputs.size() != count)
        reject("takes " + std::to_string(count) + " inputs, got " + std::to_string(inputs.size()));
}

void expect_floating(const TensorDesc& desc, std::string_view what) {
    if (desc.dtype != DType::f32 && desc.dtype != DType::bf16 && desc.dtype != DType::f16)
        reject(std::string(what) + " must be f32, bf16 or f16, not " + std::string(name(desc.dtype)));
}

void expect_type(const TensorDesc& desc, DType type, std::string_view what) {
    if (desc.dtype != type)
        reject(std::string(what) + " must be " + std::string(name(type)) + ", not " + std::string(name(desc.dtype)));
}

void expect_rank(const TensorDesc& desc, std::size_t rank, std::string_view axes) {
    if (desc.shape.size() != rank) reject(std::string(axes) + " cannot have the shape " + to_string(desc.shape));
    for (const std::int64_t extent : desc.shape) {
        if (extent < 1) reject(std::string(axes) + " has an empty axis: " + to_string(desc.shape));
    }
}

void expect_activation(const TensorDesc& desc, std::string_view axes) {
    expect_floating(desc, axes);
    expect_rank(desc, 4, axes);
}

void expect_rows(const TensorDesc& desc, std::string_view axes) {
    expect_floating(desc, axes);
    if (desc.shape.size() < 2) reject(std::string(axes) + " must have at least two axes");
    expect_rank(desc, desc.shape.size(), axes);
}

void expect_same(const TensorDesc& a, const TensorDesc& b, std::string_view what) {
    if (a != b) reject(std::string(what) + " must be alike: " + to_string(a) + " and " + to_string(b));
}

void expect_same_type(const TensorDesc& a, const TensorDesc& b, std::string_view what) {
    if (a.dtype != b.dtype) {
        reject(std::string(what) + " must have one type: " + std::string(name(a.dtype)) + " and " +
               std::string(name(b.dtype)));
    }
}

void expect_shape(const TensorDesc& desc, const Shape& shape, std::string_view what) {
    if (desc.shape != shape)
        reject(std::string(what) + " must have the shape " + to_string(shape) + ", not " + to_string(desc.shape));
}

void expect_channel_vector(const TensorDesc& desc, std::int64_t channels, DType activations, std::string_view what) {
    expect_shape(desc, {channels}, what);
    if (desc.dtype == DType::f32 || desc.dtype == activations) return;
    const std::string other = activations == DType::f32 ? "" : " or " + std::string(name(activations));
    reject(std::string(what) + " must be f32" + other + ", not " + std::string(name(desc.dtype)));
}

std::int64_t count_rows(const TensorDesc& desc) {
    return desc.elements() / desc.shape.back();
}

std::int64_t window_count(std::int64_t in, std::int64_t padding, std::int64_t kernel, std::int64_t stride) {
    if (stride < 1) reject("the stride must be at least 1, not " + std::to_string(stride));
    if (padding < 0 || kernel < 1) reject("negative padding or empty kernel");
    if (in + padding < kernel) {
        reject("a kernel of " + std::to_string(kernel) + " does not fit into " + std::to_string(in) + " + " +
               std::to_string(padding) + " pixels of padding");
    }
    return (in + padding - kernel) / stride + 1;
}

double log_sum_of_exponentials(std::span<const double> values) {
    const double largest = *std::ranges::max_element(values);
    double sum = 0;
    for (const double value : values)
        sum += std::exp(value - largest);
    return largest + std::log(sum);
}

void expect_probability(double probability, std::string_view what) {
    if (!(probability > 0 && probability <= 1)) {
        reject(std::string(what) + " must be in (0, 1], not " + std::to_string(probability));
    }
}

void expect_random_words(std::int64_t elements_per_sample, const Shape& shape) {
    if (elements_per_sample > std::numeric_limits<std::uint32_t>::max())
        reject("a sample of x has more elements than there are random words: " + to_string(shape));
}

RandomScale::RandomScale(const graph::RandomKey& random, double keep, std::uint64_t site, std::int64_t samples)
    : keep_(keep), last_kept_(last_word_within(keep)) {
    for (std::int64_t n = 0; n < samples; ++n) {
        const auto number = static_cast<std::uint64_t>(random.first_sample + n);
        keys_.push_back(word_key(random.seed, RngStream::random_scale, site, number));
    }
}

double RandomScale::operator()(std::size_t sample, std::size_t element, double x) const {
    const bool kept = random_word(keys_[sample], static_cast<std::uint32_t>(element)) <= last_kept_;
    return kept ? x / keep_ : 0;
}

void evaluate_copy(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    outputs[0].values = inputs[0]->values;
}

bool always(const Attrs& /*attrs*/) {
    return true;
}

bool only_first_output_has_gradient(const GradContext& context) {
    for (std::size_t i = 1; i < context.output_count(); ++i) {
        CNNTRAIN_CHECK(!context.has_grad_output(i), "no gradient is defined through output " + std::to_string(i));
    }
    return context.has_grad_output(0);
}

namespace {

using FamilyOps = std::vector<graph::OpDef> (*)();

constexpr FamilyOps kFamilies[] = {
    attention_ops, conv_ops,       dense_ops,    gate_ops,  loss_ops,   norm_ops,
    pointwise_ops, proxy_norm_ops, quantise_ops, token_ops, update_ops, view_ops,
};

graph::OpTable make_table() {
    constexpr auto kNames = enumerator_names<graph::OpKind>();
    graph::OpTable table{};
    for (const FamilyOps family : kFamilies) {
        for (graph::OpDef& def : family()) {
            graph::OpDef& place = table.at(static_cast<std::size_t>(def.kind));
            def.name = kNames.at(static_cast<std::size_t>(def.kind));
            CNNTRAIN_CHECK(place.infer == nullptr, "two operations are called " + std::string(def.name));
            place = std::move(def);
        }
    }
    for (std::size_t i = 0; i < table.size(); ++i) {
        const graph::OpDef& def = table[i];
        CNNTRAIN_CHECK(def.infer != nullptr && (def.evaluate != nullptr || def.evaluate_random != nullptr),
                       "no family defines the operation of kind " + std::to_string(i));
    }
    return table;
}

}  // namespace

const graph::OpTable& op_table() {
    static const graph::OpTable table = make_table();
    return table;
}

}  // namespace cnntrain::ops
