#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "nn/requests.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;

constexpr NetworkForm kLarge = NetworkForm::large_images;
constexpr NetworkForm kSmall = NetworkForm::small_images;

struct SizeCase {
    NetworkForm form;
    const char* size;
    bool widenet;
    std::int64_t parameters;
};

const SizeCase kSizes[] = {
    {kLarge, "14", false, 9411880},   {kLarge, "26", false, 15389480},  {kLarge, "50", false, 25028904},
    {kLarge, "101", false, 44177704}, {kLarge, "152", false, 59951400}, {kSmall, "11", false, 403162},
    {kSmall, "29", false, 1293786},   {kSmall, "38", false, 1739098},   {kSmall, "47", false, 2184410},
    {kSmall, "56", false, 2629722},   {kSmall, "65", false, 3075034},   {kSmall, "11", true, 1815370},
    {kSmall, "29", true, 4775754},    {kSmall, "38", true, 6255946},    {kSmall, "47", true, 7736138},
    {kSmall, "56", true, 9216330},    {kSmall, "65", true, 10696522},
};

BuildRequest resnext_request(NetworkForm form, const std::string& size) {
    BuildRequest request = form == kLarge ? imagenet_request(size) : cifar_request(size);
    request.model.family = Family::resnext;
    return request;
}

class ResnextSizes : public testing::TestWithParam<SizeCase> {};

TEST_P(ResnextSizes, HaveTheirParameterCountWithEitherNorm) {
    BuildRequest request = resnext_request(GetParam().form, GetParam().size);
    request.model.resnext.widenet = GetParam().widenet;
    for (const NormKind norm : {NormKind::batch, NormKind::group}) {
        request.model.norm = norm;
        const Model model = build_training(request, ops::op_table());
        model.graph.verify();
        EXPECT_EQ(parameter_count(model.graph), GetParam().parameters);
    }
}

INSTANTIATE_TEST_SUITE_P(All, ResnextSizes, testing::ValuesIn(kSizes), [](const auto& test) {
    return (test.param.form == kLarge ? "imagenet"
            : test.param.widenet      ? "wide_cifar"
                                      : "cifar") +
           std::string("_") + test.param.size;
});

TEST(ResnextSizesTable, IsCoveredByTheTest) {
    for (const NetworkForm form : {kLarge, kSmall}) {
        for (const std::string& size : model_sizes(Family::resnext, form)) {
            EXPECT_TRUE(std::any_of(std::begin(kSizes), std::end(kSizes), [&](const SizeCase& c) {
                return c.form == form && c.size == size;
            })) << size;
        }
    }
}

Shape shape_of(const Graph& graph, const std::string& name) {
    return graph.desc(graph.find(name).value()).shape;
}

TEST(ResnextKernels, AreGroupedByCardinality) {
    const Model usual = build_training(resnext_request(kLarge, "50"), ops::op_table());
    EXPECT_EQ(shape_of(usual.graph, "all/stage1/unit1/conv2/weight"), (Shape{3, 3, 4, 128}));
    EXPECT_EQ(shape_of(usual.graph, "all/stage4/unit2/conv2/weight"), (Shape{3, 3, 32, 1024}));
    EXPECT_EQ(shape_of(usual.graph, "all/stage4/unit2/conv3/weight"), (Shape{1, 1, 1024, 2048}));

    BuildRequest request = resnext_request(kSmall, "11");
    request.model.resnext.convolution_groups = 8;
    request.model.resnext.group_dim = 2;
    const Model narrow = build_training(request, ops::op_table());
    EXPECT_EQ(shape_of(narrow.graph, "all/stage1/unit1/conv2/weight"), (Shape{3, 3, 2, 16}));
    EXPECT_EQ(shape_of(narrow.graph, "all/stage3/unit1/conv2/weight"), (Shape{3, 3, 8, 64}));
    EXPECT_EQ(shape_of(narrow.graph, "all/stage3/unit1/conv3/weight"), (Shape{1, 1, 64, 256}));
}

TEST(ResnextNames, AreThoseOfAResnet) {
    BuildRequest resnet = imagenet_request("26");
    const Model expected = build_training(resnet, ops::op_table());
    const Model model = build_training(resnext_request(kLarge, "26"), ops::op_table());
    ASSERT_EQ(model.values.parameters.size(), expected.values.parameters.size());
    for (std::size_t i = 0; i < model.values.parameters.size(); ++i) {
        const graph::Value& variable = model.graph.value(model.values.parameters[i]);
        EXPECT_EQ(variable.name, expected.graph.value(expected.values.parameters[i]).name);
        EXPECT_EQ(variable.initialiser, expected.graph.value(expected.values.parameters[i]).initialiser);
    }
    EXPECT_EQ(split_points(resnext_request(kLarge, "26").model), split_points(resnet.model));
}

TEST(ResnextEvaluation, FoldsEveryBatchNorm) {
    const Model evaluation = build_evaluation(resnext_request(kLarge, "50"), ops::op_table());
    evaluation.graph.verify();
    const Graph folded = graph::fold_inference_norms(graph::fuse_norm_activation(evaluation.graph));
    for (const graph::Node& node : folded.nodes())
        EXPECT_NE(node.kind, graph::OpKind::batch_norm_inference) << node.name;
}

TEST(ResnextRequest, RefusesEmptyGroupsAndTwoConvSizes) {
    BuildRequest request = resnext_request(kSmall, "29");
    request.model.resnext.convolution_groups = 0;
    EXPECT_THAT([&] { build_training(request, ops::op_table()); }, ThrowsMessage<Error>(HasSubstr("got 0 and 4")));
    EXPECT_THAT([] { build_training(resnext_request(kSmall, "20"), ops::op_table()); },
                ThrowsMessage<Error>(HasSubstr("11, 29, 38, 47, 56, 65")));
}

}  // namespace
}  // namespace cnntrain::nn
