// Cases of mixup and cutmix.
#include "support/case_list.h"

namespace cnntrain::test {
namespace {

CaseInput shares(const char* name, const Shape& shape) {
    return {.name = name, .desc = {DType::f32, shape}, .low = 0, .high = 1, .fed = true};
}

}  // namespace

void add_mixing_cases(std::vector<OpCase>& cases, DType type) {
    const auto mix = [&](const char* name, const Shape& shape, bool mixup, std::int64_t distance) {
        OpCase op_case{.name = std::string("mix_images/") + name,
                       .kind = OpKind::mix_images,
                       .attrs = graph::MixImagesAttrs{mixup, distance},
                       .inputs = {{"x", {type, shape}, -2, 2}},
                       .tolerance = tolerance_of(type)};
        if (mixup) op_case.inputs.push_back(shares("mixup", {shape[0]}));
        if (distance != 0) {
            // Any numbers, in and out of order, in and out of the picture.
            op_case.inputs.push_back({.name = "cutmix_box",
                                      .desc = {DType::i32, {4}},
                                      .low = -1,
                                      .high = static_cast<double>(shape[1]) + 2,
                                      .fill = Fill::integers,
                                      .fed = true});
        }
        cases.push_back(std::move(op_case));
    };
    mix("mixup", {4, 6, 5, 3}, true, 0);
    mix("mixup_of_two", {2, 7, 9, 3}, true, 0);
    mix("cutmix", {5, 6, 8, 3}, false, 2);
    mix("cutmix_wide", {3, 9, 20, 4}, false, 2);
    mix("both", {5, 8, 8, 3}, true, 2);
    mix("both_of_two", {2, 8, 16, 3}, true, 1);
    mix("both_of_three", {3, 32, 32, 3}, true, 2);
    mix("alone", {1, 4, 4, 3}, true, 2);

    const auto loss = [&](const char* name, std::int64_t samples, std::int64_t classes,
                          const std::vector<std::int64_t>& distances, double smoothing, double low, double high) {
        cases.push_back({.name = std::string("mixed_cross_entropy/") + name,
                         .kind = OpKind::mixed_cross_entropy,
                         .attrs = graph::MixedTargetsAttrs{smoothing, distances},
                         .inputs = {{"logits", {type, {samples, classes}}, -4, 4},
                                    labels(samples, low, high),
                                    shares("target_shares", {samples, static_cast<std::int64_t>(distances.size())})},
                         .tolerance = tolerance_of(type)});
    };
    loss("mixup", 16, 10, {0, 1}, 0, 0, 9);
    loss("cutmix_smoothed", 9, 10, {0, 2}, 0.1, 0, 9);
    loss("both_smoothed", 16, 10, {0, 1, 2, 3}, 0.1, 0, 9);
    loss("both_of_two", 2, 17, {0, 1, 1, 2}, 0.1, 0, 16);
    loss("equal_labels", 8, 3, {0, 1, 2, 3}, 0.1, 1, 1);
    loss("padded_samples", 24, 3, {0, 1, 2, 3}, 0.1, -1, 2);
    loss("labels_too_large", 24, 3, {0, 1, 2, 3}, 0, -1, 4);
    loss("all_padding", 4, 17, {0, 1}, 0.1, -1, -1);
    loss("c1000", 3, 1000, {0, 1, 2, 3}, 0.1, 0, 999);
    loss("one_share", 5, 10, {0}, 0.1, 0, 9);
}

void add_distillation_cases(std::vector<OpCase>& cases, DType type) {
    const auto loss = [&](const char* name, std::int64_t samples, std::int64_t classes, double temperature,
                          double lowest_label) {
        cases.push_back(
            {.name = std::string("distillation/") + name,
             .kind = OpKind::distillation,
             .attrs = graph::DistillationAttrs{temperature},
             .inputs =
                 {{"logits", {type, {samples, classes}}, -4, 4},
                  labels(samples, lowest_label, static_cast<double>(classes) - 1),
                  {.name = "teacher", .desc = {DType::f32, {samples, classes}}, .low = -6, .high = 6, .fed = true}},
             .tolerance = tolerance_of(type)});
    };
    loss("t1", 16, 10, 1, 0);
    loss("t4", 9, 10, 4, 0);
    loss("padded_samples", 24, 3, 2, -1);
    loss("c1000", 3, 1000, 2.5, 0);
}

void add_several_label_cases(std::vector<OpCase>& cases, DType type) {
    const auto loss = [&](const char* name, std::int64_t samples, std::int64_t classes,
                          const graph::SigmoidAttrs& attrs, double lowest_label) {
        cases.push_back({.name = std::string("sigmoid_cross_entropy/") + name,
                         .kind = OpKind::sigmoid_cross_entropy,
                         .attrs = attrs,
                         .inputs = {{"logits", {type, {samples, classes}}, -6, 6},
                                    {.name = "labels",
                                     .desc = {DType::i32, {samples, classes}},
                                     .low = lowest_label,
                                     .high = 1,
                                     .fill = Fill::integers,
                                     .fed = true}},
                         .tolerance = tolerance_of(type)});
    };
    loss("plain", 16, 10, {}, 0);
    loss("one_label", 9, 1, {}, 0);
    loss("padded", 7, 33, {}, -1);
    loss("weighted", 12, 4, {{0.5, 3, 0, 12}}, 0);
    loss("focal", 8, 14, {.focus = 2}, 0);
    loss("weighted_focal", 6, 3, {{1, 0.25, 8}, 0.5}, -1);
}

void add_weighted_mixing_cases(std::vector<OpCase>& cases, DType type) {
    const auto loss = [&](const char* name, std::int64_t samples, const std::vector<std::int64_t>& distances,
                          double smoothing, double low) {
        cases.push_back({.name = std::string("mixed_cross_entropy/") + name,
                         .kind = OpKind::mixed_cross_entropy,
                         .attrs = graph::MixedTargetsAttrs{smoothing, distances, {0.5, 2, 0, 0.1, 3}},
                         .inputs = {{"logits", {type, {samples, 5}}, -4, 4},
                                    labels(samples, low, 5),
                                    shares("target_shares", {samples, static_cast<std::int64_t>(distances.size())})},
                         .tolerance = tolerance_of(type)});
    };
    loss("weighted_mixup", 16, {0, 1}, 0, 0);
    loss("weighted_both_smoothed", 16, {0, 1, 2, 3}, 0.1, -1);
    loss("weighted_both_of_two", 2, {0, 1, 1, 2}, 0.1, 0);
}

}  // namespace cnntrain::test
