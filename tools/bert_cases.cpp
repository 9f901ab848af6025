#include "bert_cases.h"

#include <cmath>

namespace cnntrain {

using graph::OpKind;
using test::CaseInput;
using test::Fill;
using test::OpCase;

namespace {

constexpr std::int64_t kHeads = 12;
constexpr std::int64_t kFeatures = 768;
constexpr std::int64_t kInner = 3072;
constexpr std::int64_t kVocabulary = 30400;
constexpr double kKeep = 0.9;

CaseInput numbers(const char* name, const Shape& shape, std::int64_t below) {
    return {.name = name,
            .desc = {DType::i32, shape},
            .low = 0,
            .high = static_cast<double>(below - 1),
            .fill = Fill::integers,
            .fed = true};
}

void add_dense(std::vector<OpCase>& cases, const char* name, const TensorDesc& x, std::int64_t out, bool bias,
               bool transposed) {
    const std::int64_t in = x.shape.back();
    OpCase dense{.name = std::string("dense/") + name,
                 .kind = OpKind::dense,
                 .attrs = graph::DenseAttrs{.bias = bias, .transposed = transposed},
                 .inputs = {{"x", x}, {"w", {x.dtype, transposed ? Shape{out, in} : Shape{in, out}}}},
                 .tolerance = 0};
    if (bias) dense.inputs.push_back({"bias", {DType::f32, {out}}});
    cases.push_back(std::move(dense));
}

void add_attention(std::vector<OpCase>& cases, const TensorDesc& x) {
    const std::int64_t batch = x.shape[0];
    const std::int64_t sequence = x.shape[1];
    const TensorDesc qkv{x.dtype, {batch, sequence, 3 * kFeatures}};
    for (const double keep : {1.0, kKeep}) {
        cases.push_back(
            {.name = keep < 1 ? "attention/dropout" : "attention/plain",
             .kind = OpKind::attention,
             .attrs = graph::AttentionAttrs{.heads = kHeads, .scale = 0.125, .keep = keep},
             .inputs = {{"qkv", qkv},
                        {.name = "mask", .desc = {DType::f32, {batch, sequence}}, .high = 0, .fed = true}}});
    }
    const TensorDesc heads{x.dtype, {batch, kHeads, sequence, kFeatures / kHeads}};
    const TensorDesc scores{x.dtype, {batch, kHeads, sequence, sequence}};
    cases.push_back({.name = "batched_matmul/scores",
                     .kind = OpKind::batched_matmul,
                     .attrs = graph::MatmulAttrs{false, true},
                     .inputs = {{"q", heads}, {"k", heads}}});
    cases.push_back({.name = "batched_matmul/values",
                     .kind = OpKind::batched_matmul,
                     .attrs = graph::MatmulAttrs{},
                     .inputs = {{"p", scores}, {"v", heads}}});
}

}  // namespace

std::vector<OpCase> bert_cases(std::int64_t batch, std::int64_t sequence, DType type) {
    std::vector<OpCase> cases;
    const TensorDesc x{type, {batch, sequence, kFeatures}};
    const TensorDesc inner{type, {batch, sequence, kInner}};
    const std::int64_t picked = std::lround(0.15 * static_cast<double>(sequence)) + 1;
    const TensorDesc tokens{type, {batch * picked, kFeatures}};
    const TensorDesc vector{DType::f32, {kFeatures}};
    add_attention(cases, x);
    add_dense(cases, "qkv", x, 3 * kFeatures, false, false);
    add_dense(cases, "projection", x, kFeatures, false, false);
    add_dense(cases, "up", x, kInner, true, false);
    add_dense(cases, "down", inner, kFeatures, true, false);
    add_dense(cases, "tied_head", tokens, kVocabulary, true, true);
    cases.push_back({.name = "activation/gelu_tanh",
                     .kind = OpKind::activation,
                     .attrs = graph::ActivationAttrs{graph::Activation::gelu_tanh},
                     .inputs = {{"x", inner}}});
    for (const double keep : {1.0, kKeep}) {
        cases.push_back({.name = keep < 1 ? "layer_norm/dropout" : "layer_norm/residual",
                         .kind = OpKind::layer_norm,
                         .attrs = graph::LayerNormAttrs{.residual = true, .keep = keep},
                         .inputs = {{"x", x}, {"gamma", vector}, {"beta", vector}, {"residual", x}}});
    }
    cases.push_back(
        {.name = "embedding/words",
         .kind = OpKind::embedding,
         .attrs = graph::EmbeddingAttrs{type},
         .inputs = {numbers("ids", {batch, sequence}, kVocabulary), {"table", {type, {kVocabulary, kFeatures}}}}});
    cases.push_back({.name = "gather_rows/masked",
                     .kind = OpKind::gather_rows,
                     .attrs = graph::GatherRowsAttrs{},
                     .inputs = {{"x", x}, numbers("positions", {batch, picked}, sequence)}});
    cases.push_back({.name = "token_cross_entropy/masked",
                     .kind = OpKind::token_cross_entropy,
                     .attrs = graph::NoAttrs{},
                     .inputs = {{"logits", {type, {batch * picked, kVocabulary}}},
                                numbers("labels", {batch * picked}, kVocabulary),
                                {.name = "weights", .desc = {DType::f32, {batch * picked}}, .low = 0.5, .fed = true}}});
    return cases;
}

}  // namespace cnntrain
