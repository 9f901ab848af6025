#include "cnntrain/weights/hugging_face.h"

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

/// A configuration as timm writes it; `more` and `pretrained` are further keys.
std::string config(const std::string& more = "", const std::string& pretrained = "") {
    return R"({"architecture": "tf_efficientnet_b0", "num_classes": 2, "num_features": 1280, "global_pool": "avg")" +
           more + R"(, "pretrained_cfg": {"tag": "in1k", "input_size": [3, 224, 224], "crop_pct": 0.875,
           "interpolation": "bicubic", "crop_mode": "center", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.25, 0.5],
           "first_conv": "conv_stem")" +
           pretrained + "}}";
}

TEST(TimmConfig, HasTheArchitectureAndItsImages) {
    const auto read = parse_timm_config(config(), "config.json");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->architecture, "tf_efficientnet_b0");
    EXPECT_EQ(read->classes, 2);
    EXPECT_TRUE(read->class_names.empty());
    EXPECT_EQ(read->image_size, 224);
    EXPECT_EQ(read->crop_fraction, 0.875);
    EXPECT_EQ(read->interpolation, "bicubic");
    EXPECT_EQ(read->crop_mode, "center");
    EXPECT_THAT(read->mean, ElementsAre(0.5, 0.5, 0.5));
    EXPECT_THAT(read->deviation, ElementsAre(0.5, 0.25, 0.5));
}

TEST(TimmConfig, TheDocumentPrecedesItsPart) {
    const auto read = parse_timm_config(config(R"(, "label_names": ["ant", "bee"])", R"(, "label_names": ["x", "y"])"),
                                        "config.json");
    EXPECT_THAT(read->class_names, ElementsAre("ant", "bee"));
}

TEST(TimmConfig, AnotherProgramsFileIsNone) {
    EXPECT_FALSE(parse_timm_config(R"({"model_type": "bert", "hidden_size": 128})", "config.json").has_value());
    EXPECT_FALSE(parse_timm_config("[]", "config.json").has_value());
}

TEST(TimmConfig, ValuesWithoutSenseAreErrors) {
    const auto message = [](const std::string& text) {
        return message_of(ErrorKind::data, [&] { parse_timm_config(text, "F"); });
    };
    EXPECT_THAT(message("{"), HasSubstr("F: "));
    EXPECT_THAT(message(config(R"(, "crop_pct": 1.5)")), HasSubstr("crop_pct"));
    EXPECT_THAT(message(config(R"(, "crop_pct": 0)")), HasSubstr("crop_pct"));
    EXPECT_THAT(message(config(R"(, "std": [0, 1, 1])")), HasSubstr("F: std cannot be [0,1,1]"));
    EXPECT_THAT(message(config(R"(, "mean": [1, 1])")), HasSubstr("[1,1]"));
    EXPECT_THAT(message(config(R"(, "input_size": [3, 224, 192])")), HasSubstr("input_size cannot be [3,224,192]"));
    EXPECT_THAT(message(config(R"(, "input_size": [1, 28, 28])")), HasSubstr("input_size cannot be [1,28,28]"));
    EXPECT_THAT(message(config(R"(, "label_names": ["ant"])")), HasSubstr("label_names"));
    EXPECT_THAT(message(config(R"(, "label_names": [1, 2])")), HasSubstr("label_names"));
}

}  // namespace
}  // namespace cnntrain::weights
