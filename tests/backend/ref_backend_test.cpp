// The contract of an executable, on graphs small enough to do by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/op_cases.h"
#include "support/thread_communicators.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::CompileRequest;
using backend::Executable;
using backend::make_ref_backend;

/// loss = sum over the batch of cross-entropy of (images + 0) * w + b, with SGD on w and b.
struct Linear : ToyGraph {
    Linear() {
        const ValueId images = input("images", {2, 1, 1, 1});
        const ValueId w = parameter("w", {1, 2});
        const ValueId b = graph.add_parameter("b", {DType::bf16, {2}}, {});
        const ValueId half = cast(w, DType::bf16, "w16");
        const ValueId x16 = cast(average_pool(images), DType::bf16, "x16");
        const ValueId y = graph.add_one(OpKind::dense, graph::DenseAttrs{}, {x16, half, b}, "fc");
        cross_entropy(y);
        graph.mark_output("logits", y);
        graph.set_phase(Phase::backward);
        const ValueId one = graph.add_one(OpKind::constant, graph::ConstantAttrs{1, {DType::f32, {}}}, {}, "one");
        const ValueId labels = *graph.find("labels");
        const ValueId dy =
            graph.add_one(OpKind::softmax_cross_entropy_grad, graph::SoftmaxAttrs{}, {y, labels, one}, "dy");
        const ValueId dw = graph.add_one(OpKind::dense_weight_grad, graph::DenseAttrs{}, {x16, dy}, "dw");
        const ValueId db = graph.add_one(OpKind::bias_grad, NoAttrs{}, {dy}, "db");
        graph.mark_output("db", db);
        update_all({.of = {{w, dw}, {b, db}}, .stashed = {}}, {});
        graph.verify();
    }
};

TensorSource batch_of(double first, double second, std::int32_t first_label, std::int32_t second_label) {
    HostTensor images({DType::f32, {2, 1, 1, 1}});
    images.set(0, first);
    images.set(1, second);
    return TensorSource(
        {{"images", images}, {"labels", HostTensor::of<std::int32_t>({2}, {first_label, second_label})}});
}

std::unique_ptr<Executable> compile(const Graph& graph, std::int64_t micro_batches = 1, bool check_finite = true,
                                    const backend::RefSettings& settings = {}) {
    CompileRequest request;
    request.graph = &graph;
    request.plan.accumulation = micro_batches;
    request.plan.updates_per_call = 3;
    request.runtime.check_finite = check_finite;
    request.fields = batch_of(0, 0, 0, 0).fields();
    return make_ref_backend(settings)->compile(request);
}

TEST(RefBackend, SumsLossesAndGradientsOverMicroBatches) {
    const Linear linear;
    const auto executable = compile(linear.graph, 3);
    TensorSource source = batch_of(2, 4, 0, -1);  // the second sample is padding
    const auto result = executable->train_step(source, {.learning_rate = 0.1, .iteration = 0});
    EXPECT_EQ(source.pulls(), 3);
    EXPECT_EQ(result.samples, 3);
    EXPECT_NEAR(result.sums.at("loss"), 3 * std::log(2.0), 1e-12);
    EXPECT_EQ(result.sums.at("correct"), 3);
    EXPECT_EQ(result.sums.count("logits"), 0U);
    // Probabilities are 1/2: dlogits = -1/2, 1/2 and x = 2, three times.
    EXPECT_THAT(executable->gradient("w").as<float>(), ElementsAre(-3, 3));
    EXPECT_THAT(executable->gradient("b").as<float>(), ElementsAre(-1.5F, 1.5F));
    EXPECT_THAT(executable->store("w").as<float>(), ElementsAre(0.3F, -0.3F));
    EXPECT_EQ(executable->output("db").at(1), 0.5);  // the last micro-batch's own value
}

TEST(RefBackend, VariablesAreRoundedOnlyWhenStored) {
    const Linear linear;
    const auto executable = compile(linear.graph);
    TensorSource source = batch_of(0, 0, 0, -1);
    const HostTensor start = HostTensor({DType::f32, {2}});
    HostTensor ones(start.cast(DType::bf16));
    ones.set(0, 256);
    ones.set(1, 256);
    executable->load("b", ones);
    // dlogits = -1/2, 1/2: six steps of 1/2 are lost one by one in bf16 near 256, where its spacing is 2.
    for (int i = 0; i < 6; ++i)
        executable->train_step(source, {.learning_rate = 1, .iteration = i});
    const double moved = executable->store("b").at(0) - 256;
    EXPECT_GT(moved, 0);
    EXPECT_EQ(executable->store("b").dtype(), DType::bf16);
    EXPECT_EQ(std::fmod(moved, 2), 0);
}

TEST(RefBackend, EvaluatesForwardOnly) {
    const Linear linear;
    const auto executable = compile(linear.graph, 5);
    executable->load("w", HostTensor::of<float>({1, 2}, {1, 0}));
    TensorSource source = batch_of(0, 1, 1, 0);
    const auto result = executable->evaluate(source, 2);
    EXPECT_EQ(source.pulls(), 2);
    EXPECT_EQ(result.samples, 4);
    EXPECT_NEAR(result.sums.at("loss"), 2 * (std::log(2.0) + std::log(1 + std::exp(-1.0))), 1e-12);
    EXPECT_EQ(result.sums.at("correct"), 2);
    EXPECT_THAT(executable->store("w").as<float>(), ElementsAre(1, 0));
    const HostTensor logits = executable->output("logits");
    EXPECT_EQ(logits.desc(), (TensorDesc{DType::bf16, {2, 2}}));
    EXPECT_EQ(logits.at(2), 1);
}

TEST(RefBackend, NamesTheFirstNonFiniteTensor) {
    const Linear linear;
    const auto executable = compile(linear.graph, 1, false);
    EXPECT_EQ(executable->first_non_finite(), std::nullopt);
    TensorSource source = batch_of(NAN, 0, 0, 0);
    executable->train_step(source, {.learning_rate = 0, .iteration = 0});
    EXPECT_EQ(executable->first_non_finite(), "w[0]");  // 0 * NaN
    executable->load("w", HostTensor::of<float>({1, 2}, {1, 2}));
    HostTensor b({DType::bf16, {2}});
    b.set(1, INFINITY);
    executable->load("b", b);
    EXPECT_EQ(executable->first_non_finite(), "b[1]");
    executable->load("b", HostTensor({DType::bf16, {2}}));
    EXPECT_EQ(executable->first_non_finite(), "dw[0]");
}

TEST(RefBackend, AnUpdateWhoseLossIsNotFiniteDoesNotCount) {
    const Linear linear;
    const auto executable = compile(linear.graph);
    TensorSource source = batch_of(NAN, 0, 0, 0);
    const backend::StepScalars scalars{.learning_rate = 1};
    std::vector<bool> counted;
    executable->train(source, std::vector{scalars, scalars},
                      [&](const backend::StepResult& result) { counted.push_back(result.counts); });
    EXPECT_THAT(counted, ElementsAre(false));  // and is the last one
    EXPECT_THAT(executable->store("w").as<float>(), ElementsAre(0, 0));
}

TEST(RefBackend, SeveralUpdatesAreOneByOne) {
    const Linear linear;
    const auto together = compile(linear.graph, 2);
    const auto alone = compile(linear.graph, 2);
    TensorSource source = batch_of(2, 4, 0, 1);
    const std::vector<backend::StepScalars> updates = {{0.1, 0}, {0.2, 1}, {0.3, 2}};
    std::vector<double> losses;
    together->train(source, updates,
                    [&](const backend::StepResult& result) { losses.push_back(result.sums.at("loss")); });
    EXPECT_EQ(source.pulls(), 6);
    std::vector<double> expected;
    for (const backend::StepScalars& scalars : updates)
        expected.push_back(alone->train_step(source, scalars).sums.at("loss"));
    EXPECT_EQ(losses, expected);
    EXPECT_EQ(together->store("w").at(0), alone->store("w").at(0));
    EXPECT_THROW(together->train(source, std::vector<backend::StepScalars>(4), [](const auto&) {}), Error);
}

TEST(RefBackend, RoundsValuesToTheirTypesWhenAskedTo) {
    const Linear linear;
    const auto exact = compile(linear.graph);
    const auto rounding = compile(linear.graph, 1, true, {.rounds = true});
    TensorSource source = batch_of(1.0 / 3, 4, 0, 1);
    for (const auto& executable : {exact.get(), rounding.get()})
        executable->train_step(source, {.learning_rate = 0.1});
    const double value = exact->gradient("w").at(0);
    const double rounded = rounding->gradient("w").at(0);
    EXPECT_NE(value, rounded);  // its input was bf16
    EXPECT_NEAR(value, rounded, 0.01 * std::abs(value));
}

TEST(RefBackend, SixteenBitsMayBeHalf) {
    const auto half = make_ref_backend({.half = DType::f16});
    EXPECT_EQ(half->half_type(), DType::f16);
    EXPECT_EQ(half->fastest_arithmetic().type, DType::f16);
    EXPECT_EQ(make_ref_backend()->half_type(), DType::bf16);
    EXPECT_THROW(make_ref_backend({.half = DType::f32}), Error);
}

TEST(Settle, UpdatesCountUnlessStoppedOrNotFinite) {
    backend::StepResult result;
    result.sums = {{"correct", 3}, {"loss", 0.5}};
    EXPECT_TRUE(backend::settle(result, true));
    result.sums["loss"] = INFINITY;
    EXPECT_FALSE(backend::settle(result, true));
    EXPECT_TRUE(backend::settle(result, false));
    result.stopped = true;
    EXPECT_FALSE(backend::settle(result, false));
}

TEST(RefBackend, ConvertsLoadedTensorsToTheTypeOfTheVariable) {
    const Linear linear;
    const auto executable = compile(linear.graph);
    executable->load("b", HostTensor::of<float>({2}, {1.0F / 3, 0.5F}));
    const HostTensor stored = executable->store("b");
    EXPECT_EQ(stored.desc().dtype, DType::bf16);
    EXPECT_EQ(stored.at(0), HostTensor::of<float>({1}, {1.0F / 3}).cast(DType::bf16).at(0));
    EXPECT_EQ(stored.at(1), 0.5);
}

TEST(RefBackend, RefusesToTrainInSeveralProcesses) {
    const Linear linear;
    const auto communicators = comm::make_thread_communicators(2, {});
    CompileRequest request;
    request.graph = &linear.graph;
    request.fields = batch_of(0, 0, 0, 0).fields();
    request.peers.communicator = communicators.front().get();
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { make_ref_backend()->compile(request); }),
                HasSubstr("--backend"));
}

TEST(RefBackend, RefusesWrongNamesAndShapes) {
    const Linear linear;
    const auto executable = compile(linear.graph);
    EXPECT_THAT(executable->variable_names(), ElementsAre("w", "b"));
    EXPECT_THAT(message_of(ErrorKind::data,
                           [&] {
                               executable->load("w", HostTensor({DType::f32, {2, 1}}));
                           }),
                HasSubstr("[1, 2]"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { static_cast<void>(executable->store("v")); }), HasSubstr("'v'"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { static_cast<void>(executable->output("logit")); }),
                HasSubstr("'logits'"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { static_cast<void>(executable->store("learning_rate")); }),
                HasSubstr("parameter"));
    TensorSource other({{"images", HostTensor({DType::u8, {2, 1, 1, 1}})}, {"labels", HostTensor({DType::i32, {2}})}});
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { executable->evaluate(other, 1); }), HasSubstr("f32[2, 1, 1, 1]"));
}

TEST(RefBackend, AGraphWithoutInputsNeverTouchesTheSource) {
    ToyGraph toy;
    toy.graph.mark_output("y", toy.activation(toy.parameter("w", {2}), "relu"));
    const auto executable = compile(toy.graph);
    executable->load("w", HostTensor::of<float>({2}, {-1, 3}));
    TensorSource source = batch_of(0, 0, 0, 0);
    EXPECT_EQ(executable->evaluate(source, 1).samples, 0);
    EXPECT_EQ(source.pulls(), 0);
    EXPECT_THAT(executable->output("y").as<float>(), ElementsAre(0, 3));
}

TEST(RefBackend, RefusesEverythingItCannotRunAtOnce) {
    graph::OpTable crippled = ops::op_table();
    crippled[static_cast<std::size_t>(OpKind::activation)].evaluate = nullptr;
    Graph graph(crippled);
    const ValueId x = graph.add_input("pictures", {DType::f32, {2}});
    graph.add_scalar("temperature");
    graph.add_one(OpKind::activation, graph::ActivationAttrs{}, {x}, "first");
    graph.add_one(OpKind::activation, graph::ActivationAttrs{}, {x}, "second");
    const std::string text = message_of(ErrorKind::unsupported, [&] { compile(graph); });
    EXPECT_THAT(text, HasSubstr("the ref backend cannot execute this graph"));
    EXPECT_THAT(text, HasSubstr("f32[2]"));
    EXPECT_THAT(text, HasSubstr("f32[2, 1, 1, 1]"));
    EXPECT_THAT(text, HasSubstr("temperature"));
    EXPECT_THAT(text, HasSubstr("first (activation): the op has no naive evaluator"));
    EXPECT_THAT(text, HasSubstr("second (activation)"));
}

TEST(RefBackend, ProfilesNodesWithTheirWork) {
    const Linear linear;
    const auto executable = compile(linear.graph, 2);
    TensorSource source = batch_of(1, 2, 0, 1);
    executable->train_step(source, {});
    EXPECT_TRUE(executable->profile().rows.empty());
    executable->set_profiling(true);
    executable->train_step(source, {});
    const auto rows = executable->profile().rows;
    ASSERT_EQ(rows.size(), static_cast<std::size_t>(linear.graph.node_count()));
    EXPECT_EQ(rows[3].name, "fc");
    EXPECT_EQ(rows[3].op, "dense");
    EXPECT_DOUBLE_EQ(rows[3].gflops, 2.0 * 2 * 1 * 2 * 1e-9);
    EXPECT_DOUBLE_EQ(rows[3].megabytes, (4 + 4 + 4 + 8) * 1e-6);
    EXPECT_GT(executable->report().flops_per_micro_batch, 0);
}

}  // namespace
}  // namespace cnntrain::test
