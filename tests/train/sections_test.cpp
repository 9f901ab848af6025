// Sections of a compiled graph: forward and backward steps per stage, on training graphs of whole networks.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/run/weights.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/toy_graph.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

using ::testing::Field;
using ::testing::Gt;

const std::vector<std::string> kThreeStages = {"stage1/unit1/relu", "fc1"};

std::int64_t count_nodes(const graph::Graph& graph, graph::Phase phase) {
    std::int64_t count = 0;
    for (const graph::Node& node : graph.nodes())
        count += node.phase == phase ? 1 : 0;
    return count;
}

std::ptrdiff_t count_gradients(const std::vector<backend::ProfileRow>& rows) {
    return std::ranges::count_if(rows, [](const auto& row) { return row.op.ends_with("_grad"); });
}

class Sections : public ::testing::TestWithParam<Shape> {};

TEST_P(Sections, EvaluationOfATrainingGraphRunsItsForwardStepsOnly) {
    CompiledNet net(GetParam());
    net.train();  // prepares the weights, so that the evaluation finds them ready
    const auto trained = net.profile_of_training();
    const auto evaluated = net.profile_of_evaluation(3);
    EXPECT_GT(count_gradients(trained), 10);
    EXPECT_EQ(count_gradients(evaluated), 0);
    EXPECT_THAT(trained, Each(Field("runs", &backend::ProfileRow::runs, 1)));
    EXPECT_THAT(evaluated, Each(AllOf(Field("runs", &backend::ProfileRow::runs, 3),
                                      Field("op", &backend::ProfileRow::op, Not(HasSubstr("update"))))));
    EXPECT_GE(static_cast<std::int64_t>(evaluated.size()), count_nodes(net.graph(), graph::Phase::forward));
    EXPECT_LT(evaluated.size(), trained.size() / 2);
}

TEST_P(Sections, EvaluationBetweenStepsChangesNothing) {
    CompiledNet alone(GetParam());
    CompiledNet watched(GetParam());
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
        CompiledNet whole(Shape{"", {}, recompute});
        CompiledNet staged({"", kThreeStages, recompute});
        for (int i = 0; i < 3; ++i)
            EXPECT_EQ(staged.train(), whole.train());
        EXPECT_EQ(staged.evaluate(2).sums, whole.evaluate(2).sums);
        for (const auto& [name, tensor] : stored_variables(whole.executable())) {
            EXPECT_TRUE(std::ranges::equal(tensor.bytes(), staged.executable().store(name).bytes())) << name;
        }
    }
}

TEST(SectionsOfStages, RefuseABackwardStageThatReadsWhatRunsAfterIt) {
    test::ToyGraph net;
    const graph::ValueId first = net.activation(net.parameter("x", {4}), "first");
    net.graph.set_phase(graph::Phase::backward);
    const graph::ValueId early = net.activation(first, "early");
    net.graph.set_stage(graph::StageId{1});
    net.activation(early, "late");
    EXPECT_THAT(
        message_of(ErrorKind::internal,
                   [&] {
                       static_cast<void>(backend::make_cpu_backend()->compile({&net.graph, {}, {.devices = {0, 0}}}));
                   }),
        Not(IsEmpty()));
}

TEST(SectionsOfStages, RefuseAPlanWithFewerStages) {
    test::ToyGraph net;
    net.graph.set_stage(graph::StageId{1});
    net.activation(net.parameter("x", {4}), "late");
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        EXPECT_TRUE(backend->compile({&net.graph, {}, {.devices = {0, 0}}}));
        EXPECT_THAT(message_of(ErrorKind::internal, [&] { static_cast<void>(backend->compile({&net.graph})); }),
                    HasSubstr("1 of 1"));
    }
}

TEST(Stash, IsWhatDifferentiationSaysThatBackwardReads) {
    CompiledNet ref(Shape{"--backend ref"});
    const std::uint64_t elements = ref.stashed_elements();
    EXPECT_THAT(ref.executable().report().stash_bytes, ElementsAre(elements * sizeof(double)));
    CompiledNet cpu(Shape{"--backend cpu"});
    EXPECT_THAT(cpu.executable().report().stash_bytes, ElementsAre(elements * sizeof(float)));
}

TEST(Stash, IsToldByStage) {
    for (const std::string backend : {"--backend ref", "--backend cpu"}) {
        const auto bytes_of = [&](const std::vector<std::string>& splits, bool recompute) {
            return CompiledNet({backend, splits, recompute}).executable().report().stash_bytes;
        };
        const std::vector<std::uint64_t> by_stage = bytes_of(kThreeStages, false);
        ASSERT_EQ(by_stage.size(), 3U);
        EXPECT_THAT(by_stage, Each(Gt(0U)));
        // Each of two stages keeps what both of them read.
        EXPECT_GE(std::accumulate(by_stage.begin(), by_stage.end(), std::uint64_t{0}), bytes_of({}, false).front());
        EXPECT_LT(by_stage.back(), by_stage.front());
        EXPECT_LT(bytes_of(kThreeStages, true).front(), by_stage.front());
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
