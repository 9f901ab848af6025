#include "cnntrain/checkpoint/hugging_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cnntrain/base/error.h"

namespace cnntrain::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kHidden = 4;
constexpr std::int64_t kWide = 6;
constexpr std::int64_t kWords = 5;

/// Numbers that are all different.
HostTensor numbered(const Shape& shape, double start) {
    HostTensor tensor({DType::f32, shape});
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, start + static_cast<double>(i));
    return tensor;
}

struct Net {
    bool split = true;
    bool head = true;
    bool biases = true;  // of queries, values and the projection
};

Checkpoint make_net(const Net& net) {
    Checkpoint result;
    result.iteration = 7;
    const auto add = [&](const std::string& name, const Shape& shape) {
        result.tensors.emplace(name, numbered(shape, 1000.0 * static_cast<double>(result.tensors.size())));
    };
    const auto norm = [&](const std::string& scope) {
        add(scope + "/LayerNorm/gamma", {kHidden});
        add(scope + "/LayerNorm/beta", {kHidden});
    };
    add("bert/embeddings/word_embeddings", {kWords, kHidden});
    add("bert/embeddings/position_embeddings", {3, kHidden});
    add("bert/embeddings/token_type_embeddings", {2, kHidden});
    norm("bert/embeddings");
    for (const char* layer : {"bert/encoder/layer_0", "bert/encoder/layer_1"}) {
        const std::string scope = layer;
        const std::string self = scope + "/attention/self/";
        if (!net.split) add(self + "kernel/qkv_weight", {kHidden, 3 * kHidden});
        for (const char* part : {"query", "key", "value"}) {
            if (net.split) add(self + part + "/kernel", {kHidden, kHidden});
        }
        if (net.biases) {
            add(self + "query/bias", {kHidden});
            add(self + "value/bias", {kHidden});
            add(scope + "/attention/projection/dense/bias", {kHidden});
        }
        add(scope + "/attention/projection/dense/kernel", {kHidden, kHidden});
        norm(scope + "/attention/projection");
        add(scope + "/intermediate/dense/kernel", {kHidden, kWide});
        add(scope + "/intermediate/dense/bias", {kWide});
        add(scope + "/output/dense/kernel", {kWide, kHidden});
        add(scope + "/output/dense/bias", {kHidden});
        norm(scope + "/output");
    }
    add("bert/pooler/dense/kernel", {kHidden, kHidden});
    add("bert/pooler/dense/bias", {kHidden});
    add("cls/seq_relationship/output_weights", {2, kHidden});
    add("cls/seq_relationship/output_bias", {2});
    if (!net.head) return result;
    add("cls/predictions/transform/dense/kernel", {kHidden, kHidden});
    add("cls/predictions/transform/dense/bias", {kHidden});
    norm("cls/predictions/transform");
    add("cls/predictions/output_bias", {kWords});
    return result;
}

void expect_equal(const Checkpoint& one, const Checkpoint& other) {
    ASSERT_EQ(one.tensors.size(), other.tensors.size());
    for (const auto& [name, tensor] : one.tensors) {
        ASSERT_TRUE(other.tensors.contains(name)) << name;
        EXPECT_EQ(tensor.desc(), other.tensors.at(name).desc()) << name;
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), other.tensors.at(name).bytes())) << name;
    }
}

std::string message_of(const std::function<void()>& work, ErrorKind kind) {
    try {
        work();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind);
        return error.what();
    }
    return "no error";
}

TEST(HuggingFace, ThereAndBackEveryBitStays) {
    for (const bool split : {true, false}) {
        const Checkpoint net = make_net({.split = split, .biases = split});
        Converted theirs = to_hugging_face(net, "net");
        EXPECT_THAT(theirs.left_out, ElementsAre());
        EXPECT_TRUE(is_hugging_face(theirs.checkpoint));
        EXPECT_FALSE(is_hugging_face(net));
        EXPECT_EQ(theirs.checkpoint.iteration, -1);
        Converted ours = from_hugging_face(theirs.checkpoint, {.qkv_split = split}, "theirs");
        EXPECT_EQ(ours.left_out.size(), 2U);  // biases of keys
        if (!split) {
            std::erase_if(ours.checkpoint.tensors,
                          [&](const auto& entry) { return !net.tensors.contains(entry.first); });
        }
        expect_equal(net, ours.checkpoint);
    }
}

TEST(HuggingFace, MatricesOfDenseLayersAreTurned) {
    const Checkpoint net = make_net({});
    const Checkpoint theirs = to_hugging_face(net, "net").checkpoint;
    const HostTensor& ours = net.tensors.at("bert/encoder/layer_1/intermediate/dense/kernel");
    const HostTensor& turned = theirs.tensors.at("bert.encoder.layer.1.intermediate.dense.weight");
    EXPECT_EQ(turned.shape(), (Shape{kWide, kHidden}));
    EXPECT_EQ(turned.at(2 * kHidden + 3), ours.at(3 * kWide + 2));
    EXPECT_EQ(theirs.tensors.at("cls.seq_relationship.weight").shape(), (Shape{2, kHidden}));
}

TEST(HuggingFace, ANetWithoutBiasesGetsZeros) {
    const Checkpoint theirs = to_hugging_face(make_net({.biases = false}), "net").checkpoint;
    for (const char* name : {"query", "key", "value"}) {
        const HostTensor& bias =
            theirs.tensors.at("bert.encoder.layer.0.attention.self." + std::string(name) + ".bias");
        EXPECT_EQ(bias.shape(), Shape{kHidden});
        EXPECT_EQ(bias.at(0), 0);
    }
}

TEST(HuggingFace, WithoutALayerInTheHeadTheEncoderIsWritten) {
    const Converted theirs = to_hugging_face(make_net({.head = false}), "net");
    EXPECT_THAT(theirs.left_out,
                ElementsAre("cls/seq_relationship/output_bias", "cls/seq_relationship/output_weights"));
    for (const auto& [name, tensor] : theirs.checkpoint.tensors)
        EXPECT_TRUE(name.starts_with("bert.")) << name;
}

TEST(HuggingFace, AClassifierComesAlong) {
    Checkpoint net = make_net({.head = false});
    std::erase_if(net.tensors, [](const auto& entry) { return entry.first.starts_with("cls/"); });
    net.tensors.emplace("cls/classifier/output_weights", numbered({3, kHidden}, 0.5));
    net.tensors.emplace("cls/classifier/output_bias", numbered({3}, 0.25));
    const Converted theirs = to_hugging_face(net, "net");
    EXPECT_THAT(theirs.left_out, ElementsAre());
    EXPECT_EQ(theirs.checkpoint.tensors.at("classifier.weight").shape(), (Shape{3, kHidden}));
    EXPECT_EQ(theirs.checkpoint.tensors.at("classifier.bias").shape(), Shape{3});
    EXPECT_FALSE(theirs.checkpoint.tensors.contains("cls.seq_relationship.weight"));
    const Converted ours = from_hugging_face(theirs.checkpoint, {}, "theirs");
    EXPECT_THAT(ours.left_out, Each(HasSubstr("key.bias")));
    expect_equal(net, ours.checkpoint);
    EXPECT_FALSE(to_hugging_face(make_net({}), "net").checkpoint.tensors.contains("classifier.weight"));
}

TEST(HuggingFace, HalfAClassifierIsRefused) {
    Checkpoint net = make_net({});
    net.tensors.emplace("cls/classifier/output_weights", numbered({3, kHidden}, 0));
    EXPECT_THAT(message_of([&] { to_hugging_face(net, "net"); }, ErrorKind::data),
                HasSubstr("lacks cls/classifier/output_bias"));
    Checkpoint theirs = to_hugging_face(make_net({}), "net").checkpoint;
    theirs.tensors.emplace("classifier.bias", numbered({3}, 0));
    EXPECT_THAT(message_of([&] { from_hugging_face(theirs, {}, "theirs"); }, ErrorKind::data),
                HasSubstr("lacks classifier.weight"));
}

TEST(HuggingFace, OldSpellingsAndBareEncodersAreRead) {
    const Checkpoint net = make_net({.head = false});
    Checkpoint old;
    for (const auto& [name, tensor] : to_hugging_face(net, "net").checkpoint.tensors) {
        std::string spelled = name.substr(std::string("bert.").size());
        const auto replace = [&](std::string_view now, std::string_view before) {
            if (spelled.ends_with(now)) spelled.replace(spelled.size() - now.size(), now.size(), before);
        };
        replace("LayerNorm.weight", "LayerNorm.gamma");
        replace("LayerNorm.bias", "LayerNorm.beta");
        old.tensors.emplace(spelled, tensor);
    }
    old.tensors.emplace("embeddings.position_ids", HostTensor({DType::i64, {1, 3}}));
    const Converted ours = from_hugging_face(old, {}, "old");
    EXPECT_THAT(ours.left_out, ::testing::Contains("bert.embeddings.position_ids"));
    EXPECT_TRUE(std::ranges::equal(ours.checkpoint.tensors.at("bert/embeddings/LayerNorm/beta").bytes(),
                                   net.tensors.at("bert/embeddings/LayerNorm/beta").bytes()));
}

TEST(HuggingFace, TheTableOfWordsIsCut) {
    const Checkpoint net = make_net({});
    const Checkpoint theirs = to_hugging_face(net, "net").checkpoint;
    const Checkpoint cut = from_hugging_face(theirs, {.vocabulary = 3}, "theirs").checkpoint;
    EXPECT_EQ(cut.tensors.at("bert/embeddings/word_embeddings").shape(), (Shape{3, kHidden}));
    EXPECT_EQ(cut.tensors.at("cls/predictions/output_bias").shape(), Shape{3});
    EXPECT_THAT(message_of([&] { from_hugging_face(theirs, {.vocabulary = 6}, "theirs"); }, ErrorKind::usage),
                HasSubstr("has 5 rows, and not 6"));
}

TEST(HuggingFace, ADecoderOfItsOwnIsRefused) {
    Checkpoint theirs = to_hugging_face(make_net({}), "net").checkpoint;
    const HostTensor table = theirs.tensors.at("bert.embeddings.word_embeddings.weight");
    theirs.tensors.insert_or_assign("cls.predictions.decoder.weight", table);
    theirs.tensors.insert_or_assign("cls.predictions.decoder.bias", theirs.tensors.at("cls.predictions.bias"));
    EXPECT_EQ(from_hugging_face(theirs, {}, "theirs").checkpoint.tensors.count("cls/predictions/output_bias"), 1U);
    theirs.tensors.at("cls.predictions.decoder.weight").set(0, -1);
    EXPECT_THAT(message_of([&] { from_hugging_face(theirs, {}, "theirs"); }, ErrorKind::unsupported),
                HasSubstr("is not the table of words"));
}

TEST(HuggingFace, WhatIsMissingIsNamed) {
    Checkpoint theirs = to_hugging_face(make_net({}), "net").checkpoint;
    theirs.tensors.erase("bert.encoder.layer.0.output.dense.weight");
    EXPECT_THAT(message_of([&] { from_hugging_face(theirs, {}, "theirs"); }, ErrorKind::data),
                AllOf(HasSubstr("theirs is not a whole BERT"), HasSubstr("bert.encoder.layer.0.output.dense.weight")));
    Checkpoint resnet;
    resnet.tensors.emplace("all/fc1/weight", numbered({2, 2}, 0));
    EXPECT_THAT(message_of([&] { to_hugging_face(resnet, "run/ckpt-4"); }, ErrorKind::data),
                HasSubstr("run/ckpt-4 is not a checkpoint of a BERT network"));
}

}  // namespace
}  // namespace cnntrain::checkpoint
