#include "cnntrain/weights/hugging_face.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

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

bool all_of(const HostTensor& tensor, double value) {
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        if (tensor.at(i) != value) return false;
    }
    return true;
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

TEST(HuggingFace, ThereAndBackEveryBitStays) {
    for (const bool split : {true, false}) {
        for (const bool head : {true, false}) {
            for (const bool bias : {true, false}) {
                Checkpoint net = make_net({.split = split, .head = head, .biases = split && bias});
                if (bias) net.tensors.insert_or_assign("cls/predictions/output_bias", numbered({kWords}, 0.5));
                if (!bias) net.tensors.erase("cls/predictions/output_bias");
                const Converted theirs = to_hugging_face(net, {}, "net");
                EXPECT_THAT(theirs.left_out, IsEmpty());
                EXPECT_EQ(theirs.variables, (BertVariables{split, split && bias, split && bias, bias}));
                EXPECT_TRUE(is_hugging_face(theirs.checkpoint));
                EXPECT_FALSE(is_hugging_face(net));
                EXPECT_EQ(theirs.checkpoint.iteration, -1);
                const Converted ours = from_hugging_face(theirs.checkpoint, {.variables = theirs.variables}, "theirs");
                EXPECT_THAT(ours.left_out, IsEmpty());
                EXPECT_EQ(ours.variables, theirs.variables);
                expect_equal(net, ours.checkpoint);
            }
        }
    }
}

TEST(HuggingFace, MatricesOfDenseLayersAreTurned) {
    const Checkpoint net = make_net({});
    const Checkpoint theirs = to_hugging_face(net, {}, "net").checkpoint;
    const HostTensor& ours = net.tensors.at("bert/encoder/layer_1/intermediate/dense/kernel");
    const HostTensor& turned = theirs.tensors.at("bert.encoder.layer.1.intermediate.dense.weight");
    EXPECT_EQ(turned.shape(), (Shape{kWide, kHidden}));
    EXPECT_EQ(turned.at(2 * kHidden + 3), ours.at(3 * kWide + 2));
    EXPECT_EQ(theirs.tensors.at("cls.seq_relationship.weight").shape(), (Shape{2, kHidden}));
}

TEST(HuggingFace, ANetWithoutBiasesGetsZeros) {
    const Checkpoint theirs = to_hugging_face(make_net({.biases = false}), {}, "net").checkpoint;
    for (const char* name : {"query", "key", "value"}) {
        const HostTensor& bias =
            theirs.tensors.at("bert.encoder.layer.0.attention.self." + std::string(name) + ".bias");
        EXPECT_EQ(bias.shape(), Shape{kHidden});
        EXPECT_EQ(bias.at(0), 0);
    }
}

TEST(HuggingFace, AGroupBertIsRefusedByItsName) {
    Checkpoint net = make_net({});
    net.tensors.emplace("bert/encoder/layer_0/convolution/dwconv/weight", numbered({7, 1, kHidden}, 0));
    EXPECT_THAT(test::message_of(ErrorKind::unsupported, [&] { to_hugging_face(net, {}, "net"); }),
                HasSubstr("GroupBERT"));
}

TEST(HuggingFace, EveryHeadIsWrittenWithoutALayerInFrontOfTheWords) {
    Checkpoint net = make_net({.head = false});
    Converted theirs = to_hugging_face(net, {}, "net");
    EXPECT_THAT(theirs.left_out, IsEmpty());
    EXPECT_EQ(theirs.architecture, kWithoutTransform);
    EXPECT_TRUE(all_of(theirs.checkpoint.tensors.at("cls.predictions.bias"), 0));
    EXPECT_EQ(theirs.checkpoint.tensors.at("cls.predictions.bias").shape(), Shape{kWords});
    EXPECT_EQ(theirs.checkpoint.tensors.at("cls.seq_relationship.bias").at(1),
              net.tensors.at("cls/seq_relationship/output_bias").at(1));
    net.tensors.emplace("cls/predictions/output_bias", numbered({kWords}, 3));
    theirs = to_hugging_face(net, {}, "net");
    EXPECT_EQ(theirs.checkpoint.tensors.at("cls.predictions.bias").at(4), 7);
}

TEST(HuggingFace, AnActivationOfItsOwnInTheHeadStaysBehind) {
    const Converted theirs = to_hugging_face(make_net({}), {.transform = false}, "net");
    EXPECT_EQ(theirs.architecture, "BertForNextSentencePrediction");
    EXPECT_THAT(theirs.left_out, AllOf(SizeIs(5), Each(HasSubstr("cls/predictions/"))));
    EXPECT_TRUE(theirs.checkpoint.tensors.contains("cls.seq_relationship.weight"));
    EXPECT_FALSE(theirs.checkpoint.tensors.contains("cls.predictions.bias"));
}

TEST(HuggingFace, ArchitecturesAreThoseWithTheSameVariables) {
    const auto without = [](const std::vector<std::string>& prefixes) {
        Checkpoint net = make_net({});
        std::erase_if(net.tensors, [&](const auto& entry) {
            return std::ranges::any_of(prefixes, [&](const auto& prefix) { return entry.first.starts_with(prefix); });
        });
        return to_hugging_face(net, {}, "net");
    };
    EXPECT_EQ(without({}).architecture, "BertForPreTraining");
    EXPECT_EQ(without({"cls/seq", "bert/pooler"}).architecture, "BertForMaskedLM");
    EXPECT_EQ(without({"cls/"}).architecture, "BertModel");
    EXPECT_EQ(without({"cls/", "bert/pooler"}).architecture, "BertModel");
    EXPECT_FALSE(without({"cls/"}).checkpoint.tensors.contains("cls.predictions.bias"));
}

TEST(HuggingFace, FilesOfOtherClassesAreRead) {
    const Checkpoint whole = to_hugging_face(make_net({}), {}, "net").checkpoint;
    const auto names_without = [&](const std::vector<std::string>& parts) {
        Checkpoint file = whole;
        std::erase_if(file.tensors, [&](const auto& entry) {
            return std::ranges::any_of(parts, [&](const auto& part) { return entry.first.starts_with(part); });
        });
        std::vector<std::string> names;
        for (const auto& [name, tensor] : from_hugging_face(file, {}, "file").checkpoint.tensors) {
            if (!name.starts_with("bert/e")) names.push_back(name);
        }
        return names;
    };
    EXPECT_THAT(names_without({}), SizeIs(9));
    EXPECT_THAT(names_without({"bert.pooler", "cls.seq"}), AllOf(SizeIs(5), Each(StartsWith("cls/predictions/"))));
    EXPECT_THAT(names_without({"cls."}), AllOf(SizeIs(2), Each(StartsWith("bert/pooler/dense/"))));
    EXPECT_THAT(names_without({"bert.pooler", "cls."}), IsEmpty());
}

TEST(HuggingFace, HalfAHeadIsRefused) {
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    theirs.tensors.erase("bert.pooler.dense.weight");
    theirs.tensors.erase("cls.predictions.transform.LayerNorm.bias");
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {}, "theirs"); }),
                HasSubstr("lacks bert.pooler.dense.weight, cls.predictions.transform.LayerNorm.bias"));
}

TEST(HuggingFace, OptimiserSlotsAreCountedApart) {
    Checkpoint net = make_net({});
    net.tensors.emplace("bert/pooler/dense/bias/Momentum", numbered({kHidden}, 0));
    net.tensors.emplace("bert/encoder/layer_0/output/dense/kernel/LAMB_m", numbered({kWide, kHidden}, 0));
    net.tensors.emplace("bert/other", numbered({kHidden}, 0));
    const Converted theirs = to_hugging_face(net, {}, "net");
    EXPECT_THAT(theirs.slots, SizeIs(2));
    EXPECT_THAT(theirs.left_out, ElementsAre("bert/other"));
}

TEST(HuggingFace, AClassifierComesAlong) {
    Checkpoint net = make_net({.head = false});
    std::erase_if(net.tensors, [](const auto& entry) { return entry.first.starts_with("cls/"); });
    net.tensors.emplace("cls/classifier/output_weights", numbered({3, kHidden}, 0.5));
    net.tensors.emplace("cls/classifier/output_bias", numbered({3}, 0.25));
    const Converted theirs = to_hugging_face(net, {}, "net");
    EXPECT_THAT(theirs.left_out, IsEmpty());
    EXPECT_EQ(theirs.architecture, "BertForSequenceClassification");
    EXPECT_EQ(theirs.checkpoint.tensors.at("classifier.weight").shape(), (Shape{3, kHidden}));
    EXPECT_EQ(theirs.checkpoint.tensors.at("classifier.bias").shape(), Shape{3});
    EXPECT_FALSE(theirs.checkpoint.tensors.contains("cls.seq_relationship.weight"));
    const Converted ours = from_hugging_face(theirs.checkpoint, {}, "theirs");
    EXPECT_THAT(ours.left_out, IsEmpty());
    EXPECT_THAT(ours.without_effect, AllOf(SizeIs(2), Each(HasSubstr("key.bias"))));
    expect_equal(net, ours.checkpoint);
    const Converted without = from_hugging_face(theirs.checkpoint, {.classifier = false}, "theirs");
    EXPECT_THAT(without.left_out, ElementsAre("classifier.bias", "classifier.weight"));
    EXPECT_FALSE(to_hugging_face(make_net({}), {}, "net").checkpoint.tensors.contains("classifier.weight"));
}

TEST(HuggingFace, HalfAClassifierIsRefused) {
    Checkpoint net = make_net({});
    net.tensors.emplace("cls/classifier/output_weights", numbered({3, kHidden}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(net, {}, "net"); }),
                HasSubstr("lacks cls/classifier/output_bias"));
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    theirs.tensors.emplace("classifier.bias", numbered({3}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {}, "theirs"); }),
                HasSubstr("lacks classifier.weight"));
}

TEST(HuggingFace, OldSpellingsAndBareEncodersAreRead) {
    const Checkpoint net = make_net({.head = false});
    Checkpoint old;
    for (const auto& [name, tensor] : to_hugging_face(net, {}, "net").checkpoint.tensors) {
        if (!name.starts_with("bert.")) continue;
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
    EXPECT_THAT(ours.left_out, IsEmpty());
    EXPECT_THAT(ours.without_effect, Contains("bert.embeddings.position_ids"));
    EXPECT_TRUE(std::ranges::equal(ours.checkpoint.tensors.at("bert/embeddings/LayerNorm/beta").bytes(),
                                   net.tensors.at("bert/embeddings/LayerNorm/beta").bytes()));
}

TEST(HuggingFace, TheTableOfWordsIsCut) {
    const Checkpoint net = make_net({});
    const Checkpoint theirs = to_hugging_face(net, {}, "net").checkpoint;
    const Checkpoint cut = from_hugging_face(theirs, {.vocabulary = 3}, "theirs").checkpoint;
    EXPECT_EQ(cut.tensors.at("bert/embeddings/word_embeddings").shape(), (Shape{3, kHidden}));
    EXPECT_EQ(cut.tensors.at("cls/predictions/output_bias").shape(), Shape{3});
    EXPECT_EQ(from_hugging_face(theirs, {.vocabulary = 5}, "theirs").checkpoint.tensors.size(), net.tensors.size());
    EXPECT_THAT(refusal_of(ErrorKind::usage, [&] { from_hugging_face(theirs, {.vocabulary = 6}, "theirs"); }),
                HasSubstr("5 rows"));
}

TEST(HuggingFace, ADecoderOfItsOwnIsRefused) {
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    const HostTensor table = theirs.tensors.at("bert.embeddings.word_embeddings.weight");
    theirs.tensors.insert_or_assign("cls.predictions.decoder.weight", table);
    theirs.tensors.insert_or_assign("cls.predictions.decoder.bias", theirs.tensors.at("cls.predictions.bias"));
    EXPECT_EQ(from_hugging_face(theirs, {}, "theirs").checkpoint.tensors.count("cls/predictions/output_bias"), 1U);
    theirs.tensors.at("cls.predictions.decoder.weight").set(0, -1);
    EXPECT_THAT(refusal_of(ErrorKind::unsupported, [&] { from_hugging_face(theirs, {}, "theirs"); }), Not(IsEmpty()));
    theirs.tensors.at("cls.predictions.decoder.weight") = table;
    theirs.tensors.at("cls.predictions.decoder.bias").set(0, -1);
    EXPECT_THAT(refusal_of(ErrorKind::unsupported, [&] { from_hugging_face(theirs, {}, "theirs"); }),
                HasSubstr("cls.predictions.bias"));
    theirs.tensors.erase("cls.predictions.bias");
    EXPECT_EQ(from_hugging_face(theirs, {}, "theirs").checkpoint.tensors.at("cls/predictions/output_bias").at(0), -1);
}

TEST(HuggingFace, WhatIsMissingIsNamed) {
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    theirs.tensors.erase("bert.encoder.layer.0.output.dense.weight");
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {}, "theirs"); }),
                AllOf(HasSubstr("BERT"), HasSubstr("bert.encoder.layer.0.output.dense.weight")));
    Checkpoint resnet;
    resnet.tensors.emplace("all/fc1/weight", numbered({2, 2}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(resnet, {}, "run/ckpt-4"); }),
                HasSubstr("run/ckpt-4"));
}

// ---- what does not fit ----

/// Replaces one tensor of a sound file, and returns what an import says then.
std::string after_change(const std::string& name, HostTensor tensor, const ImportSettings& settings = {}) {
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    EXPECT_TRUE(name.find("decoder") != std::string::npos || theirs.tensors.contains(name)) << name;
    theirs.tensors.insert_or_assign(name, std::move(tensor));
    return refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, settings, "theirs"); });
}

TEST(HuggingFace, EveryShapeIsComparedBeforeAnythingIsCopied) {
    const std::string query = "bert.encoder.layer.1.attention.self.query.weight";
    for (const bool split : {true, false}) {
        const ImportSettings settings{.variables = {.qkv_split = split}, .vocabulary = 3};
        EXPECT_THAT(after_change(query, numbered({8, kHidden}, 0), settings), HasSubstr(query));
        EXPECT_THAT(after_change(query, numbered({2, kHidden}, 0), settings), HasSubstr("expected [4, 4]"));
        EXPECT_THAT(after_change(query, numbered({}, 0), settings), HasSubstr("[4, 4]"));
        EXPECT_THAT(after_change(query, numbered({kHidden, kHidden, 1}, 0), settings), HasSubstr("f32[4, 4, 1]"));
        EXPECT_THAT(after_change(query, numbered({0, kHidden}, 0), settings), HasSubstr("f32[0, 4]"));
        EXPECT_THAT(after_change("cls.predictions.bias", numbered({2}, 0), settings), HasSubstr("expected [5]"));
        EXPECT_THAT(after_change("cls.predictions.bias", numbered({}, 0), settings), HasSubstr("expected [5]"));
        EXPECT_THAT(after_change("cls.predictions.decoder.bias", numbered({kWords + 1}, 0), settings),
                    HasSubstr("decoder.bias"));
        EXPECT_THAT(after_change("cls.predictions.decoder.weight", numbered({kHidden, kWords}, 0), settings),
                    HasSubstr("expected [5, 4]"));
        EXPECT_THAT(after_change("cls.seq_relationship.weight", numbered({3, kHidden}, 0), settings),
                    HasSubstr("expected [2, 4]"));
        EXPECT_THAT(after_change("bert.embeddings.word_embeddings.weight", numbered({kWords}, 0), settings),
                    HasSubstr("expected [vocab_size, hidden_size]"));
        EXPECT_THAT(after_change("bert.encoder.layer.0.intermediate.dense.bias", numbered({kWide + 1}, 0), settings),
                    HasSubstr("expected [6]"));
    }
}

TEST(HuggingFace, WeightsOfOtherTypesThanFloatsAreRefused) {
    for (const DType type : {DType::i32, DType::i64, DType::u8}) {
        const std::string what = std::string(cnntrain::name(type));
        EXPECT_THAT(after_change("bert.embeddings.word_embeddings.weight", HostTensor({type, {kWords, kHidden}})),
                    HasSubstr(what + "[5, 4]"));
        EXPECT_THAT(after_change("bert.encoder.layer.0.attention.self.key.weight", HostTensor({type, {4, 4}})),
                    HasSubstr("key.weight is " + what));
        EXPECT_THAT(after_change("bert.encoder.layer.0.attention.self.key.bias", HostTensor({type, {4}})),
                    HasSubstr("key.bias is " + what));
        Checkpoint net = make_net({});
        net.tensors.insert_or_assign("bert/pooler/dense/bias", HostTensor({type, {kHidden}}));
        EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(net, {}, "net"); }),
                    HasSubstr("bert/pooler/dense/bias is " + what));
    }
}

TEST(HuggingFace, QueriesKeysAndValuesOfOneTypeAreJoined) {
    const HostTensor half = numbered({kHidden, kHidden}, 0).cast(DType::bf16);
    const std::string key = "bert.encoder.layer.1.attention.self.key.weight";
    EXPECT_THAT(after_change(key, half, {.variables = {.qkv_split = false}}), HasSubstr("1 have"));
    EXPECT_EQ(after_change(key, half), "");
}

TEST(HuggingFace, NumbersOfLayersAreCounted) {
    const auto with_layer = [](const std::string& number) {
        Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
        theirs.tensors.emplace("bert.encoder.layer." + number + ".output.dense.bias", numbered({kHidden}, 0));
        return refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {}, "theirs"); });
    };
    EXPECT_THAT(with_layer("4000000000"),
                AllOf(HasSubstr("numbered 0 to 2"), HasSubstr("bert.encoder.layer.4000000000")));
    EXPECT_THAT(with_layer("9223372036854775807"), HasSubstr("numbered 0 to 2"));
    EXPECT_THAT(with_layer("2"), HasSubstr("bert.encoder.layer.2.attention.self.query.weight"));
    EXPECT_EQ(with_layer("99999999999999999999"), "");  // no number: a tensor without a place
    EXPECT_EQ(with_layer("01"), "");
    Checkpoint net = make_net({});
    net.tensors.emplace("bert/encoder/layer_4000000000/output/dense/bias", numbered({kHidden}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(net, {}, "net"); }), HasSubstr("numbered 0 to 2"));
}

TEST(HuggingFace, OurOwnShapesAreComparedToo) {
    const auto changed = [](const std::string& name, const Shape& shape) {
        Checkpoint net = make_net({.split = false, .biases = false});
        EXPECT_TRUE(net.tensors.contains(name)) << name;
        net.tensors.insert_or_assign(name, numbered(shape, 0));
        return refusal_of(ErrorKind::data, [&] { to_hugging_face(net, {}, "net"); });
    };
    const std::string joined = "bert/encoder/layer_0/attention/self/kernel/qkv_weight";
    EXPECT_THAT(changed(joined, {kHidden, 2 * kHidden}), HasSubstr("f32[4, 8], expected [4, 12]"));
    EXPECT_THAT(changed(joined, {kHidden, 3 * kHidden + 1}), HasSubstr("expected [4, 12]"));
    EXPECT_THAT(changed(joined, {3 * kHidden}), HasSubstr("expected [4, 12]"));
    EXPECT_THAT(changed("bert/encoder/layer_1/output/dense/kernel", {kHidden, kWide}), HasSubstr("expected [6, 4]"));
    EXPECT_THAT(changed("cls/predictions/output_bias", {kWords - 1}), HasSubstr("expected [5]"));
    Checkpoint both = make_net({.split = false});
    both.tensors.emplace("bert/encoder/layer_0/attention/self/key/kernel", numbered({kHidden, kHidden}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(both, {}, "net"); }), HasSubstr("both"));
}

TEST(HuggingFace, OneTensorInTwoSpellingsIsRefused) {
    Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    theirs.tensors.emplace("pooler.dense.bias", numbered({kHidden}, 0));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {}, "theirs"); }),
                HasSubstr("bert.pooler.dense.bias"));
}

TEST(HuggingFace, ZerosOfBiasesThatTheNetworkLacksAreLeftOut) {
    const Checkpoint zeros = to_hugging_face(make_net({.biases = false}), {}, "net").checkpoint;
    const ImportSettings without{.variables = {.qkv_bias = false, .projection_bias = false}};
    EXPECT_THAT(from_hugging_face(zeros, without, "theirs").without_effect, SizeIs(2 + 4 + 2));
    Checkpoint trained = zeros;  // a bias that is not 0 changes results
    trained.tensors.at("bert.encoder.layer.1.attention.self.value.bias").set(2, 0.5);
    const Converted ours = from_hugging_face(trained, without, "theirs");
    EXPECT_TRUE(ours.variables.qkv_bias);
    EXPECT_TRUE(ours.checkpoint.tensors.contains("bert/encoder/layer_0/attention/self/query/bias"));
    EXPECT_FALSE(ours.variables.projection_bias);
    EXPECT_FALSE(ours.checkpoint.tensors.contains("bert/encoder/layer_0/attention/projection/dense/bias"));
}

TEST(HuggingFace, SizesThatTheFileBesideItSaysAreCompared) {
    const Checkpoint theirs = to_hugging_face(make_net({}), {}, "net").checkpoint;
    const auto said = [&](const BertSizes& sizes) {
        return refusal_of(ErrorKind::data, [&] { from_hugging_face(theirs, {.sizes = sizes}, "theirs"); });
    };
    EXPECT_EQ(said({kWords, 3, 2, kHidden, kWide, 2, 7}), "");  // it has no classifier
    EXPECT_THAT(said({.vocabulary = 30522}), HasSubstr("config.json"));
    EXPECT_THAT(said({.layers = 3}), HasSubstr("num_hidden_layers 3"));
    EXPECT_THAT(said({.intermediate = 5}), HasSubstr("intermediate_size 5"));
    EXPECT_THAT(refusal_of(ErrorKind::data, [&] { to_hugging_face(make_net({}), {.sizes = {.hidden = 8}}, "net"); }),
                HasSubstr("arguments.json"));
}

}  // namespace
}  // namespace cnntrain::weights
