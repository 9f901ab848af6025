// Cases of the pointwise ops, folding, the loss and the updates.
#include "support/case_list.h"

namespace cnntrain::test {

void add_pointwise_cases(std::vector<OpCase>& cases, DType type) {
    const TensorDesc image{type, {2, 5, 3, 17}};
    const double tolerance = tolerance_of(type);
    cases.push_back({.name = "constant/filled",
                     .kind = OpKind::constant,
                     .attrs = graph::ConstantAttrs{0.375, {type, {2, 3}}},
                     .inputs = {},
                     .tolerance = tolerance});
    for (const DType to : {DType::f32, DType::bf16}) {
        cases.push_back({.name = "cast/to_" + std::string(name(to)),
                         .kind = OpKind::cast,
                         .attrs = graph::CastAttrs{to},
                         .inputs = {{"x", image}},
                         .tolerance = kHalfTolerance});
    }
    cases.push_back({.name = "add/odd_size",
                     .kind = OpKind::add,
                     .attrs = NoAttrs{},
                     .inputs = {{"a", image}, {"b", image}},
                     .tolerance = tolerance});
    for (const graph::Activation activation : graph::kActivations) {
        // A slope that vanishes with 1 - y loses its digits where a 16-bit y is near 1. At 0 a ReLU has no slope: the
        // gap.
        const bool levels_off = activation == graph::Activation::sigmoid || activation == graph::Activation::tanh;
        const double low = type != DType::f32 && activation == graph::Activation::tanh ? -0.5 : -4;
        const double high = type != DType::f32 && levels_off ? 0.5 : 4;
        cases.push_back({.name = "activation/" + std::string(graph::name(activation)),
                         .kind = OpKind::activation,
                         .attrs = graph::ActivationAttrs{activation},
                         .inputs = {{.name = "x", .desc = image, .low = low, .high = high, .gap = 0.01}},
                         .tolerance = tolerance});
    }
    cases.push_back(
        {.name = "activation_grad/zeros",
         .kind = OpKind::activation_grad,
         .attrs = graph::ActivationAttrs{graph::Activation::relu},
         .inputs = {{.name = "y", .desc = image, .low = 0, .high = 2, .fill = Fill::integers}, {"dy", image}},
         .tolerance = tolerance});
    for (const std::int64_t channels : {17, 32}) {
        cases.push_back({.name = "scale_channels/" + std::to_string(channels),
                         .kind = OpKind::scale_channels,
                         .attrs = NoAttrs{},
                         .inputs = {{"x", {type, {3, 5, 4, channels}}}, {"gate", {type, {3, channels}}, 0.1, 1}},
                         .tolerance = tolerance});
    }
    const auto random_scale = [&](const char* name, const Shape& shape, double keep, bool per_sample) {
        cases.push_back({.name = std::string("random_scale/") + name,
                         .kind = OpKind::random_scale,
                         .attrs = graph::RandomScaleAttrs{.keep = keep, .per_sample = per_sample, .site = 3},
                         .inputs = {{"x", {type, shape}, 0.5, 1}},
                         .tolerance = tolerance});
    };
    random_scale("elements", {6, 37}, 0.8, false);
    random_scale("picture_elements", {2, 5, 3, 17}, 0.4, false);
    random_scale("samples", {9, 4, 3, 17}, 0.5, true);
    random_scale("everything_kept", {4, 3}, 1, false);
    for (const DType from : {DType::u8, DType::f32}) {
        cases.push_back({.name = "normalise_image/from_" + std::string(name(from)),
                         .kind = OpKind::normalise_image,
                         .attrs = graph::NormaliseImageAttrs{{1 / 58.0, 1 / 57.0, 1 / 57.5}, {-2.1, -2.0, -1.8}, type},
                         .inputs = {{.name = "images",
                                     .desc = {from, {2, 5, 4, 3}},
                                     .low = 0,
                                     .high = 255,
                                     .fill = Fill::integers,
                                     .fed = true}},
                         .tolerance = tolerance});
    }
    const auto shortcut = [&](const char* name, std::int64_t h, std::int64_t w, std::int64_t c, std::int64_t stride,
                              std::int64_t channels) {
        cases.push_back({.name = std::string("shortcut_pad/") + name,
                         .kind = OpKind::shortcut_pad,
                         .attrs = graph::ShortcutPadAttrs{stride, channels, {}},
                         .inputs = {{"x", {type, {2, h, w, c}}}},
                         .tolerance = tolerance});
    };
    shortcut("stride2", 8, 8, 16, 2, 32);
    shortcut("stride2_odd", 7, 5, 3, 2, 10);
    shortcut("channels_only", 4, 4, 10, 1, 17);

    const TensorDesc vector{DType::f32, {17}};
    cases.push_back({.name = "fold_norm_weight/from_f32",
                     .kind = OpKind::fold_norm_weight,
                     .attrs = graph::FoldNormAttrs{1e-3, type},
                     .inputs = {{"w", {DType::f32, {3, 3, 10, 17}}},
                                {"gamma", vector, 0.5, 1.5},
                                {"moving_variance", vector, 0.1, 2}},
                     .tolerance = tolerance});
    const TensorDesc typed{type, {17}};
    cases.push_back({.name = "fold_norm_bias/typed",
                     .kind = OpKind::fold_norm_bias,
                     .attrs = graph::FoldNormAttrs{1e-3, type},
                     .inputs = {{"gamma", typed, 0.5, 1.5},
                                {"beta", typed},
                                {"moving_mean", typed},
                                {"moving_variance", typed, 0.1, 2}},
                     .tolerance = tolerance});
}

void add_loss_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, std::int64_t samples, std::int64_t classes, double smoothing, double low,
                         double high) {
        cases.push_back({.name = std::string("softmax_cross_entropy/") + name,
                         .kind = OpKind::softmax_cross_entropy,
                         .attrs = graph::SoftmaxAttrs{smoothing},
                         .inputs = {{"logits", {type, {samples, classes}}, -4, 4}, labels(samples, low, high)},
                         .tolerance = tolerance_of(type)});
    };
    add("c10", 16, 10, 0, 0, 9);
    add("c10_smoothed", 16, 10, 0.1, 0, 9);
    add("padded_samples", 24, 3, 0.1, -1, 2);
    add("labels_too_large", 24, 3, 0, -1, 4);
    add("c1000", 3, 1000, 0.1, 0, 999);
    add("all_padding", 4, 17, 0, -1, -1);
}

void add_weighted_loss_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, std::int64_t samples, const std::vector<double>& weights, double smoothing,
                         double low, double high) {
        const auto classes = std::ssize(weights);
        cases.push_back({.name = std::string("softmax_cross_entropy/") + name,
                         .kind = OpKind::softmax_cross_entropy,
                         .attrs = graph::SoftmaxAttrs{smoothing, weights},
                         .inputs = {{"logits", {type, {samples, classes}}, -4, 4}, labels(samples, low, high)},
                         .tolerance = tolerance_of(type)});
    };
    add("weighted", 16, {0.5, 2, 1, 0.1, 3}, 0, -1, 5);
    add("weighted_smoothed", 16, {0.5, 2, 1, 0.1, 3}, 0.1, -1, 5);
    add("weights_of_zero", 24, {0, 0, 2.5}, 0.1, -1, 3);
    add("weighted_padding", 4, {0.5, 2}, 0.1, -1, -1);
    add("weights_of_used_classes_zero", 8, {0, 0, 1}, 0.1, 0, 1);
    add("weighted_c1000", 3, std::vector<double>(1000, 0.25), 0.1, 0, 999);
}

void add_top_k_cases(std::vector<OpCase>& cases, DType type) {
    const auto add_top_k = [&](const char* name, std::int64_t samples, std::int64_t classes, std::int64_t k, double low,
                               Fill fill) {
        cases.push_back(
            {.name = std::string("top_k_correct/") + name,
             .kind = OpKind::top_k_correct,
             .attrs = graph::TopKAttrs{k},
             .inputs = {{.name = "logits", .desc = {type, {samples, classes}}, .low = -4, .high = 4, .fill = fill},
                        labels(samples, low, static_cast<double>(classes - 1))}});
    };
    add_top_k("1_of_3_tied", 24, 3, 1, -1, Fill::coarse);
    add_top_k("5_of_10", 40, 10, 5, 0, Fill::uniform);
    add_top_k("5_of_17_tied", 40, 17, 5, -1, Fill::coarse);
    add_top_k("5_of_1000", 8, 1000, 5, 0, Fill::coarse);
}

void add_update_cases(std::vector<OpCase>& cases, DType type) {
    const TensorDesc desc{type, {3, 3, 10, 17}};
    const TensorDesc large{type, {301, 333}};
    const double tolerance = tolerance_of(type);
    const auto add = [&](const std::string& name, const graph::UpdateAttrs& attrs, const TensorDesc& of) {
        OpCase update{.name = "update/" + name,
                      .kind = OpKind::update,
                      .attrs = attrs,
                      .inputs = {{"target", of},
                                 {.name = "gradient", .desc = {DType::f32, of.shape}, .computed = true},
                                 {"learning_rate", {DType::f32, {}}, 0.05, 0.5},
                                 {"step", {DType::f32, {}}, 1, 1},
                                 {"loss_scaling", {DType::f32, {}}, 0.5, 2}},
                      .tolerance = tolerance};
        // Every slot may be a mean of squares.
        for (std::size_t i = 0; i < facts_of(attrs.rule).slots; ++i)
            update.inputs.push_back({"slot" + std::to_string(i), of, 0.01, 1.5});
        cases.push_back(std::move(update));
    };
    for (const graph::UpdateRuleFacts& facts : graph::kUpdateRules) {
        graph::UpdateAttrs attrs{.rule = facts.rule,
                                 .gradient_scale = 0.25,
                                 .weight_decay = 0.01,
                                 .learning_rate_scale = 0.5,
                                 .momentum = 0.9,
                                 .decay = 0.9,
                                 .epsilon = 1e-3,
                                 .rule_weight_decay = 5e-3,
                                 .trust_scale = 0.01,
                                 .corrects_bias = true};
        const std::string name(facts.name);
        add(name, attrs, desc);
        add(name + "_large", attrs, large);
        attrs.adapts = false;
        if (facts.has_trust()) add(name + "_not_adapted", attrs, {type, {17}});
    }
    if (type == DType::bf16) {
        cases.push_back({.name = "round_copy/kernel",
                         .kind = OpKind::round_copy,
                         .attrs = NoAttrs{},
                         .inputs = {{"parameter", desc}, {"master", {DType::f32, desc.shape}}},
                         .tolerance = tolerance});
    }
    cases.push_back(
        {.name = "moving_average_update/scaled",
         .kind = OpKind::moving_average_update,
         .attrs = graph::MovingAverageAttrs{.decay = 0.97, .value_scale = 0.26},
         .inputs = {{"moving", {type, {17}}, 0.1, 2}, {.name = "value", .desc = {DType::f32, {17}}, .computed = true}},
         .tolerance = tolerance});
}

/// Adds cases of updates that only BERT's optimisers need.
void add_bert_update_cases(std::vector<OpCase>& cases, DType type) {
    const double tolerance = tolerance_of(type);
    const auto add = [&](const std::string& name, OpKind kind, const graph::UpdateAttrs& attrs, const TensorDesc& of) {
        OpCase update{.name = name,
                      .kind = kind,
                      .attrs = attrs,
                      .inputs = {{"target", of},
                                 {.name = "gradient", .desc = {DType::f32, of.shape}, .computed = true},
                                 {"learning_rate", {DType::f32, {}}, 0.05, 0.5},
                                 {"step", {DType::f32, {}}, 1, 1},
                                 {"loss_scaling", {DType::f32, {}}, 0.5, 2}},
                      .tolerance = tolerance};
        if (kind == OpKind::scaled_update) update.inputs.push_back({"factor", {DType::f32, {}}, 0.1, 0.9});
        for (std::size_t i = 0; i < facts_of(attrs.rule).slots; ++i)
            update.inputs.push_back({"slot" + std::to_string(i), of, 0.01, 1.5});
        cases.push_back(std::move(update));
    };
    graph::UpdateAttrs attrs{.rule = graph::UpdateRule::lamb,
                             .gradient_scale = 0.25,
                             .momentum = 0.9,
                             .decay = 0.9,
                             .epsilon = 1e-3,
                             .rule_weight_decay = 5e-3};
    add("scaled_update/lamb", OpKind::scaled_update, attrs, {type, {301, 333}});
    attrs.column_blocks = 3;
    add("update/lamb_3_blocks", OpKind::update, attrs, {type, {301, 333}});
    add("scaled_update/lamb_3_blocks", OpKind::scaled_update, attrs, {type, {17, 9}});
    attrs.column_blocks = 1;
    attrs.rule = graph::UpdateRule::adamw;
    attrs.corrects_step = true;
    add("scaled_update/adamw_step", OpKind::scaled_update, attrs, {type, {64}});
    if (type != DType::f32) return;
    const auto gradient = [](const std::string& name, const Shape& shape) {
        return CaseInput{.name = name, .desc = {DType::f32, shape}};
    };
    cases.push_back({.name = "gradient_factor/limited_and_divided",
                     .kind = OpKind::gradient_factor,
                     .attrs = graph::GradientFactorAttrs{.gradient_scale = 0.25, .limit = 3, .divides = true},
                     .inputs = {{"loss_scaling", {DType::f32, {}}, 0.5, 2},
                                gradient("a", {3, 3, 10, 17}),
                                gradient("b", {65536 + 17}),
                                gradient("c", {64, 48})}});
}

}  // namespace cnntrain::test
