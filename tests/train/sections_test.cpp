// Which steps of a compiled graph run when: forward and backward sections per stage, on training graphs of whole networks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/ops/op_table.h"
#include "cnntrain/optim/optimiser.h"
#include "cnntrain/train/assemble.h"
#include "train/fixtures.h"
#include "train/runs/weights.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSamples = 4;

/// What a net is made of besides its options.
struct Shape {
    std::string options;
    std::vector<std::string> splits = {};  // where the pipeline's stages begin
    bool recompute = false;                // everything but the logits
};
const std::vector<std::string> kThreeStages = {"stage1/unit1/relu", "fc1"};

/// A training graph without fusions, which would not cross the stages, and what its differentiation says.
struct Training {
    graph::Graph graph;
    std::set<graph::ValueId> stashed;

    std::uint64_t stashed_elements() const {
        return std::accumulate(stashed.begin(), stashed.end(), std::uint64_t{0}, [&](std::uint64_t sum, auto value) {
            return sum + static_cast<std::uint64_t>(graph.desc(value).elements());
        });
    }
};

Training training_of(const config::Settings& settings, const backend::Backend& backend, const Shape& shape,
                     const TensorDesc& images) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.splits = shape.splits;
    nn::Model model = nn::build_training(request, ops::op_table());
    graph::Objective objective;
    objective.loss = model.values.loss;
    objective.targets = model.graph.values_with_role(graph::Role::parameter);
    if (shape.recompute) objective.recompute_points = {model.values.logits};
    const graph::Gradients gradients = graph::build_backward(model.graph, objective);
    optim::append_update(model.graph, gradients, update_settings(settings));
    model.graph.verify();
    return {std::move(model.graph), gradients.stashed};
}

backend::CompileRequest request_of(const graph::Graph& graph, const config::Settings& settings, const Shape& shape,
                                   std::vector<data::Field> fields) {
    backend::CompileRequest request = compile_request(graph, settings, std::move(fields), {}, 1);
    request.plan.stages = static_cast<std::int32_t>(shape.splits.size()) + 1;
    return request;
}

/// ResNet-8 in f32 on CIFAR, compiled with its first weights.
class Net {
public:
    explicit Net(const Shape& shape)
        : settings_(parse("--dataset cifar-10 --model-size 8 --micro-batch-size 4 --threads 1 --input-threads 1 "
                          "--precision 32.32 --optimiser momentum --synthetic-data " +
                          shape.options)
                        .settings),
          backend_(make_backend(settings_.run.backend)),
          data_(data_settings(settings_, *backend_, 1), data::Split::train),
          training_(training_of(settings_, *backend_, shape, data::field_desc(data_.fields(kSamples), data::kImages))),
          executable_(backend_->compile(request_of(training_.graph, settings_, shape, data_.fields(kSamples)))),
          stream_(data_.stream(loader_settings(settings_, 0))) {
        initialise(*executable_, training_.graph, 1);
    }

    const Training& training() const { return training_; }
    backend::Executable& executable() { return *executable_; }

    double train() { return executable_->train_step(*stream_, {0.1, steps_++}).sums.at("loss"); }
    backend::StepResult evaluate(std::int64_t batches) { return executable_->evaluate(*stream_, batches); }

    std::vector<backend::ProfileRow> profile_of_training() {
        executable_->inspection().set_profiling(true);
        train();
        return executable_->inspection().profile();
    }
    std::vector<backend::ProfileRow> profile_of_evaluation(std::int64_t batches) {
        executable_->inspection().set_profiling(true);
        evaluate(batches);
        return executable_->inspection().profile();
    }

private:
    config::Settings settings_;
    std::unique_ptr<backend::Backend> backend_;
    data::InputData data_;
    Training training_;
    std::unique_ptr<backend::Executable> executable_;
    std::unique_ptr<data::BatchSource> stream_;
    std::int64_t steps_ = 0;
};

std::int64_t count_nodes(const graph::Graph& graph, graph::Phase phase) {
    std::int64_t count = 0;
    for (std::int32_t i = 0; i < graph.node_count(); ++i)
        count += graph.node(graph::NodeId{i}).phase == phase ? 1 : 0;
    return count;
}

std::ptrdiff_t count_gradients(const std::vector<backend::ProfileRow>& rows) {
    return std::ranges::count_if(rows, [](const auto& row) { return row.op.ends_with("_grad"); });
}

class Sections : public ::testing::TestWithParam<Shape> {};

TEST_P(Sections, EvaluationOfATrainingGraphRunsItsForwardStepsOnly) {
    Net net(GetParam());
    net.train();  // prepares the weights, so that the evaluation finds them ready
    const auto trained = net.profile_of_training();
    const auto evaluated = net.profile_of_evaluation(3);
    EXPECT_GT(count_gradients(trained), 10);
    EXPECT_EQ(count_gradients(evaluated), 0);
    EXPECT_THAT(trained, Each(Field("runs", &backend::ProfileRow::runs, 1)));
    EXPECT_THAT(evaluated, Each(AllOf(Field("runs", &backend::ProfileRow::runs, 3),
                                      Field("op", &backend::ProfileRow::op, Not(HasSubstr("update"))))));
    EXPECT_GE(static_cast<std::int64_t>(evaluated.size()), count_nodes(net.training().graph, graph::Phase::forward));
    EXPECT_LT(evaluated.size(), trained.size() / 2);
}

TEST_P(Sections, EvaluationBetweenStepsChangesNothing) {
    Net alone(GetParam());
    Net watched(GetParam());
    for (int i = 0; i < 3; ++i) {
        watched.evaluate(2);
        EXPECT_EQ(watched.train(), alone.train());
    }
}

INSTANTIATE_TEST_SUITE_P(Backends, Sections,
                         ::testing::Values(Shape{"--backend cpu"}, Shape{"--backend cpu", kThreeStages},
                                           Shape{"--backend cpu", kThreeStages, true}, Shape{"--backend ref"}));

TEST(SectionsOfStages, ComputeTheSameBits) {
    for (const bool recompute : {false, true}) {
        Net whole({"", {}, recompute});
        Net staged({"", kThreeStages, recompute});
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(staged.train(), whole.train());
        EXPECT_EQ(staged.evaluate(2).sums, whole.evaluate(2).sums);
        for (const auto& [name, tensor] : stored_variables(whole.executable())) {
            EXPECT_TRUE(std::ranges::equal(tensor.bytes(), staged.executable().store(name).bytes())) << name;
        }
    }
}

TEST(SectionsOfStages, RefuseABackwardStageThatReadsWhatRunsAfterIt) {
    graph::Graph graph(ops::op_table());
    const graph::ValueId x = graph.add_parameter("x", {DType::f32, {4}}, {});
    graph.set_phase(graph::Phase::forward);
    const graph::ValueId first = graph.add_one(graph::OpKind::activation, graph::ActivationAttrs{}, {x}, "first");
    graph.set_phase(graph::Phase::backward);
    const graph::ValueId early = graph.add_one(graph::OpKind::activation, graph::ActivationAttrs{}, {first}, "early");
    graph.set_stage(graph::StageId{1});
    graph.add_one(graph::OpKind::activation, graph::ActivationAttrs{}, {early}, "late");
    try {
        static_cast<void>(backend::make_cpu_backend()->compile({&graph, {}, {.stages = 2}}));
        FAIL() << "the graph was compiled";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::internal);
        EXPECT_THAT(error.what(), HasSubstr("late, in stage 1, reads early"));
    }
}

TEST(SectionsOfStages, RefuseAPlanWithFewerStages) {
    graph::Graph graph(ops::op_table());
    graph.set_stage(graph::StageId{1});
    graph.add_one(graph::OpKind::activation, graph::ActivationAttrs{},
                  {graph.add_parameter("x", {DType::f32, {4}}, {})}, "late");
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        EXPECT_TRUE(backend->compile({&graph, {}, {.stages = 2}}));
        try {
            static_cast<void>(backend->compile({&graph}));
            FAIL() << "the graph was compiled";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::internal);
            EXPECT_THAT(error.what(), HasSubstr("late is in stage 1 of 1"));
        }
    }
}

TEST(Stash, IsWhatDifferentiationSaysThatBackwardReads) {
    Net ref({"--backend ref"});
    const std::uint64_t elements = ref.training().stashed_elements();
    EXPECT_THAT(ref.executable().report().stash_bytes, ElementsAre(elements * sizeof(double)));
    Net cpu({"--backend cpu"});
    EXPECT_THAT(cpu.executable().report().stash_bytes, ElementsAre(elements * sizeof(float)));
}

TEST(Stash, IsToldByStage) {
    for (const std::string backend : {"--backend ref", "--backend cpu"}) {
        const auto bytes_of = [&](const std::vector<std::string>& splits, bool recompute) {
            return Net({backend, splits, recompute}).executable().report().stash_bytes;
        };
        const std::vector<std::uint64_t> by_stage = bytes_of(kThreeStages, false);
        ASSERT_EQ(by_stage.size(), 3U);
        EXPECT_THAT(by_stage, Each(Gt(0U)));
        // What two stages read, each of them keeps.
        EXPECT_GE(std::accumulate(by_stage.begin(), by_stage.end(), std::uint64_t{0}), bytes_of({}, false).front());
        EXPECT_LT(by_stage.back(), by_stage.front());
        EXPECT_LT(bytes_of(kThreeStages, true).front(), by_stage.front());
    }
}

}  // namespace
}  // namespace cnntrain::train::testing
