// Weights with the names of torchvision and timm.
#include <algorithm>

#include "cnntrain/graph/model.h"
#include "exports/network.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::weights {
namespace {

using nn::Family;
using nn::TargetProgram;

nn::NetworkSettings large(Family family, const std::string& size) {
    nn::NetworkSettings model;
    model.family = family;
    model.size = size;
    model.padding = nn::PaddingRule::symmetric;
    model.classes = 7;
    model.image_size = 32;
    return model;
}

struct Case {
    nn::NetworkSettings model;
    TargetProgram program = TargetProgram::timm;
    std::string architecture;
};

std::vector<Case> cases() {
    std::vector<Case> all = {{large(Family::resnet, "18"), TargetProgram::torchvision, "resnet18"},
                             {large(Family::resnet, "26"), TargetProgram::timm, "resnet26"},
                             {large(Family::resnext, "50"), TargetProgram::torchvision, "resnext50_32x4d"},
                             {large(Family::resnext, "50"), TargetProgram::timm, "wide_resnet50_2"},
                             {large(Family::efficientnet, "B0"), TargetProgram::torchvision, "efficientnet_b0"},
                             {large(Family::efficientnet, "B0"), TargetProgram::timm, "efficientnet_b0"},
                             {large(Family::efficientnet, "B0"), TargetProgram::timm, "tf_efficientnet_b0"},
                             {large(Family::efficientnet, "Lite0"), TargetProgram::timm, "tf_efficientnet_lite0"},
                             {large(Family::efficientnet, "V2-S"), TargetProgram::torchvision, "efficientnet_v2_s"},
                             {large(Family::efficientnet, "V2-S"), TargetProgram::timm, "efficientnetv2_s"},
                             {large(Family::efficientnet, "V2-B1"), TargetProgram::timm, "tf_efficientnetv2_b1"}};
    all[3].model.resnext.convolution_groups = 1;
    all[3].model.resnext.group_dim = 128;
    for (Case& item : all) {
        if (!item.architecture.starts_with("tf_")) continue;
        item.model.padding = nn::PaddingRule::same;
        item.model.epsilon = 1e-3;
    }
    all[8].model.epsilon = 1e-3;
    return all;
}

/// Names, axes and bits come back through the reader, which knows the network.
TEST(TargetWeights, TheReaderGivesBackEveryVariable) {
    for (const Case& item : cases()) {
        const TestNetwork network = image_network(item.model, 1);
        const nn::TargetWeights written = in_target_layout(item.program, item.model, network.variables);
        EXPECT_EQ(written.architecture, item.architecture);
        nn::TensorDescs theirs;
        for (const auto& [name, tensor] : written.tensors)
            theirs.emplace(name, tensor.desc());
        const auto source = nn::source_network(theirs, item.architecture);
        ASSERT_TRUE(source.has_value()) << item.architecture;
        EXPECT_EQ(source->settings.family, item.model.family);
        EXPECT_EQ(source->settings.size, item.model.size);
        EXPECT_EQ(source->settings.padding, item.model.padding);
        EXPECT_EQ(source->settings.epsilon, item.model.epsilon);
        EXPECT_EQ(source->settings.classes, 7);
        nn::TensorDescs own;
        for (const auto& [name, tensor] : network.variables)
            own.emplace(name, tensor.desc());
        const auto read = nn::in_own_layout(written.tensors, own);
        ASSERT_EQ(read.size(), network.variables.size());
        for (const auto& [name, tensor] : network.variables)
            EXPECT_TRUE(std::ranges::equal(read.at(name).bytes(), tensor.bytes())) << name;
        const auto counters = std::ranges::count_if(
            written.tensors, [](const auto& tensor) { return tensor.first.ends_with("num_batches_tracked"); });
        const auto means = std::ranges::count_if(
            network.variables, [](const auto& variable) { return variable.first.ends_with("moving_mean"); });
        EXPECT_EQ(counters, means);
    }
}

std::string refusal(TargetProgram program, const nn::NetworkSettings& model) {
    return test::message_of(ErrorKind::unsupported, [&] { target_architecture(program, model); });
}

TEST(TargetWeights, OtherNetworksAreRefusedWithTheReason) {
    nn::NetworkSettings model = large(Family::resnet, "50");
    model.padding = nn::PaddingRule::same;
    EXPECT_THAT(refusal(TargetProgram::timm, model),
                AllOf(HasSubstr("--padding same"), HasSubstr("--padding symmetric"), HasSubstr("--to onnx")));
    model = large(Family::resnet, "50");
    model.bottleneck_stride = nn::BottleneckStride::first;
    EXPECT_THAT(refusal(TargetProgram::torchvision, model), HasSubstr("--bottleneck-stride 1x1"));
    model = large(Family::resnet, "50");
    model.norm = nn::NormKind::group;
    EXPECT_THAT(refusal(TargetProgram::torchvision, model), HasSubstr("group"));
    model = large(Family::resnet, "20");
    model.form = nn::NetworkForm::small_images;
    EXPECT_THAT(refusal(TargetProgram::timm, model), HasSubstr("images"));
    EXPECT_THAT(refusal(TargetProgram::torchvision, large(Family::resnet, "26")), HasSubstr("26"));
    EXPECT_THAT(refusal(TargetProgram::torchvision, large(Family::efficientnet, "Lite0")), HasSubstr("Lite0"));
    model = large(Family::efficientnet, "B0");
    model.efficientnet.proxy_norm = true;
    EXPECT_THAT(refusal(TargetProgram::timm, model), HasSubstr("--to"));
    model = large(Family::efficientnet, "B0");
    model.epsilon = 1e-3;
    EXPECT_THAT(refusal(TargetProgram::torchvision, model),
                AllOf(HasSubstr("--norm-epsilon 0.001"), HasSubstr("--norm-epsilon 1e-05")));
}

}  // namespace
}  // namespace cnntrain::weights
