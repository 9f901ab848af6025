// Scaled dot-product attention (Vaswani et al. 2017) of several heads, its gradient, and the mask over the keys.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::AttentionAttrs;
using graph::AttentionMaskAttrs;
using graph::RandomKey;

namespace {

// ---- the mask ----

std::vector<TensorDesc> infer_mask(const AttentionMaskAttrs& a, Descs inputs) {
    const bool by_lengths = a.sequence != 0;
    expect_inputs(inputs, by_lengths ? 2 : 1);
    for (const TensorDesc& input : inputs) {
        expect_type(input, DType::i32, by_lengths ? "a padding index" : "input_mask");
        expect_rank(input, 2, by_lengths ? "a padding index [B,1]" : "input_mask[B,S]");
    }
    if (!by_lengths) return {{DType::f32, inputs[0].shape}};
    if (a.sequence < 0) reject("a sequence cannot have " + std::to_string(a.sequence) + " tokens");
    for (const TensorDesc& input : inputs)
        expect_shape(input, {inputs[0].shape[0], 1}, "a padding index");
    return {{DType::f32, {inputs[0].shape[0], a.sequence}}};
}

void evaluate_mask(const AttentionMaskAttrs& a, RefInputs inputs, RefOutputs outputs) {
    std::vector<double>& mask = outputs[0].values;
    const auto tokens = static_cast<std::size_t>(outputs[0].desc.shape[1]);
    for (std::size_t i = 0; i < mask.size(); ++i) {
        double seen = 0;
        if (a.sequence == 0) {
            seen = inputs[0]->values[i];
        } else {
            const auto key = static_cast<double>(i % tokens);
            const bool is_token = key < inputs[0]->values[i / tokens] || key >= static_cast<double>(a.predictions);
            seen = is_token && key < inputs[1]->values[i / tokens] ? 1 : 0;
        }
        mask[i] = (1 - seen) * graph::kMaskedScore;
    }
}

void describe_mask(const AttentionMaskAttrs& a, AttrText& text) {
    text.item("sequence", a.sequence);
    text.item("predictions", a.predictions);
}

// ---- shapes ----

/// True if q, k and v come as one tensor, of an op that reads `others` tensors besides them.
bool is_packed(std::size_t inputs, std::size_t others) {
    return inputs == others + 1;
}

/// Sizes of q[B,S,H], packed with k and v or not.
struct Sizes {
    Sizes(const AttentionAttrs& a, const TensorDesc& first, bool packed)
        : samples(first.shape[0]),
          tokens(first.shape[1]),
          features(first.shape[2] / (packed ? 3 : 1)),
          heads(a.heads),
          per_head(features / a.heads),
          stride(first.shape[2]) {}

    std::int64_t samples, tokens, features, heads, per_head;
    std::int64_t stride;  // from token to token, in elements
};

/// Checks q, k, v (or qkv) and the mask after them.
Sizes expect_attention(const AttentionAttrs& a, Descs inputs, bool packed) {
    expect_probability(a.keep, "keep");
    const TensorDesc& first = inputs[0];
    const std::string_view axes = packed ? "qkv[B,S,3H]" : "q[B,S,H]";
    expect_floating(first, axes);
    expect_rank(first, 3, axes);
    if (packed && first.shape[2] % 3 != 0) reject("the last axis of qkv must be three times that of y");
    for (std::size_t i = 1; !packed && i < 3; ++i)
        expect_same(first, inputs[i], "q, k and v");
    const std::int64_t features = first.shape[2] / (packed ? 3 : 1);
    if (a.heads < 1 || features % a.heads != 0)
        reject(std::to_string(a.heads) + " heads do not divide " + std::to_string(features) + " features");
    const Sizes sizes(a, first, packed);
    const TensorDesc& mask = inputs[packed ? 1 : 3];
    const DType type = mask.dtype == DType::i32 ? DType::i32 : DType::f32;
    expect_same(mask, {type, {sizes.samples, sizes.tokens}}, "mask and f32[B,S] or i32[B,S]");
    if (a.keep < 1) expect_random_words(sizes.heads * sizes.tokens * sizes.tokens, first.shape);
    return sizes;
}

std::vector<TensorDesc> results_of(const Sizes& sizes, DType type) {
    return {{type, {sizes.samples, sizes.tokens, sizes.features}},
            {DType::f32, {sizes.samples, sizes.heads, sizes.tokens}}};
}

std::vector<TensorDesc> infer_attention(const Attrs& attrs, Descs inputs) {
    const bool packed = is_packed(inputs.size(), 1);
    expect_inputs(inputs, packed ? 2 : 4);
    return results_of(expect_attention(std::get<AttentionAttrs>(attrs), inputs, packed), inputs[0].dtype);
}

std::vector<TensorDesc> infer_attention_grad(const Attrs& attrs, Descs inputs) {
    const bool packed = is_packed(inputs.size(), 4);
    expect_inputs(inputs, packed ? 5 : 7);
    const Sizes sizes = expect_attention(std::get<AttentionAttrs>(attrs), inputs, packed);
    const std::vector<TensorDesc> results = results_of(sizes, inputs[0].dtype);
    const Descs behind_mask = inputs.subspan(packed ? 2 : 4);
    expect_same(behind_mask[0], results[0], "y and [B,S,H]");
    expect_same(behind_mask[1], results[1], "statistics and f32[B,h,S]");
    expect_same(behind_mask[2], results[0], "dy and y");
    if (packed) return {inputs[0]};
    return {inputs[0], inputs[0], inputs[0]};
}

/// Two products of [S,d] with [d,S] or [S,S] in every head; backward has four, without those that it computes again.
double attention_flops(const Attrs& attrs, Descs inputs, Descs /*outputs*/) {
    const Sizes sizes(std::get<AttentionAttrs>(attrs), inputs[0], is_packed(inputs.size(), 1));
    return 4.0 * static_cast<double>(sizes.samples * sizes.tokens) * static_cast<double>(sizes.tokens * sizes.features);
}
double attention_grad_flops(const Attrs& attrs, Descs inputs, Descs outputs) {
    const bool packed = is_packed(inputs.size(), 4);
    return 2 * attention_flops(attrs, inputs.first(packed ? 2 : 4), outputs);
}

// ---- evaluation ----

using HeadMatrix = std::vector<double>;  // [S,d] or [S,S]

/// Positions of a head's q, k and v in the inputs, or of their gradients in the outputs.
struct Place {
    std::size_t tensor = 0, offset = 0, stride = 0;
};
Place place_of(const Sizes& sizes, bool packed, std::size_t part, std::int64_t sample, std::int64_t head) {
    const std::int64_t offset = sample * sizes.tokens * sizes.stride + head * sizes.per_head;
    const std::size_t in_row = packed ? part * static_cast<std::size_t>(sizes.features) : 0;
    return {packed ? 0 : part, static_cast<std::size_t>(offset) + in_row, static_cast<std::size_t>(sizes.stride)};
}
Place result_place(const Sizes& sizes, std::int64_t sample, std::int64_t head) {
    const std::int64_t offset = sample * sizes.tokens * sizes.features + head * sizes.per_head;
    return {0, static_cast<std::size_t>(offset), static_cast<std::size_t>(sizes.features)};
}

HeadMatrix head_matrix(const std::vector<double>& values, const Place& place, const Sizes& sizes) {
    HeadMatrix matrix;
    for (std::size_t row = 0; row < static_cast<std::size_t>(sizes.tokens); ++row) {
        const auto begin = values.begin() + static_cast<std::ptrdiff_t>(place.offset + row * place.stride);
        matrix.insert(matrix.end(), begin, begin + sizes.per_head);
    }
    return matrix;
}

void put_head(const HeadMatrix& matrix, const Place& place, const Sizes& sizes, std::vector<double>& values) {
    const auto features = static_cast<std::size_t>(sizes.per_head);
    for (std::size_t i = 0; i < matrix.size(); ++i)
        values[place.offset + i / features * place.stride + i % features] = matrix[i];
}

/// factor * a[M,K] * b[K,N]; a and b are given transposed where said so.
HeadMatrix product(const HeadMatrix& a, bool transpose_a, const HeadMatrix& b, bool transpose_b, std::size_t m,
                   std::size_t k, double factor = 1) {
    const std::size_t n = b.size() / k;
    HeadMatrix y(m * n);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::size_t l = 0; l < k; ++l)
                sum += a[transpose_a ? l * m + i : i * k + l] * b[transpose_b ? j * k + l : l * n + j];
            y[i * n + j] = factor * sum;
        }
    }
    return y;
}

/// One head of one sample.
struct Head {
    Head(const Sizes& all_sizes, RefInputs inputs, bool is_packed, std::int64_t sample_index, std::int64_t head_index)
        : sizes(all_sizes),
          packed(is_packed),
          sample(sample_index),
          head(head_index),
          q(part(inputs, 0)),
          k(part(inputs, 1)),
          v(part(inputs, 2)) {}

    HeadMatrix part(RefInputs inputs, std::size_t index) const {
        const Place place = place_of(sizes, packed, index, sample, head);
        return head_matrix(inputs[place.tensor]->values, place, sizes);
    }
    /// The head's scores with the mask, or with the mask that follows from the tokens' numbers.
    HeadMatrix scores(double scale, const graph::RefTensor& mask) const {
        const auto tokens = static_cast<std::size_t>(sizes.tokens);
        HeadMatrix s = product(q, false, k, true, tokens, static_cast<std::size_t>(sizes.per_head), scale);
        const auto of_tokens = std::span(mask.values).subspan(static_cast<std::size_t>(sample) * tokens, tokens);
        for (std::size_t i = 0; i < s.size(); ++i) {
            const double of_key = of_tokens[i % tokens];
            const bool by_numbers = mask.desc.dtype == DType::i32;
            if (by_numbers && of_key != of_tokens[i / tokens]) s[i] = -std::numeric_limits<double>::infinity();
            if (!by_numbers) s[i] += of_key;
        }
        return s;
    }
    void scale_randomly(const RandomScale& scale, HeadMatrix& probabilities) const {
        const std::size_t first = static_cast<std::size_t>(head) * probabilities.size();
        for (std::size_t i = 0; i < probabilities.size(); ++i)
            probabilities[i] = scale(static_cast<std::size_t>(sample), first + i, probabilities[i]);
    }
    /// Index of the head's first row in the statistics.
    std::size_t first_row() const { return static_cast<std::size_t>((sample * sizes.heads + head) * sizes.tokens); }

    const Sizes& sizes;
    bool packed;
    std::int64_t sample, head;
    HeadMatrix q, k, v;
};

/// Calls use(head) for every head of every sample.
template <typename Use> void for_each_head(const Sizes& sizes, RefInputs inputs, bool packed, Use use) {
    for (std::int64_t sample = 0; sample < sizes.samples; ++sample) {
        for (std::int64_t head = 0; head < sizes.heads; ++head)
            use(Head(sizes, inputs, packed, sample, head));
    }
}

void evaluate_attention(const AttentionAttrs& a, const RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const bool packed = is_packed(inputs.size(), 1);
    const Sizes sizes(a, inputs[0]->desc, packed);
    const auto tokens = static_cast<std::size_t>(sizes.tokens);
    const RandomScale scale(random, a.keep, a.site, sizes.samples);
    for_each_head(sizes, inputs, packed, [&](const Head& head) {
        HeadMatrix p = head.scores(a.scale, *inputs[packed ? 1 : 3]);
        for (std::size_t row = 0; row < tokens; ++row) {
            const auto scores = std::span(p).subspan(row * tokens, tokens);
            const double log_sum = log_sum_of_exponentials(scores);
            for (double& score : scores)
                score = std::exp(score - log_sum);
            outputs[1].values[head.first_row() + row] = log_sum;
        }
        head.scale_randomly(scale, p);
        put_head(product(p, false, head.v, false, tokens, tokens), result_place(sizes, head.sample, head.head), sizes,
                 outputs[0].values);
    });
}

/// Computes ds = p * (dp - sum over the keys of p * dp), where p = softmax(s) and dp = random_scale(dy * v^T); the sum
/// over the keys is the sum of dy * y. dv = r^T * dy with r = random_scale(p).
void evaluate_attention_grad(const AttentionAttrs& a, const RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const bool packed = is_packed(inputs.size(), 4);
    const Sizes sizes(a, inputs[0]->desc, packed);
    const auto tokens = static_cast<std::size_t>(sizes.tokens);
    const auto features = static_cast<std::size_t>(sizes.per_head);
    const RandomScale scale(random, a.keep, a.site, sizes.samples);
    const RefInputs behind_mask = inputs.subspan(packed ? 2 : 4);
    for_each_head(sizes, inputs, packed, [&](const Head& head) {
        const Place result = result_place(sizes, head.sample, head.head);
        const HeadMatrix y = head_matrix(behind_mask[0]->values, result, sizes);
        const HeadMatrix dy = head_matrix(behind_mask[2]->values, result, sizes);
        HeadMatrix p = head.scores(a.scale, *inputs[packed ? 1 : 3]);
        for (std::size_t i = 0; i < p.size(); ++i)
            p[i] = std::exp(p[i] - behind_mask[1]->values[head.first_row() + i / tokens]);
        HeadMatrix ds = product(dy, false, head.v, true, tokens, features);
        head.scale_randomly(scale, ds);
        for (std::size_t row = 0; row < tokens; ++row) {
            double mean = 0;
            for (std::size_t c = 0; c < features; ++c)
                mean += y[row * features + c] * dy[row * features + c];
            for (std::size_t i = row * tokens; i < (row + 1) * tokens; ++i)
                ds[i] = p[i] * (ds[i] - mean);
        }
        head.scale_randomly(scale, p);
        const HeadMatrix gradients[] = {product(ds, false, head.k, false, tokens, tokens, a.scale),
                                        product(ds, true, head.q, false, tokens, tokens, a.scale),
                                        product(p, true, dy, false, tokens, tokens)};
        for (std::size_t part = 0; part < 3; ++part) {
            const Place place = place_of(sizes, packed, part, head.sample, head.head);
            put_head(gradients[part], place, sizes, outputs[place.tensor].values);
        }
    });
}

void describe_attention(const AttentionAttrs& a, AttrText& text) {
    text.item("heads", a.heads);
    text.item("scale", a.scale, 1.0);
    text.item("keep", a.keep, 1.0);
    text.item("site", a.site);
}

}  // namespace

std::vector<OpDef> attention_ops() {
    return {
        {.kind = OpKind::attention_mask,
         .infer = typed<infer_mask>,
         .flops = flops_per_output<1>,
         .evaluate = typed<evaluate_mask>,
         .describe = typed<describe_mask>},
        {.kind = OpKind::attention,
         .results = {Layout::rows, Layout::plain},
         .infer = infer_attention,
         .gradient = gradient_by_op<OpKind::attention_grad, 0, 1>,
         .flops = attention_flops,
         .evaluate_random = typed<evaluate_attention>,
         .describe = typed<describe_attention>},
        {.kind = OpKind::attention_grad,
         .results = {Layout::rows},
         .infer = infer_attention_grad,
         .flops = attention_grad_flops,
         .evaluate_random = typed<evaluate_attention_grad>,
         .describe = typed<describe_attention>},
    };
}

}  // namespace cnntrain::ops
