#include "train/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string summary(const std::string& line) {
    return summary_block(parse(line), RunFacts{}, nullptr);
}

TEST(Summary, NamesTheModelAndItsNorm) {
    const std::string cifar = "--dataset cifar-10 --generated-data ";
    EXPECT_THAT(summary(cifar + "--model resnext --model-size 29"), HasSubstr("\nResNeXt-29_32-4d\n Batch Norm\n"));
    EXPECT_THAT(summary(cifar + "--model resnext --convolution-groups 8 --group-dim 16 --group-norm"),
                HasSubstr("\nResNeXt-11_8-16d\n Group Norm\n  16 groups\n"));
    EXPECT_THAT(summary(cifar + "--model resnext"), Not(HasSubstr("Decay: 0.97")));
    EXPECT_THAT(summary(cifar + "--model efficientnet --model-size cifar --batch-norm"),
                HasSubstr("\nEfficientNet-CIFAR\n Batch Norm\n  Decay: 0.97\n"));
    EXPECT_THAT(summary("--model efficientnet --model-size 4 --dataset imagenet --generated-data"),
                HasSubstr("\nEfficientNet-B4\n Group Norm\n  4 groups\n"));
    EXPECT_THAT(summary("--model efficientnet --model-size 4 --dataset imagenet --generated-data"),
                HasSubstr("\nImage Size: 380x380\n"));
}

}  // namespace
}  // namespace cnntrain::train::testing
