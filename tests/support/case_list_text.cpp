// Cases of the ops that networks of text are made of.
#include "support/case_list.h"

namespace cnntrain::test {

using graph::AttentionAttrs;
using graph::LayerNormAttrs;

namespace {

CaseInput numbers(const char* name, const Shape& shape, double low, double high) {
    return {.name = name, .desc = {DType::i32, shape}, .low = low, .high = high, .fill = Fill::integers, .fed = true};
}

void add_dense_case(std::vector<OpCase>& cases, DType type, const char* name, const Shape& x, std::int64_t out,
                    const graph::DenseAttrs& attrs) {
    OpCase dense{
        .name = std::string("dense/") + name,
        .kind = OpKind::dense,
        .attrs = attrs,
        .inputs = {{"x", {type, x}}, {"w", {type, attrs.transposed ? Shape{out, x.back()} : Shape{x.back(), out}}}},
        .tolerance = tolerance_of(type)};
    if (attrs.bias) dense.inputs.push_back({"bias", {type, {out}}});
    cases.push_back(std::move(dense));
}

void add_tied_dense_cases(std::vector<OpCase>& cases, DType type) {
    add_dense_case(cases, type, "without_bias", {4, 17}, 10, {.bias = false});
    add_dense_case(cases, type, "without_bias_rank_3", {2, 5, 32}, 48, {.bias = false});
    add_dense_case(cases, type, "transposed", {4, 24}, 17, {.transposed = true});
    add_dense_case(cases, type, "transposed_without_bias", {2, 3, 32}, 100, {.bias = false, .transposed = true});
    if (type == DType::bf16) add_tile_cases(cases, type);
}

void add_embedding_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, const Shape& ids, const TensorDesc& table, double low, double high) {
        cases.push_back({.name = std::string("embedding/") + name,
                         .kind = OpKind::embedding,
                         .attrs = graph::EmbeddingAttrs{.type = type},
                         .inputs = {numbers("ids", ids, low, high), {"table", table}},
                         .tolerance = tolerance_of(type)});
    };
    add("some_outside", {2, 5}, {type, {7, 17}}, -2, 8);
    add("many_repeated", {3, 40}, {type, {5, 48}}, 0, 4);
    add("of_one_axis", {9}, {type, {30, 8}}, 0, 29);
    if (type == DType::bf16) add("of_floats", {2, 9}, {DType::f32, {12, 33}}, -1, 12);
    cases.push_back(
        {.name = "embedding_grad/others",
         .kind = OpKind::embedding_grad,
         .attrs = graph::EmbeddingAttrs{.rows = 11},
         .inputs = {numbers("ids", {2, 9}, -1, 11), {"dy", {type, {2, 9, 17}}}, {"others", {DType::f32, {11, 17}}}},
         .tolerance = tolerance_of(type)});
    const auto gather = [&](const char* name, const Shape& x, std::int64_t count, double low, double high) {
        cases.push_back({.name = std::string("gather_rows/") + name,
                         .kind = OpKind::gather_rows,
                         .attrs = graph::GatherRowsAttrs{},
                         .inputs = {{"x", {type, x}}, numbers("positions", {x[0], count}, low, high)},
                         .tolerance = tolerance_of(type)});
    };
    gather("some_outside", {3, 6, 17}, 4, -1, 7);
    gather("many_repeated", {2, 4, 32}, 19, 0, 3);
}

void add_layer_norm_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, const Shape& shape, bool residual, double keep, DType vector_type) {
        const TensorDesc x{type, shape};
        const TensorDesc vector{vector_type, {shape.back()}};
        OpCase norm{.name = std::string("layer_norm/") + name,
                    .kind = OpKind::layer_norm,
                    .attrs = LayerNormAttrs{.residual = residual, .keep = keep, .site = 5},
                    .inputs = {{"x", x, -1, 3}, {"gamma", vector, 0.5, 1.5}, {"beta", vector, -0.5, 0.5}},
                    .tolerance = tolerance_of(type),
                    .gradient_step = 1e-5};
        if (residual) norm.inputs.push_back({"residual", x});
        cases.push_back(std::move(norm));
    };
    add("plain", {2, 5, 24}, false, 1, DType::f32);
    add("plain_odd", {7, 17}, false, 1, type);
    add("wide", {3, 768}, false, 1, type);
    add("residual", {2, 5, 24}, true, 1, type);
    add("residual_odd", {7, 17}, true, 1, DType::f32);
    add("dropout", {3, 5, 24}, true, 0.75, type);
    add("dropout_odd", {3, 7, 17}, true, 0.5, DType::f32);
    for (const double keep : {1.0, 0.75}) {
        const TensorDesc z{type, {3, 4, 17}};
        const TensorDesc statistic{DType::f32, {3, 4}};
        cases.push_back({.name = keep < 1 ? "layer_norm_grad/of_sum_dropout" : "layer_norm_grad/of_sum",
                         .kind = OpKind::layer_norm_grad,
                         .attrs = LayerNormAttrs{.residual = true, .keep = keep, .site = 5, .summed_gradient = true},
                         .inputs = {{"z", z, -1, 3},
                                    {"gamma", {DType::f32, {17}}, 0.5, 1.5},
                                    {"mean", statistic, 0.8, 1.2},
                                    {"variance", statistic, 0.9, 1.6},
                                    {"dy", z},
                                    {"dy2", z}},
                         .tolerance = tolerance_of(type)});
    }
}

void add_attention_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, const Shape& y, std::int64_t heads, double keep, bool packed,
                         Fill mask = Fill::uniform) {
        const Shape rows{y[0], y[1], packed ? 3 * y[2] : y[2]};
        OpCase attention{.name = std::string("attention/") + name,
                         .kind = OpKind::attention,
                         .attrs = AttentionAttrs{.heads = heads, .scale = 0.5, .keep = keep, .site = 7},
                         .inputs = {},
                         .tolerance = 2 * tolerance_of(type)};  // the gradients of scores are small differences
        if (packed) {
            attention.inputs = {{"qkv", {type, rows}}};
        } else {
            attention.inputs = {{"q", {type, rows}}, {"k", {type, rows}}, {"v", {type, rows}}};
        }
        attention.inputs.push_back({.name = "mask",
                                    .desc = {DType::f32, {y[0], y[1]}},
                                    .low = mask == Fill::uniform ? -3.0 : -1000,
                                    .high = mask == Fill::uniform ? 0.0 : 1000.0 / 3,
                                    .fill = mask,
                                    .fed = true});
        cases.push_back(std::move(attention));
    };
    add("one_head", {2, 5, 8}, 1, 1, false);
    add("three_heads", {2, 7, 24}, 3, 1, false);
    add("packed", {2, 7, 24}, 3, 1, true);
    add("masked_keys", {3, 17, 32}, 2, 1, true, Fill::coarse);
    add("dropout", {2, 9, 16}, 2, 0.75, false);
    add("dropout_packed", {2, 20, 32}, 2, 0.75, true);
    add("one_token", {3, 1, 16}, 2, 1, true);
    add("odd_head", {1, 6, 15}, 3, 1, true);

    // `share`: chance that a token begins a sequence.
    const auto add_numbered = [&](const char* name, const Shape& y, std::int64_t heads, double keep, bool packed,
                                  double share) {
        add(name, y, heads, keep, packed);
        cases.back().inputs.back() = {
            .name = "numbers", .desc = {DType::i32, {y[0], y[1]}}, .high = share, .fill = Fill::runs, .fed = true};
    };
    add_numbered("sequences", {3, 17, 32}, 2, 1, false, 0.2);
    add_numbered("sequences_of_one_token", {2, 7, 24}, 3, 1, true, 1);
    add_numbered("sequences_dropout", {2, 40, 32}, 2, 0.75, true, 0.1);
    add_numbered("long_sequences", {2, 300, 16}, 2, 1, true, 0.01);

    const auto add_mask = [&](const char* name, const graph::AttentionMaskAttrs& attrs, std::vector<CaseInput> inputs) {
        cases.push_back({.name = std::string("attention_mask/") + name,
                         .kind = OpKind::attention_mask,
                         .attrs = attrs,
                         .inputs = std::move(inputs)});
    };
    if (type != DType::f32) return;
    add_mask("of_tokens", {}, {numbers("input_mask", {3, 17}, 0, 1)});
    add_mask("of_lengths", {.sequence = 19, .predictions = 6},
             {numbers("mask_padding_index", {5, 1}, 0, 6), numbers("seq_padding_index", {5, 1}, 3, 19)});
}

void add_token_loss_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, std::int64_t tokens, std::int64_t classes, double low, double high,
                         double weight) {
        cases.push_back({.name = std::string("token_cross_entropy/") + name,
                         .kind = OpKind::token_cross_entropy,
                         .attrs = NoAttrs{},
                         .inputs = {{"logits", {type, {tokens, classes}}, -4, 4},
                                    labels(tokens, low, high),
                                    {.name = "weights",
                                     .desc = {DType::f32, {tokens}},
                                     .low = 0,
                                     .high = weight,
                                     .fill = Fill::integers,
                                     .fed = true}},
                         .tolerance = tolerance_of(type)});
    };
    add("c10", 40, 10, 0, 9, 1);
    add("labels_outside", 40, 17, -2, 19, 2);
    add("no_weights", 9, 17, 0, 16, 0);
    add("c1000", 12, 1000, 0, 999, 1);
}

}  // namespace

/// Adds dense layers as large as products by tiles.
void add_tile_cases(std::vector<OpCase>& cases, DType type) {
    add_dense_case(cases, type, "whole_tiles", {2, 64, 160}, 96, {});
    add_dense_case(cases, type, "whole_tiles_transposed", {2, 64, 96}, 160, {.transposed = true});
}

void add_text_cases(std::vector<OpCase>& cases, DType type) {
    add_tied_dense_cases(cases, type);
    add_embedding_cases(cases, type);
    add_layer_norm_cases(cases, type);
    add_attention_cases(cases, type);
    add_token_loss_cases(cases, type);
}

}  // namespace cnntrain::test
