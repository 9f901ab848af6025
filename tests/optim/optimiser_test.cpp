#include "cnntrain/graph/optimiser.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/toy_graph.h"

namespace cnntrain::optim {
namespace {

using graph::OpKind;
using graph::ValueId;

/// A batch norm and, in a second stage, a dense layer and a loss.
struct SmallModel : test::ToyGraph {
    SmallModel() {
        const ValueId images = input("images", {4, 1, 1, 3});
        const ValueId gamma = graph.add_parameter("all/bn/gamma", {DType::f32, {3}}, {.value = 1});
        const ValueId beta = parameter("all/bn/beta", {3});
        moving_mean = graph.add_moving_average("all/bn/moving_mean", {DType::f32, {3}}, {});
        moving_variance = graph.add_moving_average("all/bn/moving_variance", {DType::f32, {3}}, {.value = 1});
        const ValueId weight = graph.add_parameter("all/dense/weight", {DType::bf16, {3, 2}}, {});
        const ValueId bias = parameter("all/dense/bias", {2});

        const auto normed = graph.add(OpKind::batch_norm, graph::NormAttrs{}, {images, gamma, beta}, "norm");
        batch_mean = normed[1];
        batch_variance = normed[2];
        graph.set_followed(moving_mean, batch_mean, 1);
        graph.set_followed(moving_variance, batch_variance, 1.25);
        graph.set_stage(graph::StageId{1});
        const ValueId pooled = average_pool(normed[0]);
        const ValueId full = cast(weight, DType::f32, "cast");
        loss = cross_entropy(graph.add_one(OpKind::dense, graph::DenseAttrs{}, {pooled, full, bias}, "logits"));
        graph.set_stage(graph::StageId{0});
    }

    void append(const UpdateSettings& settings) {
        const auto gradients = build_backward(
            graph, {.loss = loss, .targets = trainable_parameters(graph, settings), .recompute_points = {}});
        append_update(graph, gradients, settings);
        graph.verify();
    }

    std::vector<const graph::Node*> updates() const {
        std::vector<const graph::Node*> result;
        for (const graph::Node& node : graph.nodes()) {
            if (node.phase == graph::Phase::update) result.push_back(&node);
        }
        return result;
    }

    /// The update of a variable; null when it has none.
    const graph::Node* update_of(const std::string& variable) const {
        for (const graph::Node* node : updates()) {
            if (graph.value(node->inputs[0]).name == variable) return node;
        }
        return nullptr;
    }

    ValueId moving_mean, moving_variance, batch_mean, batch_variance, loss;
};

UpdateSettings momentum() {
    UpdateSettings settings;
    settings.rule = graph::UpdateRule::momentum;
    settings.momentum = 0.9;
    settings.weight_decay = 1e-4;
    settings.weight_decay_exclude = {"beta", "gamma"};
    settings.loss_scaling = 128;
    settings.micro_batches = 8;
    settings.moving_average_decay = 0.97;
    return settings;
}

TEST(AppendUpdate, SgdHasNoSlots) {
    SmallModel model;
    UpdateSettings settings = momentum();
    settings.rule = graph::UpdateRule::sgd;
    model.append(settings);
    EXPECT_EQ(model.updates().size(), 6u);
    EXPECT_EQ(model.graph.values_with_role(graph::Role::slot).size(), 0u);
    const graph::Node* update = model.update_of("all/dense/bias");
    ASSERT_NE(update, nullptr);
    EXPECT_EQ(update->as<graph::UpdateAttrs>().rule, graph::UpdateRule::sgd);
    EXPECT_EQ(update->inputs.at(2), model.graph.find(kLearningRate));
    EXPECT_EQ(update->as<graph::UpdateAttrs>().momentum, 0);
}

TEST(AppendUpdate, MomentumAddsASlotLikeEachParameter) {
    SmallModel model;
    model.append(momentum());
    const graph::Node* update = model.update_of("all/dense/weight");
    ASSERT_NE(update, nullptr);
    EXPECT_EQ(update->as<graph::UpdateAttrs>().rule, graph::UpdateRule::momentum);
    const auto slot = model.graph.find("all/dense/weight/Momentum");
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ(update->inputs.at(5), *slot);
    const graph::Value& value = model.graph.value(*slot);
    EXPECT_EQ(value.role, graph::Role::slot);
    EXPECT_EQ(value.desc, (TensorDesc{DType::bf16, {3, 2}}));
    EXPECT_EQ(value.initialiser, graph::Initialiser{});
}

TEST(AppendUpdate, GradientsHaveTheChosenTypeOrThatOfTheirVariable) {
    const auto gradient_type = [](std::optional<DType> chosen, const std::string& variable) {
        SmallModel model;
        UpdateSettings settings = momentum();
        settings.gradients = chosen;
        model.append(settings);
        return model.graph.desc(model.update_of(variable)->inputs.at(1)).dtype;
    };
    EXPECT_EQ(gradient_type(DType::f32, "all/dense/weight"), DType::f32);
    EXPECT_EQ(gradient_type(std::nullopt, "all/dense/weight"), DType::bf16);
    EXPECT_EQ(gradient_type(std::nullopt, "all/dense/bias"), DType::f32);
}

TEST(AppendUpdate, MeansOfLambCanBeF32BesideSmallerWeights) {
    const auto slot_type = [](bool f32_means, graph::UpdateRule rule) {
        SmallModel model;
        UpdateSettings settings = momentum();
        settings.rule = rule;
        settings.f32_means = f32_means;
        model.append(settings);
        return model.graph.desc(model.update_of("all/dense/weight")->inputs.at(5)).dtype;
    };
    EXPECT_EQ(slot_type(true, graph::UpdateRule::lamb), DType::f32);
    EXPECT_EQ(slot_type(true, graph::UpdateRule::adamw), DType::f32);
    EXPECT_EQ(slot_type(false, graph::UpdateRule::lamb), DType::bf16);
    EXPECT_EQ(slot_type(true, graph::UpdateRule::momentum), DType::bf16);
}

TEST(AppendUpdate, ScalesAreThoseOfTheSpecification) {
    SmallModel model;
    model.append(momentum());
    const auto attrs = model.update_of("all/dense/weight")->as<graph::UpdateAttrs>();
    EXPECT_EQ(attrs.gradient_scale, 128.0 / 8);  // and 1 / the graph's loss scaling
    EXPECT_EQ(attrs.weight_decay, 1e-4 * 128);
    EXPECT_EQ(attrs.learning_rate_scale, 1.0 / 128);
    EXPECT_EQ(attrs.momentum, 0.9);
    EXPECT_EQ(model.update_of("all/bn/gamma")->as<graph::UpdateAttrs>().weight_decay, 0);
    EXPECT_EQ(model.update_of("all/bn/beta")->as<graph::UpdateAttrs>().weight_decay, 0);
}

TEST(AppendUpdate, LowerLayersHaveLowerRates) {
    const auto scales = [](const std::vector<std::string>& variables) {
        test::ToyGraph toy;
        const ValueId gradient = toy.input("x", {2});
        graph::Gradients gradients;
        for (const std::string& name : variables) {
            const ValueId variable = toy.parameter(name, {2});
            toy.graph.add_one(OpKind::add, graph::NoAttrs{}, {gradient, variable}, name + "/add");
            gradients.of[variable] = gradient;
        }
        UpdateSettings settings;
        settings.layer_decay = 0.5;
        append_update(toy.graph, gradients, settings);
        std::vector<double> found;
        for (const graph::Node& node : toy.graph.nodes()) {
            if (node.kind == OpKind::update) found.push_back(node.as<graph::UpdateAttrs>().learning_rate_scale);
        }
        return found;
    };
    EXPECT_THAT(scales({"all/stage0/conv/kernel", "all/stage0/bn/gamma", "all/stage1/unit1/conv1/kernel",
                        "all/stage1/unit2/conv1/kernel", "all/stage1/unit2/conv2/kernel", "all/fc1/dense/kernel"}),
                ElementsAre(0.125, 0.125, 0.25, 0.5, 0.5, 1));
    EXPECT_THAT(scales({"all/block0/conv/kernel", "all/block1a/b/kernel", "all/block1a/c/kernel", "all/Top/conv/kernel",
                        "all/Top/logits/dense/kernel", "all/Top/logits/dense/bias"}),
                ElementsAre(0.125, 0.25, 0.25, 0.5, 1, 1));
    EXPECT_THAT(scales({"bert/embeddings/words", "bert/encoder/layer_0/qkv", "bert/encoder/layer_1/qkv",
                        "bert/encoder/layer_1/output", "bert/pooler/kernel", "output_weights"}),
                ElementsAre(1.0 / 16, 0.125, 0.25, 0.25, 0.5, 1));
}

TEST(AppendUpdate, MovingAveragesAreCorrectedAndAveraged) {
    SmallModel model;
    model.append(momentum());
    const auto mean = model.update_of("all/bn/moving_mean")->as<graph::MovingAverageAttrs>();
    EXPECT_EQ(mean.decay, 0.97);
    EXPECT_DOUBLE_EQ(mean.value_scale, 1.0 / 8);
    const auto variance = model.update_of("all/bn/moving_variance")->as<graph::MovingAverageAttrs>();
    EXPECT_DOUBLE_EQ(variance.value_scale, 5.0 / 4 / 8);
}

TEST(AppendUpdate, UpdatesStandInTheStageThatUsesTheVariable) {
    SmallModel model;
    model.append(momentum());
    EXPECT_EQ(model.update_of("all/bn/gamma")->stage, graph::StageId{0});
    EXPECT_EQ(model.update_of("all/bn/moving_mean")->stage, graph::StageId{0});
    EXPECT_EQ(model.update_of("all/dense/weight")->stage, graph::StageId{1});
    EXPECT_EQ(model.graph.stage(), graph::StageId{0});
}

TEST(AppendUpdate, TheVariableFilterFreezesTheRest) {
    SmallModel model;
    UpdateSettings settings = momentum();
    settings.variable_filter = {"dense"};
    model.append(settings);
    EXPECT_EQ(model.update_of("all/bn/gamma"), nullptr);
    EXPECT_NE(model.update_of("all/dense/weight"), nullptr);
    EXPECT_NE(model.update_of("all/bn/moving_mean"), nullptr);
    EXPECT_FALSE(model.graph.find("all/bn/gamma/Momentum").has_value());
}

TEST(AppendUpdate, AFilterThatMatchesNothingIsAnError) {
    const SmallModel model;
    OptimiserSettings settings;
    settings.variable_filter = {"conv", "stem"};
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { trainable_parameters(model.graph, settings); }),
                HasSubstr("'conv' 'stem'"));
}

std::vector<std::string> trained_with(const graph::Graph& graph, const std::vector<std::string>& freeze,
                                      const std::vector<std::string>& filter = {}) {
    OptimiserSettings settings;
    settings.freeze = freeze;
    settings.variable_filter = filter;
    std::vector<std::string> names;
    for (const ValueId id : trainable_parameters(graph, settings))
        names.push_back(graph.value(id).name);
    return names;
}

TEST(TrainableParameters, FrozenOnesAreLeftOut) {
    const SmallModel model;
    EXPECT_THAT(trained_with(model.graph, {"^all/bn/"}), ElementsAre("all/dense/weight", "all/dense/bias"));
    EXPECT_THAT(trained_with(model.graph, {"^all/bn/", "bias$"}), ElementsAre("all/dense/weight"));
    EXPECT_THAT(trained_with(model.graph, {"bias$"}, {"dense"}), ElementsAre("all/dense/weight"));
    EXPECT_EQ(trained_with(model.graph, {"moving_"}).size(), 4U);  // no parameter
}

TEST(TrainableParameters, AFrozenPatternThatMatchesNothingIsAnsweredWithNearNames) {
    const SmallModel model;
    const auto message = [&](const std::string& pattern) {
        return message_of(ErrorKind::usage, [&] { trained_with(model.graph, {pattern}); });
    };
    EXPECT_THAT(message("all/bm"), AllOf(HasSubstr("--freeze"), HasSubstr("all/bn")));
    EXPECT_THAT(message("gama"), HasSubstr("all/bn/gamma"));
    EXPECT_THAT(message("(dense"), HasSubstr("RE2"));
    EXPECT_THAT(message("all"), HasSubstr("nothing"));
}

TEST(AppendUpdate, RmsPropTakesTheLossScalingOutOfTheGradient) {
    SmallModel model;
    UpdateSettings settings = momentum();
    settings.rule = graph::UpdateRule::rmsprop;
    settings.mean_square_decay = 0.95;
    settings.rmsprop_epsilon = 0.01;
    model.append(settings);
    const graph::Node* update = model.update_of("all/dense/weight");
    ASSERT_NE(update, nullptr);
    const auto attrs = update->as<graph::UpdateAttrs>();
    EXPECT_EQ(attrs.gradient_scale, 1.0 / 8);
    EXPECT_EQ(attrs.weight_decay, 1e-4);
    EXPECT_EQ(attrs.learning_rate_scale, 1);
    EXPECT_EQ(attrs.momentum, 0.9);
    EXPECT_EQ(attrs.decay, 0.95);
    EXPECT_EQ(attrs.epsilon, 0.01);
    const auto mean_square = model.graph.find("all/dense/weight/RMSProp");
    ASSERT_TRUE(mean_square.has_value());
    EXPECT_EQ(model.graph.value(*mean_square).initialiser.value, 1);
    EXPECT_TRUE(model.graph.find("all/dense/weight/RMSProp_1").has_value());
}

TEST(AppendUpdate, LarsSkipsByName) {
    SmallModel model;
    UpdateSettings settings = momentum();
    settings.rule = graph::UpdateRule::lars;
    settings.weight_decay = 0.5;
    settings.lars = {0.01, 5e-5, 1e-6, {"beta", "gamma", "bias"}};
    model.append(settings);
    const auto weight = model.update_of("all/dense/weight")->as<graph::UpdateAttrs>();
    EXPECT_TRUE(weight.adapts);
    EXPECT_EQ(weight.trust_scale, 0.01);
    EXPECT_EQ(weight.rule_weight_decay, 5e-5);
    EXPECT_EQ(weight.epsilon, 1e-6);
    EXPECT_EQ(weight.weight_decay, 0.5);
    const auto bias = model.update_of("all/dense/bias")->as<graph::UpdateAttrs>();
    EXPECT_FALSE(bias.adapts);
    EXPECT_EQ(bias.rule_weight_decay, 0);
    EXPECT_EQ(bias.weight_decay, 0.5);
}

/// An activation with a proxy in the second stage, and its loss.
struct ProxyModel : test::ToyGraph {
    explicit ProxyModel(DType stored) : ToyGraph(stored) {
        const ValueId images = input("images", {4, 1, 1, 2});
        const ValueId proxy = parameter("all/proxy", {6, 1, 1, 2});
        graph.set_stage(graph::StageId{1});
        const auto rows = graph.add(OpKind::proxy_norm_rows, attrs, {proxy}, "all/proxy/rows");
        const auto normed = graph.add(OpKind::batch_norm, graph::NormAttrs{}, {images, rows[1], rows[0]}, "norm");
        const ValueId x =
            graph.add_one(OpKind::standardise, graph::StandardiseAttrs{}, {normed[0], rows[2], rows[3]}, "x");
        loss = cross_entropy(average_pool(x));
        graph.set_stage(graph::StageId{0});
    }

    /// The nodes of the update phase.
    std::vector<graph::Node> append(const UpdateSettings& settings) {
        append_update(
            graph,
            build_backward(graph,
                           {.loss = loss, .targets = trainable_parameters(graph, settings), .recompute_points = {}}),
            settings);
        graph.verify();
        std::vector<graph::Node> nodes;
        for (const graph::Node& node : graph.nodes()) {
            if (node.phase == graph::Phase::update) nodes.push_back(node);
        }
        return nodes;
    }

    graph::ProxyNormAttrs attrs{.activation = graph::Activation::relu, .epsilon = 0.1, .weight_decay = 0, .rows = {}};
    ValueId loss;
};

TEST(AppendUpdate, ProxiesAreUpdatedFromTheirOwnGradientAndGetNewStatistics) {
    ProxyModel model(DType::f32);
    UpdateSettings settings = momentum();
    settings.weight_decay_exclude = {"proxy"};
    const auto nodes = model.append(settings);
    ASSERT_EQ(nodes.size(), 3U);
    const ValueId proxy = model.graph.find("all/proxy").value();
    EXPECT_EQ(nodes[0].kind, OpKind::proxy_norm_gradient);
    EXPECT_EQ(nodes[0].inputs[0], proxy);
    EXPECT_EQ(model.graph.node(model.graph.value(nodes[0].inputs[1]).producer).kind, OpKind::proxy_norm_rows_grad);
    const auto& attrs = nodes[0].as<graph::ProxyNormAttrs>();
    EXPECT_EQ(attrs.activation, graph::Activation::relu);
    EXPECT_EQ(attrs.epsilon, 0.1);
    // The update multiplies its gradient by 1 / (4 * 2).
    EXPECT_DOUBLE_EQ(attrs.weight_decay, 1e-4 * 4 * 2);
    EXPECT_EQ(nodes[1].kind, OpKind::update);
    EXPECT_EQ(nodes[1].inputs[0], proxy);
    EXPECT_EQ(nodes[1].inputs[1], nodes[0].outputs[0]);
    EXPECT_EQ(nodes[1].as<graph::UpdateAttrs>().weight_decay, 0);
    EXPECT_EQ(nodes[2].kind, OpKind::proxy_norm_statistics);
    EXPECT_EQ(nodes[2].inputs, std::vector{proxy});
    for (const graph::Node& node : nodes)
        EXPECT_EQ(node.stage, graph::StageId{1});
}

TEST(AppendUpdate, ProxiesOfRmsPropAreDecayedInTheScaleOfTheirGradientToo) {
    ProxyModel model(DType::f32);
    UpdateSettings settings = momentum();
    settings.rule = graph::UpdateRule::rmsprop;
    const auto nodes = model.append(settings);
    const double gradient_scale = nodes.at(1).as<graph::UpdateAttrs>().gradient_scale;
    EXPECT_DOUBLE_EQ(nodes.at(0).as<graph::ProxyNormAttrs>().weight_decay * gradient_scale, 1e-4);
}

TEST(AppendUpdate, SixteenBitProxiesAreCopiesOfMastersWithStatistics) {
    ProxyModel model(DType::bf16);
    UpdateSettings settings = momentum();
    settings.fp32_weight_copy = true;
    const auto nodes = model.append(settings);
    ASSERT_EQ(nodes.size(), 4U);
    const ValueId master = model.graph.find("all/proxy/fp32").value();
    EXPECT_EQ(nodes[0].inputs[0], master);
    EXPECT_EQ(nodes[1].inputs[0], master);
    EXPECT_EQ(nodes[2].inputs[0], master);
    EXPECT_EQ(nodes[3].kind, OpKind::round_copy);
    EXPECT_EQ(nodes[3].inputs[1], master);
}

TEST(AppendUpdate, SixteenBitVariablesAreCopiesOfMasters) {
    SmallModel model;
    UpdateSettings settings = momentum();
    settings.fp32_weight_copy = true;
    model.append(settings);
    const auto pairs = masters(model.graph);
    ASSERT_EQ(pairs.size(), 1u);
    EXPECT_EQ(model.graph.value(pairs[0].parameter).name, "all/dense/weight");
    EXPECT_EQ(model.graph.value(pairs[0].master).name, "all/dense/weight/fp32");
    EXPECT_EQ(model.graph.desc(pairs[0].master), (TensorDesc{DType::f32, {3, 2}}));
    const auto slot = model.graph.find("all/dense/weight/Momentum");
    ASSERT_TRUE(slot.has_value());
    EXPECT_EQ(model.graph.desc(*slot).dtype, DType::f32);
    EXPECT_EQ(model.update_of("all/dense/weight/fp32")->kind, OpKind::update);
    EXPECT_EQ(model.update_of("all/dense/weight")->kind, OpKind::round_copy);
    EXPECT_EQ(model.update_of("all/dense/bias")->kind, OpKind::update);
}

UpdateSettings lamb() {
    UpdateSettings settings = momentum();
    settings.rule = graph::UpdateRule::lamb;
    return settings;
}

TEST(AppendUpdate, GradientsOfOneNormShareAFactor) {
    SmallModel model;
    UpdateSettings settings = lamb();
    settings.gradient_norm = GradientNorm::limits_divides;
    settings.gradient_norm_limit = 4;
    model.append(settings);
    const graph::Node& factor = *model.updates().front();
    ASSERT_EQ(factor.kind, OpKind::gradient_factor);
    EXPECT_EQ(factor.inputs.size(), 1 + 4U);  // the loss scaling; gradients of two dense ones, gamma and beta
    const auto& attrs = factor.as<graph::GradientFactorAttrs>();
    EXPECT_EQ(attrs.gradient_scale, 1.0 / 8);
    EXPECT_EQ(attrs.limit, 4);
    EXPECT_TRUE(attrs.divides);
    for (const char* name : {"all/dense/weight", "all/dense/bias", "all/bn/gamma"}) {
        const graph::Node* update = model.update_of(name);
        ASSERT_EQ(update->kind, OpKind::scaled_update);
        EXPECT_EQ(update->inputs.at(5), factor.outputs.at(0));
        EXPECT_EQ(model.graph.value(update->inputs.at(6)).name, std::string(name) + "/lamb_m");
    }
}

TEST(AppendUpdate, TypesOfSlotsAreChosenButMomentsAreNeverBelowFloats) {
    const auto slot_type = [](UpdateSettings settings, const std::string& slot) {
        SmallModel model;
        settings.slots = DType::f16;
        model.append(settings);
        return model.graph.desc(model.graph.find(slot).value()).dtype;
    };
    EXPECT_EQ(slot_type(momentum(), "all/dense/weight/Momentum"), DType::f16);
    EXPECT_EQ(slot_type(lamb(), "all/dense/weight/lamb_m"), DType::f32);
    UpdateSettings adamw = momentum();
    adamw.rule = graph::UpdateRule::adamw;
    EXPECT_EQ(slot_type(adamw, "all/dense/weight/adam_v"), DType::f32);
}

TEST(AppendUpdate, GradientsAreReadInTheTypeThatIsChosen) {
    SmallModel model;
    UpdateSettings settings = lamb();
    settings.gradient_norm = GradientNorm::limited;
    settings.gradients = DType::f16;
    model.append(settings);
    const graph::Node* update = model.update_of("all/dense/weight");
    const ValueId gradient = update->inputs.at(1);
    EXPECT_EQ(model.graph.desc(gradient), (TensorDesc{DType::f16, {3, 2}}));
    const graph::Node& cast = model.graph.node(model.graph.value(gradient).producer);
    EXPECT_EQ(cast.kind, OpKind::cast);
    EXPECT_EQ(cast.phase, graph::Phase::backward);
}

TEST(AppendUpdate, OnlyDivisionOrOnlyALimit) {
    for (const GradientNorm how : {GradientNorm::limited, GradientNorm::divides}) {
        SmallModel model;
        UpdateSettings settings = lamb();
        settings.gradient_norm = how;
        model.append(settings);
        const auto& attrs = model.updates().front()->as<graph::GradientFactorAttrs>();
        EXPECT_EQ(attrs.limit, how == GradientNorm::limited ? 1 : 0);
        EXPECT_EQ(attrs.divides, how == GradientNorm::divides);
    }
}

TEST(AppendUpdate, AddedMicroBatchesAreNotDivided) {
    SmallModel model;
    UpdateSettings settings = lamb();
    settings.adds_micro_batches = true;
    model.append(settings);
    EXPECT_EQ(model.update_of("all/dense/weight")->as<graph::UpdateAttrs>().gradient_scale, 1.0);
}

TEST(AppendUpdate, MatricesSideBySideHaveTrustsOfTheirOwn) {
    SmallModel model;
    UpdateSettings settings = lamb();
    settings.adam.column_blocks = {"dense/weight"};
    settings.adam.corrects_step = true;
    EXPECT_THROW(model.append(settings), Error);  // two columns are not three blocks
    SmallModel other;
    settings.adam.column_blocks = {"qkv"};
    other.append(settings);
    EXPECT_EQ(other.update_of("all/dense/weight")->as<graph::UpdateAttrs>().column_blocks, 1);
    EXPECT_TRUE(other.update_of("all/dense/weight")->as<graph::UpdateAttrs>().corrects_step);
}

}  // namespace
}  // namespace cnntrain::optim
