// A small residual network from images to updated weights: gradients against differences of the loss, accumulation,
// recomputation, and rewrites, all on ref.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/passes.h"
#include "support/op_cases.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;

constexpr std::int64_t kSamples = 3;
constexpr std::int64_t kSize = 5;
constexpr std::int64_t kChannels = 4;
constexpr std::int64_t kClasses = 3;

/// conv-norm-relu twice with a shortcut around the second, pooling, dense, loss. Works for training and evaluation.
class SmallNet : public ToyGraph {
public:
    SmallNet(bool training, OpKind norm_kind) : training_(training), norm_kind_(norm_kind) {
        const ValueId images = input("images", {kSamples, kSize, kSize, 3});
        const ValueId first = activation(norm(conv(images, kChannels, "conv1"), "norm1"), "relu1");
        points.push_back(first);
        graph.set_stage(graph::StageId{1});
        const ValueId second = norm(conv(first, kChannels, "conv2"), "norm2");
        const ValueId relu = activation(sum(second, first, "sum"), "relu2");
        const ValueId third = norm(conv(relu, kChannels, "conv3"), "norm3");
        const ValueId logits = dense(average_pool(activation(third, "relu3")), kClasses, "fc");
        loss_ = cross_entropy(logits, 0.1);
    }

    /// Gradients and momentum updates of all parameters, and moving averages of the norms' statistics.
    graph::Gradients add_training(const std::vector<ValueId>& recompute_points, double gradient_scale) {
        graph::Gradients gradients = differentiate(loss_, recompute_points);
        update_all(gradients, {.rule = graph::UpdateRule::momentum,
                               .gradient_scale = gradient_scale,
                               .weight_decay = 0.01,
                               .learning_rate_scale = 1,
                               .momentum = 0.9});
        for (const auto& [name, mean] : means_) {
            const ValueId moving = graph.add_moving_average(name + "/moving_mean", graph.desc(mean), {});
            graph.add(OpKind::moving_average_update, graph::MovingAverageAttrs{0.5, gradient_scale}, {moving, mean},
                      name + "/moving");
        }
        return gradients;
    }

    std::vector<ValueId> points;

private:
    ValueId norm(ValueId x, const std::string& name) {
        std::vector<ValueId> inputs = {x, parameter(name + "/gamma", {kChannels}),
                                       parameter(name + "/beta", {kChannels})};
        graph::NormAttrs attrs;
        if (norm_kind_ == OpKind::group_norm) attrs.groups = 2;
        if (!training_ && norm_kind_ == OpKind::batch_norm) {
            const TensorDesc vector{DType::f32, {kChannels}};
            inputs.push_back(graph.add_moving_average(name + "/moving_mean", vector, {}));
            inputs.push_back(graph.add_moving_average(name + "/moving_variance", vector, {}));
            return graph.add_one(OpKind::batch_norm_inference, attrs, inputs, name);
        }
        const auto outputs = graph.add(norm_kind_, attrs, inputs, name);
        if (norm_kind_ == OpKind::batch_norm) means_[name] = outputs[1];
        return outputs[0];
    }

    bool training_;
    OpKind norm_kind_;
    ValueId loss_;
    std::map<std::string, ValueId> means_;
};

/// Hands out different micro-batches in turn.
class TwoBatches : public TensorSource {
public:
    TwoBatches()
        : TensorSource({{"images", HostTensor({DType::f32, {kSamples, kSize, kSize, 3}})},
                        {"labels", HostTensor({DType::i32, {kSamples}})}}) {}

private:
    void fill(std::int64_t batch) override {
        const auto i = static_cast<std::size_t>(batch % 2);
        tensor(0) = images_[i];
        tensor(1) = labels_[i];
    }

    TensorDesc desc_{DType::f32, {kSamples, kSize, kSize, 3}};
    std::array<HostTensor, 2> images_{random_tensor(desc_, 100, -1, 1), random_tensor(desc_, 101, -1, 1)};
    std::array<HostTensor, 2> labels_{HostTensor::of<std::int32_t>({kSamples}, {0, 2, 1}),
                                      HostTensor::of<std::int32_t>({kSamples}, {1, 1, -1})};
};

std::unique_ptr<Executable> compile(const Graph& graph, std::int64_t micro_batches = 1,
                                    const backend::Backend& backend = *backend::make_ref_backend(),
                                    const std::function<bool()>& stop_requested = {}) {
    backend::CompileRequest request;
    request.graph = &graph;
    request.runtime.stop_requested = stop_requested;
    request.plan = {.accumulation = micro_batches, .devices = {0, 0}, .updates_per_call = 3};
    request.fields = TwoBatches().fields();
    auto executable = backend.compile(request);
    std::uint64_t index = 0;
    for (const auto& [name, desc] : executable->report().variables) {
        const bool positive = name.find("gamma") != std::string::npos || name.find("variance") != std::string::npos;
        const bool zero = name.find("velocity") != std::string::npos;
        const double low = positive ? 0.5 : -0.5;
        if (!zero) executable->load(name, random_tensor(desc, index, low, low + 1));
        ++index;
    }
    return executable;
}

struct NamedGradients {
    std::map<std::string, HostTensor> of;
    double loss = 0;
};

NamedGradients gradients_of(const Graph& graph, std::int64_t micro_batches = 1, bool second_batch = false) {
    const auto executable = compile(graph, micro_batches);
    TwoBatches source;
    if (second_batch) source.next();
    NamedGradients result;
    result.loss = executable->train_step(source, {.learning_rate = 0.1, .iteration = 0}).sums.at("loss");
    for (const ValueId p : graph.values_with_role(graph::Role::parameter)) {
        const std::string& name = graph.value(p).name;
        result.of[name] = executable->gradient(name);
    }
    return result;
}

void expect_near(const NamedGradients& got, const NamedGradients& want, double tolerance) {
    EXPECT_NEAR(got.loss, want.loss, tolerance);
    ASSERT_EQ(got.of.size(), want.of.size());
    for (const auto& [name, tensor] : want.of) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            EXPECT_NEAR(got.of.at(name).at(i), tensor.at(i), tolerance) << name << "[" << i << "]";
        }
    }
}

class WholeGraph : public testing::TestWithParam<OpKind> {};
INSTANTIATE_TEST_SUITE_P(Norms, WholeGraph, testing::Values(OpKind::batch_norm, OpKind::group_norm),
                         [](const auto& parameter) {
                             return std::string(ops::op_table()[static_cast<std::size_t>(parameter.param)].name);
                         });

/// The loss as a function of the parameters, in double precision throughout.
class LossFunction {
public:
    explicit LossFunction(const Graph& graph) : graph_(graph) {
        const auto executable = compile(graph);
        TwoBatches source;
        const data::Batch batch = source.next();
        for (std::int32_t i = 0; i < graph.value_count(); ++i) {
            const graph::Value& value = graph.value(ValueId{i});
            values_.push_back({value.desc, std::vector<double>(static_cast<std::size_t>(value.desc.elements()))});
            if (value.role == graph::Role::parameter) fill(ValueId{i}, executable->store(value.name));
        }
        std::ranges::copy(batch.as<float>(0), at(*graph.find("images")).begin());
        std::ranges::copy(batch.as<std::int32_t>(1), at(*graph.find("labels")).begin());
    }

    std::vector<double>& at(ValueId id) { return values_.at(static_cast<std::size_t>(id.index)).values; }

    double operator()() {
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            const graph::NodeId id{i};
            if (graph_.node(id).phase == Phase::forward) backend::evaluate_node(graph_, id, values_);
        }
        return at(graph_.outputs().front().value)[0];
    }

private:
    void fill(ValueId id, const HostTensor& tensor) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            at(id)[static_cast<std::size_t>(i)] = tensor.at(i);
    }

    const Graph& graph_;
    std::vector<graph::RefTensor> values_;
};

TEST_P(WholeGraph, GradientsOfAllParametersAgreeWithDifferences) {
    SmallNet net(true, GetParam());
    net.add_training({}, 1);
    const NamedGradients gradients = gradients_of(net.graph);
    LossFunction loss(net.graph);
    EXPECT_NEAR(loss(), gradients.loss, 1e-12);
    for (const ValueId p : net.graph.values_with_role(graph::Role::parameter)) {
        const std::string& name = net.graph.value(p).name;
        for (std::size_t i = 0; i < loss.at(p).size(); i += 5) {
            const double step = 1e-6;
            const double original = loss.at(p)[i];
            loss.at(p)[i] = original + step;
            const double above = loss();
            loss.at(p)[i] = original - step;
            const double below = loss();
            loss.at(p)[i] = original;
            const double numeric = (above - below) / (2 * step);
            EXPECT_NEAR(gradients.of.at(name).at(static_cast<std::int64_t>(i)), numeric,
                        1e-6 + 1e-5 * std::abs(numeric))
                << name << "[" << i << "]";
        }
    }
}

TEST_P(WholeGraph, TwoMicroBatchesGiveTheSumOfTheirGradients) {
    SmallNet net(true, GetParam());
    net.add_training({}, 0.5);
    NamedGradients sum = gradients_of(net.graph);
    const NamedGradients second = gradients_of(net.graph, 1, true);
    sum.loss += second.loss;
    for (auto& [name, tensor] : sum.of) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            tensor.set(i, tensor.at(i) + second.of.at(name).at(i));
    }
    expect_near(gradients_of(net.graph, 2), sum, 1e-5);
}

TEST_P(WholeGraph, RecomputationChangesNoGradient) {
    SmallNet kept(true, GetParam());
    const graph::Gradients all = kept.add_training({}, 1);
    SmallNet recomputing(true, GetParam());
    const graph::Gradients few = recomputing.add_training(recomputing.points, 1);
    recomputing.graph.verify();
    expect_near(gradients_of(recomputing.graph), gradients_of(kept.graph), 0);
    EXPECT_LT(few.stashed.size(), all.stashed.size());
    const ValueId images = *recomputing.graph.find("images");
    const ValueId labels = *recomputing.graph.find("labels");
    EXPECT_EQ(few.stashed, (std::set<ValueId>{images, labels, recomputing.points[0]}));
    EXPECT_NE(recomputing.graph.to_text().find("recomputed"), std::string::npos);
}

TEST_P(WholeGraph, RewritesChangeNoGradient) {
    SmallNet plain(true, GetParam());
    plain.add_training({}, 1);
    SmallNet fused(true, GetParam());
    fused.graph.set_stage(graph::StageId{0});
    const std::int32_t nodes = fused.graph.node_count();
    Graph forward = graph::apply_rewrites(fused.graph, backend::make_cpu_backend()->rewrites().training);
    EXPECT_EQ(forward.node_count(), nodes - 4);  // three activations and one addition

    const ValueId loss = forward.outputs().front().value;
    const std::vector<ValueId> parameters = forward.values_with_role(graph::Role::parameter);
    const graph::Gradients gradients =
        graph::build_backward(forward, {.loss = loss, .seed = 1, .targets = parameters, .recompute_points = {}});
    const ValueId rate = forward.add_scalar("learning_rate");
    const ValueId step = forward.add_scalar("step");
    const ValueId scaling = forward.add_scalar("loss_scaling");
    forward.set_phase(Phase::update);
    for (const ValueId p : parameters) {
        forward.add(OpKind::update, graph::UpdateAttrs{}, {p, gradients.of.at(p), rate, step, scaling}, "update");
    }
    Graph trained = graph::apply_rewrites(forward, backend::make_cpu_backend()->rewrites().backward);
    EXPECT_NE(trained.to_text().find("summed gradient"), std::string::npos);
    trained = graph::apply_rewrites(std::move(trained), backend::make_cpu_backend()->rewrites().one_stage);
    EXPECT_NE(trained.to_text().find("recomputed"), std::string::npos);
    const NamedGradients got = gradients_of(trained);
    const NamedGradients want = gradients_of(plain.graph);
    EXPECT_NEAR(got.loss, want.loss, 1e-12);
    expect_near(got, want, 1e-7);
}

TEST(WholeGraphUpdate, MomentumAndMovingAveragesFollowTheirFormulas) {
    SmallNet net(true, OpKind::batch_norm);
    net.add_training({}, 0.5);
    const auto executable = compile(net.graph, 2);
    const HostTensor before = executable->store("fc/weight");
    TwoBatches source;
    executable->train_step(source, {.learning_rate = 0.1, .iteration = 0});
    const HostTensor gradient = executable->gradient("fc/weight");
    const HostTensor after = executable->store("fc/weight");
    for (std::int64_t i = 0; i < before.elements(); ++i) {
        const double velocity = 0.5 * gradient.at(i) + 0.01 * before.at(i);
        EXPECT_NEAR(executable->store("fc/weight/velocity").at(i), velocity, 1e-6);
        EXPECT_NEAR(after.at(i), before.at(i) - 0.1 * velocity, 1e-6);
    }
    // The weights stay with the learning rate 0; the moving averages do not.
    const double moving = executable->store("norm1/moving_mean").at(0);
    executable->train_step(source, {.learning_rate = 0, .iteration = 1});
    EXPECT_EQ(executable->store("fc/weight").at(0), after.at(0));
    const double mean = executable->gradient("norm1/moving_mean").at(0) / 2;
    EXPECT_NEAR(executable->store("norm1/moving_mean").at(0), 0.5 * moving + 0.5 * mean, 1e-6);
}

/// Parameters, slots and moving averages.
std::vector<HostTensor> variables_of(const Executable& executable) {
    std::vector<HostTensor> variables;
    for (const std::string& name : executable.variable_names())
        variables.push_back(executable.store(name));
    return variables;
}

bool same(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
    return std::ranges::equal(
        a, b, [](const HostTensor& x, const HostTensor& y) { return std::ranges::equal(x.bytes(), y.bytes()); });
}

TEST(WholeGraphStop, AnUpdateThatIsCutChangesNothingAndCanBeRepeated) {
    SmallNet net(true, OpKind::batch_norm);
    net.add_training({}, 0.25);
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        SCOPED_TRACE(backend->name());
        int asked = 0;
        bool stopping = false;
        const auto stop_requested = [&] { return ++asked == 2 && stopping; };
        const auto executable = compile(net.graph, 4, *backend, stop_requested);
        const std::vector<HostTensor> before = variables_of(*executable);
        TwoBatches whole;
        EXPECT_FALSE(executable->train_step(whole, {.learning_rate = 0.1, .iteration = 0}).stopped);
        EXPECT_EQ(asked, 4);  // between four micro-batches, and at the end
        const std::vector<HostTensor> after = variables_of(*executable);
        ASSERT_FALSE(same(before, after));

        asked = 0;
        stopping = true;
        const auto again = compile(net.graph, 4, *backend, stop_requested);
        TwoBatches cut;
        const backend::StepResult result = again->train_step(cut, {.learning_rate = 0.1, .iteration = 0});
        EXPECT_TRUE(result.stopped);
        EXPECT_EQ(result.samples, 5);  // of two micro-batches, one of which has two samples
        EXPECT_TRUE(same(variables_of(*again), before));

        stopping = false;
        TwoBatches from_the_first;
        EXPECT_FALSE(again->train_step(from_the_first, {.learning_rate = 0.1, .iteration = 0}).stopped);
        EXPECT_TRUE(same(variables_of(*again), after));
    }
}

TEST(WholeGraphStop, AnUpdateGoesOnInAnotherExecutableWhereItWasCut) {
    SmallNet net(true, OpKind::batch_norm);
    net.add_training({}, 0.25);
    constexpr std::int64_t kMicroBatches = 4;
    constexpr backend::StepScalars kScalars{.learning_rate = 0.1, .iteration = 0};
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        SCOPED_TRACE(backend->name());
        const auto undisturbed = compile(net.graph, kMicroBatches, *backend);
        TwoBatches whole;
        const backend::StepResult expected = undisturbed->train_step(whole, kScalars);
        for (std::int64_t done = 1; done < kMicroBatches; ++done) {
            SCOPED_TRACE(::testing::Message() << "after micro-batch " << done);
            std::int64_t asked = 0;
            const auto cut = compile(net.graph, kMicroBatches, *backend, [&] { return ++asked == done; });
            TwoBatches source;
            backend::PartialUpdate partial;
            EXPECT_TRUE(cut->train_step(source, kScalars, &partial).stopped);
            EXPECT_EQ(partial.micro_batches, done);
            const auto next = compile(net.graph, kMicroBatches, *backend);
            EXPECT_EQ(next->report().partial_form, cut->report().partial_form);
            const backend::StepResult result = next->train_step(source, kScalars, &partial);
            EXPECT_TRUE(result.counts && partial.empty());
            EXPECT_EQ(result.sums, expected.sums);
            EXPECT_EQ(result.samples, expected.samples);
            EXPECT_TRUE(same(variables_of(*next), variables_of(*undisturbed)));
            EXPECT_NE(next->report().partial_form, compile(net.graph, 3, *backend)->report().partial_form);
        }
    }
}

TEST(WholeGraphStop, UpdatesOfOneCallStopBetweenThem) {
    SmallNet net(true, OpKind::batch_norm);
    net.add_training({}, 1);
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        SCOPED_TRACE(backend->name());
        int asked = 0;
        const auto second_time = [&] { return ++asked == 2; };  // at the end of an update, then before the next one
        const auto executable = compile(net.graph, 1, *backend, second_time);
        const auto one_update = compile(net.graph, 1, *backend);
        const std::vector<backend::StepScalars> updates(3, {.learning_rate = 0.1});
        TwoBatches source;
        std::int64_t counted = 0;
        executable->train(source, updates,
                          [&](const backend::StepResult& result) { counted += result.counts ? 1 : 0; });
        EXPECT_EQ(counted, 1);
        TwoBatches same_source;
        one_update->train_step(same_source, updates.front());
        EXPECT_TRUE(same(variables_of(*executable), variables_of(*one_update)));
    }
}

TEST(WholeGraphStop, AnEvaluationStopsBetweenMicroBatches) {
    const SmallNet net(false, OpKind::batch_norm);
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        SCOPED_TRACE(backend->name());
        const auto executable = compile(net.graph, 1, *backend, [] { return true; });
        TwoBatches source;
        const backend::StepResult result = executable->evaluate(source, 100);
        EXPECT_TRUE(result.stopped);
        EXPECT_EQ(result.samples, 3);  // of the first
    }
}

/// The primitive adds to what is in its output, so a residual that dies lends its memory, unless the convolution reads
/// that memory, too.
TEST(WholeGraphEvaluation, AConvolutionMayAddItsOwnInput) {
    constexpr std::int64_t kWide = 16;  // channels of a layout that a primitive adds to in place
    const TensorDesc images{DType::f32, {2, kSize, kSize, kWide}};
    const TensorDesc weights{DType::f32, {3, 3, kWide, kWide}};
    ToyGraph net;
    const ValueId x = net.activation(net.input("images", images.shape), "relu");
    const ValueId w = net.parameter("w", weights.shape);
    graph::ConvAttrs attrs;
    attrs.padding = graph::same_padding(kSize, kSize, 3, 1);
    attrs.residual = true;
    net.graph.mark_output("y", net.graph.add_one(OpKind::conv2d, attrs, {x, w, x}, "conv"));
    std::vector<HostTensor> results;
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        TensorSource source({{"images", random_tensor(images, 1, -1, 1)}});
        const auto executable = backend->compile({&net.graph, source.fields()});
        executable->load("w", random_tensor(weights, 2, -1, 1));
        executable->evaluate(source, 1);
        results.push_back(executable->output("y"));
    }
    for (std::int64_t i = 0; i < results[0].elements(); ++i)
        ASSERT_NEAR(results[0].at(i), results[1].at(i), 1e-4) << i;
}

TEST(WholeGraphEvaluation, FoldedNormsGiveTheSameLoss) {
    const SmallNet net(false, OpKind::batch_norm);
    const Graph folded = graph::apply_rewrites(net.graph, backend::make_cpu_backend()->rewrites().evaluation);
    EXPECT_EQ(folded.to_text().find("batch_norm_inference"), std::string::npos) << folded.to_text();
    TwoBatches first;
    TwoBatches second;
    const auto plain_result = compile(net.graph)->evaluate(first, 2);
    const auto folded_result = compile(folded)->evaluate(second, 2);
    EXPECT_NEAR(plain_result.sums.at("loss"), folded_result.sums.at("loss"), 1e-10);
    EXPECT_EQ(plain_result.samples, 5);
}

}  // namespace
}  // namespace cnntrain::test
