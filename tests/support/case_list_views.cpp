// Cases of views, of batched matrix products, and of pointwise ops on tensors that are no images.
#include "support/case_list.h"

namespace cnntrain::test {

void add_view_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const std::string& name, OpKind kind, graph::Attrs attrs, const Shape& shape) {
        cases.push_back({.name = name,
                         .kind = kind,
                         .attrs = std::move(attrs),
                         .inputs = {{"x", {type, shape}}},
                         .tolerance = tolerance_of(type)});
    };
    add("reshape/split", OpKind::reshape, graph::ReshapeAttrs{{2, 5, 3, 8}}, {2, 5, 24});
    add("reshape/flatten", OpKind::reshape, graph::ReshapeAttrs{{2, 105}}, {2, 5, 3, 7});
    add("transpose/matrix", OpKind::transpose, graph::TransposeAttrs{{1, 0}}, {5, 17});
    add("transpose/heads", OpKind::transpose, graph::TransposeAttrs{{0, 2, 1, 3}}, {2, 5, 3, 8});
    add("transpose/turn", OpKind::transpose, graph::TransposeAttrs{{2, 0, 3, 1}}, {2, 5, 3, 7});
    add("slice/first_axis", OpKind::slice, graph::SliceAttrs{0, 1, 3, 0}, {4, 5, 3});
    add("slice/middle_axis", OpKind::slice, graph::SliceAttrs{1, 0, 4, 0}, {2, 5, 3, 8});
    add("slice/last_axis", OpKind::slice, graph::SliceAttrs{2, 8, 24, 0}, {2, 5, 24});
    add("slice_grad/last_axis", OpKind::slice_grad, graph::SliceAttrs{2, 8, 24, 31}, {2, 5, 16});
    add("slice_grad/vector", OpKind::slice_grad, graph::SliceAttrs{0, 3, 8, 12}, {5});
}

void add_matmul_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const std::string& name, bool transpose_a, bool transpose_b, const Shape& a, const Shape& b) {
        cases.push_back({.name = "batched_matmul/" + name,
                         .kind = OpKind::batched_matmul,
                         .attrs = graph::MatmulAttrs{transpose_a, transpose_b},
                         .inputs = {{"a", {type, a}}, {"b", {type, b}}},
                         .tolerance = tolerance_of(type)});
    };
    add("single", false, false, {5, 7}, {7, 3});
    add("plain", false, false, {2, 3, 5, 16}, {2, 3, 16, 9});
    add("a_transposed", true, false, {3, 16, 5}, {3, 16, 9});
    add("b_transposed", false, true, {2, 3, 5, 16}, {2, 3, 9, 16});
    add("both_transposed", true, true, {2, 3, 16, 5}, {2, 3, 9, 16});
}

/// Attention scores [B,H,T,T] and sequences [B,T,C] are as little images as any other tensor of their rank.
void add_plain_cases(std::vector<OpCase>& cases, DType type) {
    for (const Shape& shape : {Shape{2, 3, 5, 5}, Shape{2, 5, 24}, Shape{2, 1, 3, 2, 5}}) {
        const std::string name = "rank_" + std::to_string(shape.size());
        const TensorDesc desc{type, shape};
        cases.push_back({.name = "constant/" + name,
                         .kind = OpKind::constant,
                         .attrs = graph::ConstantAttrs{0.375, desc},
                         .inputs = {},
                         .tolerance = tolerance_of(type)});
        cases.push_back({.name = "cast/" + name,
                         .kind = OpKind::cast,
                         .attrs = graph::CastAttrs{type == DType::f32 ? DType::bf16 : DType::f32},
                         .inputs = {{"x", desc}},
                         .tolerance = kHalfTolerance});
        cases.push_back({.name = "add/" + name,
                         .kind = OpKind::add,
                         .attrs = graph::NoAttrs{},
                         .inputs = {{"a", desc}, {"b", desc}},
                         .tolerance = tolerance_of(type)});
        for (const graph::Activation activation : {graph::Activation::relu, graph::Activation::swish}) {
            cases.push_back({.name = "activation/" + std::string(graph::name(activation)) + "_" + name,
                             .kind = OpKind::activation,
                             .attrs = graph::ActivationAttrs{activation},
                             .inputs = {{.name = "x", .desc = desc, .gap = 0.01}},
                             .tolerance = tolerance_of(type)});
        }
        for (const bool per_sample : {false, true}) {
            cases.push_back({.name = (per_sample ? "random_scale/samples_" : "random_scale/elements_") + name,
                             .kind = OpKind::random_scale,
                             .attrs = graph::RandomScaleAttrs{.keep = 0.75, .per_sample = per_sample, .site = 3},
                             .inputs = {{"x", desc}},
                             .tolerance = tolerance_of(type)});
        }
    }
}

}  // namespace cnntrain::test
