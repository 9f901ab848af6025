#include "cnntrain/weights/hugging_face.h"

#include <gtest/gtest.h>

#include <string>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

BertConfig parsed(const std::string& text) {
    return parse_bert_config(text, "F/config.json");
}

TEST(BertConfig, TransformersOwnFileIsRead) {
    const BertConfig config = parsed(R"({
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.2, "hidden_size": 768, "initializer_range": 0.02,
        "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
        "num_attention_heads": 12, "num_hidden_layers": 6, "pad_token_id": 0, "position_embedding_type": "absolute",
        "transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": true, "vocab_size": 30522,
        "classifier_dropout": null
    })");
    EXPECT_EQ(config.architecture, "BertForMaskedLM");
    EXPECT_EQ(config.sizes, (BertSizes{30522, 512, 2, 768, 3072, 6, 0}));
    EXPECT_EQ(config.heads, 12);
    EXPECT_TRUE(config.exact_gelu);
    EXPECT_EQ(config.norm_epsilon, 1e-12);
    EXPECT_EQ(config.hidden_dropout, 0.2);
    EXPECT_EQ(config.variables, BertVariables{});
    EXPECT_TRUE(parsed("{}").exact_gelu);
    EXPECT_EQ(parsed("{}").norm_epsilon, 1e-12);
}

TEST(BertConfig, FormsOfGelu) {
    for (const char* name : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"})
        EXPECT_FALSE(parsed(R"({"hidden_act": ")" + std::string(name) + "\"}").exact_gelu) << name;
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { parsed(R"({"hidden_act": "relu"})"); }),
                HasSubstr("F/config.json: hidden_act is 'relu'"));
}

TEST(BertConfig, ClassesAreCountedForTextsOnly) {
    const std::string names = R"("id2label": {"0": "a", "1": "b", "2": "c"})";
    EXPECT_EQ(parsed(R"({"architectures": ["BertForSequenceClassification"], )" + names + "}").sizes.classes, 3);
    EXPECT_EQ(parsed(R"({"architectures": ["BertForSequenceClassification"], )" + names + "}").class_names,
              (std::vector<std::string>{"a", "b", "c"}));
    const BertConfig tokens = parsed(R"({"architectures": ["BertForTokenClassification"], )" + names + "}");
    EXPECT_EQ(tokens.sizes.classes, 0);
    EXPECT_FALSE(tokens.classifies_texts());
    EXPECT_TRUE(parsed("{}").classifies_texts());
}

TEST(BertConfig, WhatIsWrittenIsReadAgain) {
    BertConfig config;
    config.architecture = BertConfig::kClassifying;
    config.sizes = {30400, 512, 2, 128, 512, 2, 3};
    config.heads = 2;
    config.exact_gelu = false;
    config.norm_epsilon = 0.001;
    config.variables = {false, false, false, false};
    EXPECT_EQ(parsed(to_json(config)), config);
    EXPECT_THAT(to_json(config), AllOf(HasSubstr(R"("hidden_act": "gelu_new")"),
                                       HasSubstr(R"("layer_norm_eps": 0.001)"), HasSubstr(R"("2": "LABEL_2")"),
                                       HasSubstr(R"("use_qkv_bias": false)"), Not(HasSubstr("auto_map"))));
    config.class_names = {"no", "yes", "\"perhaps\""};
    EXPECT_EQ(parsed(to_json(config)), config);
    config.class_names.clear();
    EXPECT_EQ(parsed(to_json({})), BertConfig{});
    config.architecture = kWithoutTransform;
    config.sizes.classes = 0;
    EXPECT_EQ(parsed(to_json(config)), config);
    EXPECT_THAT(
        to_json(config),
        HasSubstr(R"("AutoModelForPreTraining": "modeling_without_transform.BertForPreTrainingWithoutTransform")"));
    EXPECT_THAT(without_transform_source(), HasSubstr("class " + std::string(kWithoutTransform) + "("));
}

TEST(BertConfig, OtherNetworksAreRefused) {
    for (const char* text : {R"({"model_type": "roberta"})", R"({"position_embedding_type": "relative_key"})",
                             R"({"is_decoder": true})", R"({"add_cross_attention": true})"}) {
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { parsed(text); }), Not(IsEmpty())) << text;
    }
}

TEST(BertConfig, ValuesThatCannotBeAreNamed) {
    for (const char* text : {"",
                             "[]",
                             "7",
                             "{",
                             R"({"hidden_size": 0})",
                             R"({"hidden_size": -768})",
                             R"({"hidden_size": 1e3})",
                             R"({"vocab_size": "many"})",
                             R"({"num_attention_heads": 18446744073709551615})",
                             R"({"layer_norm_eps": 1.5})",
                             R"({"layer_norm_eps": -1e-3})",
                             R"({"hidden_dropout_prob": 1})",
                             R"({"hidden_act": 3})",
                             R"({"is_decoder": "no"})",
                             R"({"architectures": "B"})",
                             R"({"architectures": [3]})",
                             R"({"cnntrain": 1})",
                             R"({"cnntrain": {"use_qkv_bias": 1}})",
                             R"({"architectures": ["BertForSequenceClassification"], "id2label": []})",
                             R"({"architectures": ["BertForSequenceClassification"], "id2label": {}})",
                             R"({"architectures": ["BertForSequenceClassification"], "id2label": {"1": "a"}})",
                             R"({"architectures": ["BertForSequenceClassification"], "id2label": {"0": 1}})",
                             R"({"architectures": ["BertForSequenceClassification"], "num_labels": 1000000000})",
                             R"({"hidden_size": 1, "hidden_size": 2})"}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { parsed(text); }), HasSubstr("F/config.json")) << text;
    }
    EXPECT_THAT(message_of(ErrorKind::data, [&] { parsed(R"({"hidden_size": -768})"); }), HasSubstr("hidden_size"));
}

TEST(BertConfig, ARunsOptionsSayTheRest) {
    const auto arguments = parse_bert_arguments(R"({
        "hidden_act": "gelu_erf", "layer_norm_epsilon": 0.01, "num_attention_heads": 2, "hidden_size": 128,
        "vocab_size": 30400, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0, "initializer_range": 0.03,
        "num_hidden_layers": 3, "vocab_file": "v.txt", "intermediate_size": null
    })",
                                                "R/arguments.json");
    ASSERT_TRUE(arguments.has_value());
    EXPECT_TRUE(arguments->config.exact_gelu && arguments->transform);
    EXPECT_EQ(arguments->config.norm_epsilon, 0.01);
    EXPECT_EQ(arguments->config.attention_dropout, 0);
    EXPECT_EQ(arguments->config.initializer_range, 0.03);
    EXPECT_EQ(arguments->config.sizes, (BertSizes{30400, 0, 0, 128, 0, 3, 0}));
    EXPECT_EQ(arguments->vocabulary_file, "v.txt");
    const auto other = parse_bert_arguments(R"({"hidden_act": "relu", "num_attention_heads": 2})", "R/arguments.json");
    ASSERT_TRUE(other.has_value());
    EXPECT_FALSE(other->config.exact_gelu || other->transform);
    EXPECT_EQ(other->config.norm_epsilon, 1e-3);
    EXPECT_FALSE(parse_bert_arguments(R"({"model": "resnet"})", "R/arguments.json").has_value());
}

}  // namespace
}  // namespace cnntrain::weights
