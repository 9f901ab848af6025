// Networks that are recognised by their weights, and what is refused. tests/golden compares answers.
#include "cnntrain/graph/model.h"

#include <gtest/gtest.h>

#include "cnntrain/graph/op.h"
#include "nn/requests.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

TensorDescs variables_of(const NetworkSettings& settings) {
    BuildRequest request;
    request.model = settings;
    request.model.image_size = 32;
    request.input.images = {DType::f32, {1, 32, 32, 3}};
    const Model model = build_evaluation(request, ops::op_table());
    TensorDescs descs;
    for (const graph::ValueId id : model.graph.variables())
        descs.emplace(model.graph.value(id).name, model.graph.desc(id));
    return descs;
}

NetworkSettings resnet(const std::string& size, std::int64_t classes = 7) {
    NetworkSettings settings;
    settings.size = size;
    settings.classes = classes;
    return settings;
}

/// PyTorch's tensors of a ResNet with two units of two convolutions in four stages.
TensorDescs pytorch_resnet18() {
    TensorDescs descs;
    const auto add = [&](const std::string& name, Shape shape) { descs[name] = {DType::f32, std::move(shape)}; };
    const auto norm = [&](const std::string& scope, std::int64_t channels) {
        for (const char* leaf : {".weight", ".bias", ".running_mean", ".running_var"})
            add(scope + leaf, {channels});
        descs[scope + ".num_batches_tracked"] = {DType::i64, {}};
    };
    add("conv1.weight", {64, 3, 7, 7});
    norm("bn1", 64);
    std::int64_t inputs = 64;
    for (int stage = 1; stage <= 4; ++stage) {
        const std::int64_t width = std::int64_t{32} << stage;
        for (int unit = 0; unit < 2; ++unit) {
            const std::string scope = "layer" + std::to_string(stage) + "." + std::to_string(unit);
            add(scope + ".conv1.weight", {width, inputs, 3, 3});
            norm(scope + ".bn1", width);
            add(scope + ".conv2.weight", {width, width, 3, 3});
            norm(scope + ".bn2", width);
            if (inputs != width) {
                add(scope + ".downsample.0.weight", {width, inputs, 1, 1});
                norm(scope + ".downsample.1", width);
            }
            inputs = width;
        }
    }
    add("fc.weight", {7, 512});
    add("fc.bias", {7});
    return descs;
}

std::map<std::string, HostTensor> zeros(const TensorDescs& descs) {
    std::map<std::string, HostTensor> tensors;
    for (const auto& [name, desc] : descs)
        tensors.emplace(name, HostTensor(desc));
    return tensors;
}

TEST(SourceNetwork, IsToldByNamesAndShapes) {
    const auto told = source_network(pytorch_resnet18(), "");
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->settings.family, Family::resnet);
    EXPECT_EQ(told->settings.size, "18");
    EXPECT_EQ(told->settings.classes, 7);
    EXPECT_EQ(told->settings.padding, PaddingRule::symmetric);
    EXPECT_FALSE(told->own);
}

TEST(SourceNetwork, OfThisProgramsOwnVariables) {
    for (const char* size : {"14", "34", "50"}) {
        const auto told = source_network(variables_of(resnet(size)), "");
        ASSERT_TRUE(told.has_value());
        EXPECT_TRUE(told->own);
        EXPECT_EQ(told->settings.size, size);
        EXPECT_EQ(told->settings.classes, 7);
    }
    NetworkSettings small = resnet("20");
    small.form = NetworkForm::small_images;
    small.norm = NormKind::group;
    small.groups = 16;
    const auto told = source_network(variables_of(small), "");
    EXPECT_EQ(told->settings.form, NetworkForm::small_images);
    EXPECT_EQ(told->settings.norm, NormKind::group);
    EXPECT_EQ(told->settings.size, "20");
    NetworkSettings grouped = resnet("14");
    grouped.family = Family::resnext;
    grouped.resnext = {.convolution_groups = 16, .group_dim = 8};
    const auto resnext = source_network(variables_of(grouped), "");
    EXPECT_EQ(resnext->settings.family, Family::resnext);
    EXPECT_EQ(resnext->settings.resnext.convolution_groups, 16);
    EXPECT_EQ(resnext->settings.resnext.group_dim, 8);
    for (const char* size : {"B0", "B3", "CIFAR", "Lite0", "Lite2", "V2-B1", "V2-S"}) {
        NetworkSettings efficient = resnet(size);
        efficient.family = Family::efficientnet;
        const auto of_efficientnet = source_network(variables_of(efficient), "");
        ASSERT_TRUE(of_efficientnet.has_value());
        EXPECT_EQ(of_efficientnet->settings.family, Family::efficientnet);
        EXPECT_EQ(of_efficientnet->settings.size, size);
    }
}

TEST(SourceNetwork, OtherNetworksAreRefusedByATensor) {
    const auto message = [](const std::string& name, Shape shape, const std::string& architecture = "") {
        TensorDescs descs = pytorch_resnet18();
        if (!name.empty()) descs[name] = {DType::f32, std::move(shape)};
        return message_of(ErrorKind::unsupported, [&] { source_network(descs, architecture); });
    };
    EXPECT_THAT(message("layer1.0.se.fc1.weight", {8, 64, 1, 1}),
                AllOf(HasSubstr("layer1.0.se.fc1.weight [8, 64, 1, 1]"), HasSubstr("squeeze-excite")));
    EXPECT_THAT(message("layer2.0.downsample.2.weight", {128}), HasSubstr("projection"));
    EXPECT_THAT(message("conv1.0.weight", {32, 3, 3, 3}), HasSubstr("convolutions"));
    EXPECT_THAT(message("conv1.weight", {64, 1, 7, 7}), AllOf(HasSubstr("conv1.weight"), HasSubstr("3 colours")));
    EXPECT_THAT(message("layer4.2.conv1.weight", {512, 512, 3, 3}), HasSubstr("2, 2, 2, 3 units"));
    EXPECT_THAT(message("", {}, "resnetblur18"), HasSubstr("architecture 'resnetblur18'"));
    EXPECT_THAT(message("", {}, "resnet18d.ra2_in1k"), HasSubstr("architecture 'resnet18d.ra2_in1k'"));
    EXPECT_TRUE(source_network(pytorch_resnet18(), "resnet18.a1_in1k").has_value());
}

TEST(SourceNetwork, NetworksThatThisProgramDoesNotHaveAreNamed) {
    struct Known {
        std::string tensor;
        std::string title;
    };
    const Known cases[] = {{"features.1.0.layer_scale", "ConvNeXt"},
                           {"stages.0.blocks.0.gamma", "ConvNeXt"},
                           {"class_token", "vision transformer"},
                           {"cls_token", "vision transformer"},
                           {"layers.0.blocks.0.attn.relative_position_bias_table", "Swin"},
                           {"trunk_output.block1.block1-0.proj.0.weight", "RegNet"},
                           {"stage2.0.branch2.0.weight", "ShuffleNet"},
                           {"blocks.0.0.conv_exp.weight", "EfficientNet-EdgeTPU"},
                           {"features.1.block.0.0.weight", "MobileNet"},
                           {"features.1.conv.0.0.weight", "MobileNet"},
                           {"features.denseblock1.denselayer1.norm1.weight", "DenseNet"},
                           {"bert.embeddings.word_embeddings.weight", "BERT"},
                           {"weight", "no network"}};
    for (const Known& known : cases) {
        const TensorDescs descs = {{known.tensor, {DType::f32, {3}}}};
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { source_network(descs, ""); }),
                    AllOf(HasSubstr(known.title), HasSubstr(known.tensor)));
    }
}

/// Other sizes have channels that these groups do not divide.
TEST(SourceNetwork, OfGroupedConvolutionsWithoutSqueezeExcite) {
    NetworkSettings settings = resnet("B1");
    settings.family = Family::efficientnet;
    settings.efficientnet.group_dim = 16;
    settings.efficientnet.squeeze_excite = false;
    const auto source = source_network(variables_of(settings), "");
    ASSERT_TRUE(source.has_value());
    EXPECT_EQ(source->settings.size, "B1");
    EXPECT_EQ(source->settings.efficientnet.group_dim, 16);
    EXPECT_FALSE(source->settings.efficientnet.squeeze_excite);
}

/// The names of efficientnet_pytorch, whose blocks count through all stages.
std::map<std::string, std::string> flat_names(const TensorDescs& own) {
    std::map<std::string, std::string> names = {{"all/block0/conv/conv2d/kernel", "_conv_stem.weight"},
                                                {"all/Top/conv/conv2d/kernel", "_conv_head.weight"},
                                                {"all/Top/logits/dense/kernel", "_fc.weight"},
                                                {"all/Top/logits/dense/bias", "_fc.bias"}};
    const auto add_norm = [&](const std::string& scope, const std::string& theirs) {
        names[scope + "/gamma"] = theirs + ".weight";
        names[scope + "/beta"] = theirs + ".bias";
        names[scope + "/moving_mean"] = theirs + ".running_mean";
        names[scope + "/moving_variance"] = theirs + ".running_var";
    };
    add_norm("all/block0/batch_norm", "_bn0");
    add_norm("all/Top/batch_norm", "_bn1");
    int block = 0;
    for (const auto& [name, desc] : own) {  // in the order of stages and letters
        if (!name.ends_with("/b/conv/conv2d/kernel")) continue;
        const std::string scope = name.substr(0, name.size() - std::string("/b/conv/conv2d/kernel").size());
        const std::string theirs = "_blocks." + std::to_string(block++) + ".";
        names[scope + "/a/conv/conv2d/kernel"] = theirs + "_expand_conv.weight";
        names[name] = theirs + "_depthwise_conv.weight";
        names[scope + "/c/conv/conv2d/kernel"] = theirs + "_project_conv.weight";
        add_norm(scope + "/a/batch_norm", theirs + "_bn0");
        add_norm(scope + "/b/batch_norm", theirs + "_bn1");
        add_norm(scope + "/c/batch_norm", theirs + "_bn2");
        for (const auto& [part, reduced] : {std::pair{"squeeze", "reduce"}, std::pair{"excite", "expand"}}) {
            const std::string gate = scope + "/b/se/" + part + "/conv2d/";
            names[gate + "kernel"] = theirs + "_se_" + reduced + ".weight";
            names[gate + "bias"] = theirs + "_se_" + reduced + ".bias";
        }
    }
    return names;
}

TEST(SourceNetwork, BlocksThatCountThroughAllStagesFindTheirStage) {
    for (const char* size : {"B1", "Lite1"}) {
        NetworkSettings settings = resnet(size);
        settings.family = Family::efficientnet;
        const TensorDescs own = variables_of(settings);
        const std::map<std::string, std::string> names = flat_names(own);
        std::map<std::string, HostTensor> theirs;
        double mark = 0;
        for (const auto& [name, desc] : own) {
            Shape shape = desc.shape;
            if (shape.size() == 4) shape = {shape[3], shape[2], shape[0], shape[1]};
            if (shape.size() == 2) shape = {shape[1], shape[0]};
            HostTensor tensor({DType::f32, shape});
            tensor.set(0, ++mark);
            theirs.emplace(names.at(name), std::move(tensor));
        }
        TensorDescs descs;
        for (const auto& [name, tensor] : theirs)
            descs.emplace(name, tensor.desc());
        const auto source = source_network(descs, "");
        ASSERT_TRUE(source.has_value());
        EXPECT_EQ(source->settings.size, size);
        EXPECT_EQ(source->settings.padding, PaddingRule::same);
        const auto read = in_own_layout(std::move(theirs), own);
        ASSERT_EQ(read.size(), own.size());
        mark = 0;
        for (const auto& [name, desc] : own)
            EXPECT_EQ(read.at(name).at(0), ++mark) << name;
    }
}

TEST(SourceNetwork, NormsWithoutMovingAveragesAreTheReason) {
    TensorDescs descs = pytorch_resnet18();
    std::erase_if(descs, [](const auto& entry) { return entry.first.find("running_") != std::string::npos; });
    for (const char* architecture : {"", "resnet50_gn.a1h_in1k"}) {
        EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { source_network(descs, architecture); }),
                    HasSubstr("bn1.running_mean"));
    }
}

TEST(InOwnLayout, MovesTheAxesOfKernels) {
    const TensorDescs theirs = pytorch_resnet18();
    std::map<std::string, HostTensor> tensors = zeros(theirs);
    HostTensor& kernel = tensors.at("layer2.0.conv1.weight");  // [128, 64, 3, 3]
    kernel.set(((5 * 64 + 7) * 3 + 1) * 3 + 2, 1.5);           // output 5, input 7, row 1, column 2
    tensors.at("fc.weight").set(3 * 512 + 40, 2.5);            // class 3, input 40
    tensors.at("layer2.0.downsample.1.running_var").set(9, 4);
    const auto own = in_own_layout(std::move(tensors), variables_of(resnet("18")));
    EXPECT_EQ(own.at("all/stage2/unit1/conv1/weight").at(((1 * 3 + 2) * 64 + 7) * 128 + 5), 1.5);
    EXPECT_EQ(own.at("all/fc1/weight").at(40 * 7 + 3), 2.5);
    EXPECT_EQ(own.at("all/stage2/unit1/bnsc/batch_norm/moving_variance").at(9), 4);
    EXPECT_EQ(own.size(), variables_of(resnet("18")).size());
}

TEST(InOwnLayout, TheLastLayerMayBeMissingOrHaveOtherClasses) {
    TensorDescs theirs = pytorch_resnet18();
    const auto other = in_own_layout(zeros(theirs), variables_of(resnet("18", 3)));
    EXPECT_EQ(other.at("all/fc1/weight").shape(), (Shape{512, 7}));
    theirs.erase("fc.weight");
    theirs.erase("fc.bias");
    EXPECT_FALSE(in_own_layout(zeros(theirs), variables_of(resnet("18"))).contains("all/fc1/weight"));
}

TEST(InOwnLayout, ListsWhatDoesNotFit) {
    const auto message = [](const TensorDescs& theirs) {
        return message_of(ErrorKind::data, [&] { in_own_layout(zeros(theirs), variables_of(resnet("18"))); });
    };
    TensorDescs lacks = pytorch_resnet18();
    lacks.erase("layer3.1.bn2.running_mean");
    EXPECT_THAT(message(lacks), HasSubstr("all/stage3/unit2/bn2/batch_norm/moving_mean"));
    TensorDescs wide = pytorch_resnet18();
    wide["layer3.1.conv2.weight"].shape = {256, 128, 3, 3};
    EXPECT_THAT(message(wide), HasSubstr("all/stage3/unit2/conv2/weight"));
    TensorDescs more = pytorch_resnet18();
    more["layer1.0.conv1.bias"] = {DType::f32, {64}};
    EXPECT_THAT(message(more), HasSubstr("extra:   layer1.0.conv1.bias [64]"));
}

HostTensor three(double red, double green, double blue) {
    HostTensor tensor({DType::f32, {3}});
    tensor.set(0, red);
    tensor.set(1, green);
    tensor.set(2, blue);
    return tensor;
}

TEST(InnerNormalisation, IsImageNetsInPublishedNetworksAndTheStatisticsInOthers) {
    SourcePixels pixels;
    take_inner_normalisation(pixels, {{"normalization/mean", three(0.485, 0.456, 0.406)},
                                      {"normalization/variance", three(0.229, 0.224, 0.225)}});
    EXPECT_EQ(pixels, SourcePixels());
    take_inner_normalisation(pixels, {{"stem_bn/moving_mean", three(7, 7, 7)}});
    EXPECT_EQ(pixels, SourcePixels());
    take_inner_normalisation(pixels, {{"stem_bn/moving_mean", three(7, 7, 7)},
                                      {"normalization_1/mean", three(0, 0.5, 0)},
                                      {"normalization_1/variance", three(1, 4, 1)}});
    EXPECT_EQ(pixels.mean, (std::array<double, 3>{0, 0.5, 0}));
    EXPECT_EQ(pixels.deviation, (std::array<double, 3>{1, 2, 1}));
}

/// Keras' images are B, G, R, and its convolutions have biases.
TEST(InOwnLayout, KerasBiasesGoIntoTheMovingMeans) {
    const TensorDescs own = variables_of(resnet("50"));
    std::map<std::string, HostTensor> theirs;
    const auto add = [&](const std::string& name, Shape shape, double value) {
        HostTensor tensor({DType::f32, std::move(shape)});
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, value);
        theirs.emplace(name, std::move(tensor));
    };
    for (const auto& [name, desc] : own) {
        if (!name.ends_with("weight") || name.starts_with("all/fc1")) continue;
        std::string scope = "conv1";
        if (name.find("unit") != std::string::npos) {
            const std::string leaf = name.substr(name.find("conv"));
            const char part = leaf.starts_with("conv1sc") ? '0' : leaf[4];
            scope = "conv" + std::to_string(name[9] - '0' + 1) + "_block" + name[15] + "_" + part;
        }
        add(scope + "_conv/kernel", desc.shape, 0);
        add(scope + "_conv/bias", {desc.shape[3]}, 0.25);
        for (const char* leaf : {"gamma", "beta", "moving_mean", "moving_variance"})
            add(scope + "_bn/" + leaf, {desc.shape[3]}, 1);
    }
    theirs.at("conv1_conv/kernel").set(2 * 64 + 5, 3);  // red, output 5
    add("predictions/kernel", {2048, 7}, 0);
    add("predictions/bias", {7}, 0);
    TensorDescs descs;
    for (const auto& [name, tensor] : theirs)
        descs.emplace(name, tensor.desc());
    const auto told = source_network(descs, "");
    ASSERT_TRUE(told.has_value());
    EXPECT_EQ(told->settings.bottleneck_stride, BottleneckStride::first);
    const auto converted = in_own_layout(std::move(theirs), own);
    EXPECT_EQ(converted.size(), own.size());
    EXPECT_EQ(converted.at("all/stage3/unit2/bn2/batch_norm/moving_mean").at(0), 0.75);
    EXPECT_EQ(converted.at("all/stage0/conv0/weight").at(0 * 64 + 5), 3);
    EXPECT_EQ(converted.at("all/stage0/conv0/weight").at(2 * 64 + 5), 0);
}

}  // namespace
}  // namespace cnntrain::nn
