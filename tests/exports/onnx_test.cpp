// ONNX files: what is in them, what they compute, what is refused.
#include <algorithm>
#include <cmath>
#include <set>

#include "cnntrain/base/io.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/passes.h"
#include "exports/network.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

constexpr double kBf16Rounding = 5e-2;  // an eighth of float16's precision

std::vector<std::string> operators(const OnnxModel& model) {
    std::vector<std::string> names;
    for (const OnnxNode& node : model.nodes)
        names.push_back(node.op);
    return names;
}

nn::NetworkSettings small(nn::Family family, const std::string& size, nn::NetworkForm form, nn::NormKind norm) {
    nn::NetworkSettings model;
    model.family = family;
    model.size = size;
    model.form = form;
    model.norm = norm;
    model.groups = 4;
    model.classes = 5;
    model.image_size = 32;
    return model;
}

class EveryNetwork : public ::testing::TestWithParam<int> {
protected:
    static nn::NetworkSettings settings() {
        using enum nn::Family;
        using enum nn::NetworkForm;
        using enum nn::NormKind;
        std::vector<nn::NetworkSettings> all = {
            small(resnet, "8", small_images, batch),           small(resnet, "11", small_images, group),
            small(resnet, "10", large_images, batch),          small(resnet, "14", large_images, batch),
            small(resnext, "14", large_images, batch),         small(efficientnet, "CIFAR", small_images, batch),
            small(efficientnet, "B0", large_images, group),    small(efficientnet, "CIFAR", small_images, batch),
            small(efficientnet, "Lite0", large_images, batch), small(efficientnet, "V2-B0", large_images, batch)};
        all[3].padding = nn::PaddingRule::symmetric;
        all[3].bottleneck_stride = nn::BottleneckStride::first;
        all[4].resnext.convolution_groups = 8;
        all[5].efficientnet.group_dim = 4;
        all[7].efficientnet.proxy_norm = true;
        for (const std::size_t i : {8, 9})
            all[i].efficientnet.depth_coefficient = 0.1;  // one block for each stage
        return all.at(static_cast<std::size_t>(GetParam()));
    }
    /// Tolerance of the answers: differences of rounding grow from layer to layer where no norms are taken over the
    /// images, as with proxies.
    static double rounding() { return settings().efficientnet.proxy_norm ? 1e-3 : 1e-5; }
};

TEST_P(EveryNetwork, AFileAnswersAsTheNetworkInEveryTypeOfWeights) {
    const TestNetwork network = image_network(settings(), 3);
    EXPECT_LT(apart(to_onnx(network.part(), {}), network.samples), rounding());
    if (settings().efficientnet.proxy_norm) return;
    EXPECT_LT(apart(to_onnx(network.part(), {.weights = OnnxWeights::f16}), network.samples), 1e-2);
    EXPECT_LT(apart(to_onnx(network.part(), {.weights = OnnxWeights::bf16}), network.samples), kBf16Rounding);
}

TEST_P(EveryNetwork, EveryStoredTensorIsRead) {
    const TestNetwork network = image_network(settings(), 1);
    const OnnxModel model = to_onnx(network.part(), {});
    std::set<std::string> read;
    for (const OnnxNode& node : model.nodes)
        read.insert(node.inputs.begin(), node.inputs.end());
    for (const OnnxTensor& tensor : model.tensors)
        EXPECT_TRUE(read.contains(tensor.name)) << tensor.name;
}

/// Folding changes the numbers by rounding alone.
TEST_P(EveryNetwork, NormsFoldedIntoConvolutionsAnswerTheSame) {
    TestNetwork network = image_network(settings(), 2);
    const OnnxModel plain = to_onnx(network.part(), {});
    network.graph = graph::fold_inference_norms(network.graph);
    const auto images = network.graph.find("images");
    network.inputs[0].value = *images;
    network.outputs[0].value = network.graph.outputs().back().value;
    ASSERT_EQ(network.graph.outputs().back().name, "logits");
    const OnnxModel folded = to_onnx(network.part(), {});
    if (settings().norm == nn::NormKind::batch && !settings().efficientnet.proxy_norm) {
        EXPECT_THAT(operators(plain), Contains("BatchNormalization"));
        EXPECT_THAT(operators(folded), Not(Contains("BatchNormalization")));
    }
    EXPECT_LT(apart(to_onnx(network.part(), {}), network.samples), rounding());
}

/// All values have the same bits, so the answers mean nothing, but each number counts.
graph::Graph in_eight_bits(const graph::Graph& graph) {
    const graph::Graph folded = graph::with_folded_norms(graph);
    graph::EightBitPlan plan;
    for (const graph::ValueId value : graph::eight_bit_values(folded)) {
        const graph::NodeId producer = folded.value(value).producer;
        const auto* const conv =
            producer.valid() ? std::get_if<graph::ConvAttrs>(&folded.node(producer).attrs) : nullptr;
        const bool is_positive = conv != nullptr && conv->activation != graph::Activation::none &&
                                 graph::is_piecewise_linear(conv->activation);
        plan.bits[folded.value(value).name] = is_positive ? graph::EightBits{0.02, 0} : graph::EightBits{0.04, 120};
    }
    return graph::in_eight_bits(folded, plan);
}

TEST_P(EveryNetwork, InEightBitsAFileAnswersAlmostAsTheNetwork) {
    const TestNetwork network = image_network(settings(), 3, in_eight_bits);
    if (graph::eight_bit_layers(graph::with_folded_norms(image_network(settings(), 1).graph)).empty())
        GTEST_SKIP() << "no convolution has a bias";
    if (settings().efficientnet.proxy_norm) GTEST_SKIP() << "its answers to such values change with every rounding";
    const OnnxModel model = to_onnx(network.part(), {});
    EXPECT_THAT(operators(model), Contains("QuantizeLinear"));
    EXPECT_THAT(operators(model), Contains("DequantizeLinear"));
    EXPECT_TRUE(std::ranges::any_of(model.tensors,
                                    [](const OnnxTensor& tensor) { return tensor.tensor.dtype() == DType::i8; }));
    EXPECT_LT(apart(model, network.samples), 0.1);
    EXPECT_EQ(kind_of([&] { to_onnx(network.part(), {.weights = OnnxWeights::f16}); }), ErrorKind::unsupported);
}

INSTANTIATE_TEST_SUITE_P(Exports, EveryNetwork, ::testing::Range(0, 10));

class Onnx : public ::testing::Test {
protected:
    static nn::NetworkSettings tiny() {
        return small(nn::Family::resnet, "8", nn::NetworkForm::small_images, nn::NormKind::batch);
    }
    static const TestNetwork& network() {
        static const TestNetwork made = image_network(tiny(), 2);
        return made;
    }
};

TEST_F(Onnx, InputsAndOutputsHaveAFreeNumberOfSamples) {
    const OnnxModel model = to_onnx(network().part(), {.probabilities = "probabilities"});
    ASSERT_EQ(model.inputs.size(), 1U);
    EXPECT_EQ(model.inputs[0].name, "images");
    EXPECT_EQ(model.inputs[0].shape.at(0).name, "batch");
    EXPECT_EQ(model.inputs[0].shape.at(1).size, 3);
    EXPECT_EQ(model.inputs[0].shape.at(2).size, 32);
    ASSERT_EQ(model.outputs.size(), 2U);
    EXPECT_EQ(model.outputs[0].name, "logits");
    EXPECT_EQ(model.outputs[1].name, "probabilities");
    EXPECT_EQ(model.outputs[1].shape.at(0).name, "batch");
    EXPECT_EQ(model.outputs[1].shape.at(1).size, 5);
    EXPECT_EQ(model.opset, kOpset);
}

TEST_F(Onnx, ProbabilitiesAreTheSoftmaxOfTheLogits) {
    const OnnxModel model = to_onnx(network().part(), {.probabilities = "probabilities"});
    const auto answers = answers_of(model, network().samples);
    const HostTensor& logits = network().samples.outputs.at("logits");
    for (std::int64_t row = 0; row < 2; ++row) {
        double sum = 0;
        for (std::int64_t i = 0; i < 5; ++i)
            sum += std::exp(logits.at(row * 5 + i));
        for (std::int64_t i = 0; i < 5; ++i)
            EXPECT_NEAR(answers.at("probabilities").at(row * 5 + i), std::exp(logits.at(row * 5 + i)) / sum, 1e-5);
    }
}

TEST_F(Onnx, WhatIsWrittenIsRead) {
    OnnxModel model =
        to_onnx(network().part(), {.metadata = {{"classes", "[\"\\\"a\\\"\",\"</b>\",\"\u00e4\\n\"]"}, {"empty", ""}}});
    model.producer_version = "1";
    const OnnxModel read = decode(encode(model));
    EXPECT_EQ(read.metadata, model.metadata);
    EXPECT_EQ(read.producer_version, "1");
    ASSERT_EQ(read.nodes.size(), model.nodes.size());
    for (std::size_t i = 0; i < model.nodes.size(); ++i) {
        EXPECT_EQ(read.nodes[i].op, model.nodes[i].op);
        EXPECT_EQ(read.nodes[i].inputs, model.nodes[i].inputs);
        EXPECT_EQ(read.nodes[i].attributes, model.nodes[i].attributes);
    }
    ASSERT_EQ(read.tensors.size(), model.tensors.size());
    for (std::size_t i = 0; i < model.tensors.size(); ++i)
        EXPECT_TRUE(std::ranges::equal(read.tensors[i].tensor.bytes(), model.tensors[i].tensor.bytes()));
    EXPECT_EQ(encode(model), encode(read));
}

TEST_F(Onnx, WeightsAreStoredAsAsked) {
    const auto stored = [&](OnnxWeights weights) {
        std::set<DType> types;
        for (const OnnxTensor& tensor : to_onnx(network().part(), {.weights = weights}).tensors)
            if (tensor.tensor.shape().size() >= 2) types.insert(tensor.tensor.dtype());
        return types;
    };
    EXPECT_EQ(stored(OnnxWeights::f32), std::set{DType::f32});
    EXPECT_EQ(stored(OnnxWeights::f16), std::set{DType::f16});
    EXPECT_EQ(stored(OnnxWeights::bf16), std::set{DType::bf16});
}

TEST_F(Onnx, WeightsBeyondFloat16AreRefused) {
    TestNetwork large = image_network(tiny(), 1);
    large.variables.at("all/fc1/weight").set(3, 1e6);
    EXPECT_THAT(test::message_of(ErrorKind::unsupported, [&] { to_onnx(large.part(), {.weights = OnnxWeights::f16}); }),
                HasSubstr("all/fc1/weight holds 1000000"));
    EXPECT_FALSE(to_onnx(large.part(), {.weights = OnnxWeights::bf16}).nodes.empty());
}

/// Every float of the file matters, and so does every node: the comparison notices one that is wrong.
TEST_F(Onnx, AWrongModelAnswersOtherwise) {
    const OnnxModel sound = to_onnx(network().part(), {});
    const auto differs = [&](const OnnxModel& model) { return apart(model, network().samples) > kTolerance; };
    EXPECT_FALSE(differs(sound));
    for (const char* name : {"all/stage0/conv0/weight", "all/stage2/unit1/conv2/weight", "all/fc1/bias"}) {
        OnnxModel model = sound;
        const auto found = std::ranges::find(model.tensors, name, &OnnxTensor::name);
        ASSERT_NE(found, model.tensors.end()) << name;
        found->tensor.set(0, found->tensor.at(0) + 0.5);
        EXPECT_TRUE(differs(model)) << name;
    }
    OnnxModel turned = sound;
    for (OnnxNode& node : turned.nodes)
        if (node.op == "Relu") node.op = "Tanh";
    EXPECT_TRUE(differs(turned));
    OnnxModel nan = sound;
    std::ranges::find(nan.tensors, "all/fc1/bias", &OnnxTensor::name)->tensor.set(0, std::nan(""));
    EXPECT_TRUE(differs(nan));
    OnnxModel padded = sound;
    std::ranges::find(padded.nodes, "all/stage2/unit1/conv1", &OnnxNode::name)->attributes["pads"] =
        std::vector<std::int64_t>{1, 1, 0, 0};
    EXPECT_TRUE(differs(padded));
    OnnxModel unknown = sound;
    unknown.outputs[0].name = unknown.nodes[0].outputs[0];
    EXPECT_TRUE(differs(unknown));
}

TEST_F(Onnx, WeightsThatWouldAnswerOtherwiseAreNotWritten) {
    MemoryFiles files;
    write_text(files, "run/a", "an earlier one");
    const auto write = [](FileSystem& memory) { write_text(memory, "run/a", "wrong"); };
    const auto answers = [&](const FileSystem&) {
        Outputs outputs = network().samples.outputs;
        outputs.at("logits").set(0, outputs.at("logits").at(0) + 1);
        return outputs;
    };
    EXPECT_THAT(test::message_of(ErrorKind::data,
                                 [&] { write_if_same(files, {"run/a"}, network().samples.outputs, write, answers); }),
                HasSubstr("run/a"));
    EXPECT_EQ(read_text(files, "run/a"), "an earlier one");
}

TEST_F(Onnx, AFullDiskLeavesWhatWasThere) {
    MemoryFiles files(1000);
    write_text(files, "run/a", "an earlier one");
    const auto write = [](FileSystem& memory) { write_text(memory, "run/a", std::string(2000, 'x')); };
    const auto answers = [&](const FileSystem&) { return network().samples.outputs; };
    EXPECT_THAT(test::message_of(ErrorKind::storage,
                                 [&] { write_if_same(files, {"run/a"}, network().samples.outputs, write, answers); }),
                HasSubstr("run/a"));
    EXPECT_EQ(read_text(files, "run/a"), "an earlier one");
}

TEST_F(Onnx, DamagedFilesAreErrors) {
    const std::string sound = encode(to_onnx(network().part(), {}));
    EXPECT_THAT(test::message_of(ErrorKind::data, [&] { decode(sound.substr(0, sound.size() / 2)); }),
                HasSubstr("short"));
    EXPECT_THAT(test::message_of(ErrorKind::data, [] { decode(""); }), HasSubstr("ONNX"));
    OnnxModel model = to_onnx(network().part(), {});
    model.nodes[3].inputs[0] = "nowhere";
    EXPECT_THAT(test::message_of(ErrorKind::data, [&] { decode(encode(model)); }), HasSubstr("nowhere"));
    model = to_onnx(network().part(), {});
    model.opset = 9;
    EXPECT_THAT(test::message_of(ErrorKind::unsupported, [&] { decode(encode(model)); }), HasSubstr("18"));
}

TEST_F(Onnx, ADifferenceIsAShareOfTheGreatestNumber) {
    const auto of = [](std::initializer_list<float> a, std::initializer_list<float> b) {
        return difference(HostTensor::of<float>({2}, a), HostTensor::of<float>({2}, b));
    };
    EXPECT_EQ(of({1, 0}, {1, 0}), 0);
    EXPECT_NEAR(of({100, 0}, {100, 1}), 0.01, 1e-9);
    EXPECT_NEAR(of({0.1F, 0}, {0.1F, 0.001F}), 0.001, 1e-9);
    EXPECT_GT(of({1, 0}, {1, std::nanf("")}), 1e300);
    EXPECT_GT(difference(HostTensor::of<float>({1}, {1}), HostTensor::of<float>({2}, {1, 1})), 1e300);
}

// ---- BERT ----

TestNetwork classifier(bool split, bool groupbert = false,
                       const std::function<graph::Graph(const graph::Graph&)>& rewritten = {}) {
    TestNetwork network;
    nn::BertClassificationRequest request;
    request.model.vocabulary = 50;
    request.model.hidden = 128;
    request.model.heads = 2;
    request.model.layers = 2;
    request.model.intermediate = 96;
    request.model.positions = 16;
    request.model.qkv_split = split;
    request.model.qkv_bias = split || groupbert;
    request.model.groupbert = groupbert;
    request.model.head_activation = split ? graph::Activation::gelu : graph::Activation::gelu_tanh;
    request.batch = 3;
    request.length = 12;
    request.classes = 4;
    request.marks_logits = true;
    network.graph = nn::build_bert(request, ops::op_table(), nn::Mode::evaluation);
    if (rewritten) network.graph = rewritten(network.graph);
    network.draw_variables();
    std::map<std::string, HostTensor> batch;
    for (const graph::ValueId id : network.graph.values_with_role(graph::Role::input)) {
        const graph::Value& value = network.graph.value(id);
        HostTensor tensor(value.desc);
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            const bool ids = value.name == nn::kInputIds;
            const std::int64_t place = i % request.length;
            tensor.set(i, ids                                ? static_cast<double>(i * 7 % 50)
                          : value.name == nn::kInputPosition ? static_cast<double>(place)
                          : value.name == nn::kInputMask     ? (place < 8 + i / request.length ? 1 : 0)
                          : value.name == nn::kSegmentIds    ? (place > 5 ? 1 : 0)
                                                             : 0);
        }
        if (value.name == nn::kInputPosition) {
            HostTensor places({DType::i32, {1, request.length}});
            for (std::int64_t i = 0; i < request.length; ++i)
                places.set(i, static_cast<double>(i));
            network.fixed.push_back({id, places});
        } else if (value.name != "labels") {
            network.inputs.push_back({value.name, id});
        }
        batch.emplace(value.name, std::move(tensor));
    }
    for (const graph::Output& output : network.graph.outputs())
        if (output.name == "logits") network.outputs.push_back({output.name, output.value});
    network.answer(batch);
    return network;
}

TEST(OnnxBert, AClassifierAnswersAsTheNetwork) {
    for (const bool split : {false, true}) {
        const TestNetwork network = classifier(split);
        EXPECT_LT(apart(to_onnx(network.part(), {}), network.samples), 1e-5);
        EXPECT_LT(apart(to_onnx(network.part(), {.weights = OnnxWeights::bf16}), network.samples), 3e-2);
        const OnnxModel model = to_onnx(network.part(), {});
        EXPECT_EQ(model.inputs.size(), 3U);
        EXPECT_EQ(model.inputs[0].dtype, DType::i32);
    }
}

TEST(OnnxBert, InEightBitsAClassifierAnswersAlmostAsTheNetwork) {
    for (const bool split : {false, true}) {
        const TestNetwork network = classifier(split, false, in_eight_bits);
        const OnnxModel model = to_onnx(network.part(), {});
        const auto layers = graph::eight_bit_layers(classifier(split).graph);
        EXPECT_EQ(std::ranges::count(operators(model), "MatMulInteger"), std::ssize(layers));
        EXPECT_EQ(std::ssize(layers), split ? 12 : 8);
        EXPECT_LT(apart(model, network.samples), 1e-3);
        EXPECT_EQ(kind_of([&] { to_onnx(network.part(), {.weights = OnnxWeights::f16}); }), ErrorKind::unsupported);
    }
}

TEST(OnnxBert, GroupBertAnswersAsTheNetwork) {
    const TestNetwork network = classifier(false, /*groupbert=*/true);
    EXPECT_LT(apart(to_onnx(network.part(), {}), network.samples), 1e-5);
    EXPECT_LT(apart(to_onnx(network.part(), {.weights = OnnxWeights::bf16}), network.samples), 3e-2);
    EXPECT_LT(apart(to_onnx(network.part(), {.weights = OnnxWeights::f16}), network.samples), 1e-2);
}

}  // namespace
}  // namespace cnntrain::weights
