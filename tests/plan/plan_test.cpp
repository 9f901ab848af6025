// `plan`: what it knows of a network's functions, where its times come from, and what it proposes.
#include "cnntrain/insight/plan.h"

#include <gtest/gtest.h>

#include <numeric>
#include <regex>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/profile.h"
#include "insight/plan/times.h"
#include "plan/planned.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kThreeStages =
    "--pipeline --pipeline-splits stage1/unit1 stage3/unit1 --gradient-accumulation-count 6 --threads 2 ";

TEST(PlanFunctions, AreFoundByTheNamesOfTheirParts) {
    const plan::FunctionNames names({"stage0", "stage1/unit1", "stage1/unit1/relu", "fc1"});
    EXPECT_EQ(names.of("all/stage0/conv0/weight"), 0U);
    EXPECT_EQ(names.of("all/stage1/unit1/relu"), 2U);
    EXPECT_EQ(names.of("all/stage1/unit1/relu/x_grad"), 2U);
    EXPECT_EQ(names.of("all/stage1/unit1/relu1"), 1U);
    EXPECT_EQ(names.of("all/fc1:sum"), 3U);
    EXPECT_EQ(names.of("all/fc12"), std::nullopt);
    EXPECT_EQ(names.of("all/loss"), std::nullopt);
    EXPECT_EQ(names.of("images"), std::nullopt);
}

TEST(PlanFunctions, WhatHasNoFunctionGoesWithWhatIsBefore) {
    const plan::FunctionNames names({"a", "b"});
    plan::FunctionWalk walk(names);
    using graph::Phase;
    EXPECT_EQ(walk.next("all/images", Phase::forward), 0U);
    EXPECT_EQ(walk.next("all/b/conv", Phase::forward), 1U);
    EXPECT_EQ(walk.next("all/loss", Phase::forward), 1U);
    EXPECT_EQ(walk.next("all/loss/x_grad", Phase::backward), 1U);
    EXPECT_EQ(walk.next("all/a/conv/x_grad", Phase::backward), 0U);
    EXPECT_EQ(walk.next("all/images/x_grad", Phase::backward), 0U);
}

template <typename Field> auto sum_of(const std::vector<plan::FunctionFacts>& facts, Field field) {
    return std::accumulate(facts.begin(), facts.end(), decltype(plan::FunctionFacts{}.*field){},
                           [&](auto sum, const plan::FunctionFacts& function) { return sum + function.*field; });
}

class PlanFacts : public ::testing::TestWithParam<const char*> {};

TEST_P(PlanFacts, OfAllFunctionsAreThoseOfTheGraph) {
    const Net net(GetParam());
    const auto facts = plan::function_facts(net.graph, net.names);
    ASSERT_EQ(facts.size(), net.names.count());
    EXPECT_EQ(sum_of(facts, &plan::FunctionFacts::parameters), nn::parameter_count(net.graph));
    const double gflop = nn::forward_flops(net.graph) / 1e9;
    EXPECT_NEAR(sum_of(facts, &plan::FunctionFacts::forward_gflop), gflop, 1e-9 * gflop);
    EXPECT_GT(sum_of(facts, &plan::FunctionFacts::backward_gflop), 1.5 * gflop);
    std::uint64_t variables = 0;
    std::uint64_t gradients = 0;
    const graph::Facts known(net.graph);
    for (const graph::ValueId id : net.graph.variables())
        variables += net.graph.desc(id).bytes();
    for (std::int32_t i = 0; i < net.graph.value_count(); ++i) {
        if (known.crosses_into_update({i})) gradients += net.graph.desc({i}).bytes();
    }
    EXPECT_EQ(sum_of(facts, &plan::FunctionFacts::variable_bytes), variables);
    EXPECT_EQ(sum_of(facts, &plan::FunctionFacts::gradient_bytes), gradients);
}

INSTANTIATE_TEST_SUITE_P(Networks, PlanFacts,
                         ::testing::Values("--optimiser momentum", "--precision 32.32 --group-norm",
                                           "--enable-recomputation",
                                           "--model efficientnet --model-size cifar --proxy-norm --precision 16.32"));

backend::ProfileRow row(const std::string& name, graph::Phase phase, double ms, std::int64_t runs) {
    backend::ProfileRow made;
    made.name = name;
    made.phase = phase;
    made.milliseconds = ms;
    made.runs = runs;
    return made;
}

TEST(PlanTimes, OfRowsGoToTheirFunctions) {
    using graph::Phase;
    const plan::FunctionNames names({"a", "b"});
    const plan::FunctionTimes times = times_by_function(
        {row("all/a/weight", Phase::forward, 16, 3), row("all/images", Phase::forward, 1, 6),
         row("all/a/conv", Phase::forward, 2, 6), row("all/b/conv", Phase::forward, 4, 6),
         row("all/loss", Phase::forward, 8, 6), row("all/loss/x_grad", Phase::backward, 32, 6),
         row("all/b/conv/x_grad", Phase::backward, 64, 6), row("all/a/conv/w_grad", Phase::backward, 128, 6),
         row("all/a/weight/momentum", Phase::update, 256, 3)},
        names, 3);
    ASSERT_EQ(times.functions.size(), 2U);
    EXPECT_DOUBLE_EQ(times.functions[0].forward_ms, 1 + 2);
    EXPECT_DOUBLE_EQ(times.functions[0].backward_ms, 128);
    EXPECT_DOUBLE_EQ(times.functions[1].forward_ms, 4 + 8);
    EXPECT_DOUBLE_EQ(times.functions[1].backward_ms, 32 + 64);
    EXPECT_DOUBLE_EQ(times.update_ms, 16 + 256);
}

TEST(PlanTimes, AreMeasuredForEveryFunctionThatComputes) {
    for (const std::string backend : {"--backend cpu", "--backend ref"}) {
        SCOPED_TRACE(backend);
        const Net net(backend + " --micro-batch-size 2 --optimiser momentum");
        const plan::FunctionTimes times = measure(net.graph, net.names, *net.backend, {.threads = 1, .steps = 2});
        const auto facts = plan::function_facts(net.graph, net.names);
        ASSERT_EQ(times.functions.size(), facts.size());
        EXPECT_GT(times.update_ms, 0);
        for (std::size_t i = 0; i < facts.size(); ++i) {
            if (facts[i].forward_gflop < 1e-4) continue;
            EXPECT_GT(times.functions[i].forward_ms, 0) << net.names.names()[i];
            EXPECT_GT(times.functions[i].backward_ms, 0) << net.names.names()[i];
        }
    }
}

TEST(PlanTimes, AStopEndsTheMeasurement) {
    const Net net("");
    EXPECT_THROW(plan::measure(net.graph, net.names, *net.backend, {.stop_requested = [] { return true; }}),
                 Interrupted);
}

/// A profile of two updates of two micro-batches with two lanes of one thread, as `cnntrain profile` writes it.
profile::Profile small_profile() {
    profile::Profile profile;
    profile.title = "training, net";
    profile.machine = "a machine";
    profile.type = "f32";
    profile.micro_batch = 4;
    profile.steps = 2;
    profile.samples = 16;
    profile.threads = profile.lanes = 2;
    profile.step_seconds = 1;
    const auto add = [&](const std::string& name, const std::string& phase, double runs, double seconds) {
        profile::Row& row = profile.rows.emplace_back();
        row.name = name;
        row.op = "conv2d";
        row.phase = phase;
        row.runs = runs;
        row.run_seconds = seconds;
    };
    for (int lane = 0; lane < 2; ++lane) {
        add("all/a/conv", "forward", 2, 0.001);
        add("all/b/conv", "forward", 2, 0.003);
        add("all/b/conv", "backward", 2, 0.004);
        add("all/a/conv", "backward", 2, 0.002);
    }
    add("all/a/weight", "update", 1, 0.005);
    return profile;
}

const plan::ProfiledLine kProfiledLine{"training, net", 4, "f32"};
const plan::FunctionNames kTwoFunctions({"a", "b"});

plan::ProfiledTimes read_back(const profile::Profile& written, const plan::ProfiledLine& line = kProfiledLine) {
    MemoryFiles files;
    write_text(files, "p.json", profile::to_json(written, {}));
    std::vector<plan::FunctionFacts> facts(2);
    facts[0].forward_gflop = facts[1].forward_gflop = 1;
    return plan::read_times(files, "p.json", line, kTwoFunctions, facts);
}

TEST(PlanProfile, GivesTheTimesOfFunctions) {
    const plan::ProfiledTimes read = read_back(small_profile());
    EXPECT_EQ(read.threads, 1);
    EXPECT_EQ(read.machine, "a machine");
    EXPECT_NEAR(read.times.functions[0].forward_ms, 1, 1e-9);
    EXPECT_NEAR(read.times.functions[0].backward_ms, 2, 1e-9);
    EXPECT_NEAR(read.times.functions[1].forward_ms, 3, 1e-9);
    EXPECT_NEAR(read.times.functions[1].backward_ms, 4, 1e-9);
    EXPECT_NEAR(read.times.update_ms, 5, 1e-9);
}

TEST(PlanProfile, OfSomethingElseIsRefused) {
    const auto refused = [](const plan::ProfiledLine& line, const std::string& part) {
        EXPECT_THAT(message_of(ErrorKind::usage, [&] { read_back(small_profile(), line); }),
                    AllOf(HasSubstr("p.json"), HasSubstr(part)));
    };
    refused({"training, other", 4, "f32"}, "other");
    refused({"training, net", 8, "f32"}, "8");
    refused({"training, net", 4, "bf16"}, "bf16");
    profile::Profile staged = small_profile();
    staged.rows[1].stage = 1;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { read_back(staged); }), HasSubstr("--pipeline"));
}

TEST(PlanProfile, WithoutTheTimesOfAllFunctionsIsRefused) {
    profile::Profile profile = small_profile();
    for (profile::Row& row : profile.rows)
        if (row.name == "all/b/conv") row.run_seconds = 0;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_back(profile); }), HasSubstr("p.json"));
    profile = small_profile();
    profile.rows[0].run_seconds = 1e300;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_back(profile); }), HasSubstr("p.json"));
    profile = small_profile();
    profile.rows.erase(profile.rows.begin());
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_back(profile); }), HasSubstr("p.json"));
    profile = small_profile();
    profile.trains = false;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_back(profile); }), HasSubstr("p.json"));
    MemoryFiles files;
    for (const std::string text : {"", "[]", "7", "{", "{\"cnntrain_profile\": 1}"}) {
        write_text(files, "bad.json", text);
        EXPECT_THAT(
            message_of(ErrorKind::data, [&] { plan::read_times(files, "bad.json", kProfiledLine, kTwoFunctions, {}); }),
            HasSubstr("bad.json"));
    }
}

TEST(PlanPrediction, LanesShareTheThreads) {
    using schedule::PipelineSchedule;
    const auto check = [](std::int32_t stages, int threads, std::int64_t asked, std::int32_t lanes, int each,
                          PipelineSchedule schedule = PipelineSchedule::grouped) {
        const plan::LaneShare share = plan::share_of({stages, schedule}, threads, asked);
        EXPECT_EQ(share.lanes, lanes);
        EXPECT_EQ(share.threads, each);
    };
    check(2, 1, 0, 1, 1);
    check(2, 2, 0, 2, 1);
    check(4, 2, 0, 2, 1);
    check(2, 9, 0, 2, 4);
    check(1, 8, 0, 1, 8);
    check(4, 8, 2, 2, 4);
    check(2, 8, 3, 2, 4);
    check(4, 8, 0, 1, 8, PipelineSchedule::sequential);  // as a run chooses
    check(4, 8, 4, 4, 2, PipelineSchedule::sequential);
}

TEST(PlanPrediction, CountsAllWorkAndTheUpdateOnce) {
    plan::PlannedNetwork network;
    network.facts.resize(3);
    network.results = {{.bytes = 7, .maker = 1, .backward_readers = {1}}};
    network.facts[1].forward_gflop = network.facts[2].forward_gflop = 1;
    network.facts[1].variable_bytes = 100;
    network.facts[1].gradient_bytes = 10;
    network.threads = 2;
    network.times[2] = {{{1, 1}, {1, 1}, {1, 1}}, 5};
    network.times[1] = {{{2, 2}, {2, 2}, {1, 3}}, 9};
    const plan::Prediction plan = predict(network, {2, schedule::PipelineSchedule::grouped}, 4, {1});
    EXPECT_DOUBLE_EQ(plan.one_lane_ms, 4 * 6 + 5);
    EXPECT_THAT(plan.lane_of, ElementsAre(1, 0));  // the stage with more to compute has the first choice
    EXPECT_DOUBLE_EQ(plan.stages[1].times.total(), 8);
    EXPECT_EQ(plan.stages[1].memory_bytes(), 117U);
    EXPECT_GE(plan.lanes_ms, 4 * 8 + 5);
    EXPECT_LE(plan.lanes_ms, 5 * 8 + 5);
}

TEST(Plan, ShowsTheStagesOfTheLine) {
    const std::string text = planned(kThreeStages);
    EXPECT_THAT(text, AllOf(HasSubstr("micro-batch 4 with "), HasSubstr("6 micro")));
    EXPECT_THAT(text, ContainsRegex("\n0 +stage0 +1 +464 "));
    EXPECT_THAT(text, ContainsRegex("\n1 +stage1/unit1 +4 "));
    EXPECT_THAT(text, ContainsRegex("\n2 +stage3/unit1 +4 .* x 1 "));
    EXPECT_THAT(text, ContainsRegex("\nBubble: +25.0 %"));  // 2 / (6 + 2)
    EXPECT_THAT(text, ContainsRegex("\nOne lane: .* images/s with 2 threads\n"));
    EXPECT_THAT(text, ContainsRegex("\n2 lanes: .* images/s with 1 thread each: stage"));
    EXPECT_THAT(text, HasSubstr("B0F1"));
    EXPECT_THAT(text, HasSubstr("\nBest splits:"));
}

double imbalance_in(const std::string& text) {
    std::smatch found;
    const bool is_there =
        std::regex_search(text, found, std::regex("Balance: +the longest stage takes ([0-9.]+) times"));
    return is_there ? std::stod(found[1]) : -1;
}

TEST(Plan, WhatItProposesCanBeTypedAndIsBetter) {
    const std::string first = planned(kThreeStages);
    const std::string better = proposal(first);
    ASSERT_THAT(better, ContainsRegex("^--pipeline-splits [a-z0-9/]+ [a-z0-9/]+$"));
    const std::string second = planned(kThreeStages + better);
    EXPECT_EQ(proposal(second), "those of the line");
    EXPECT_LT(imbalance_in(second), imbalance_in(first));
    const options::ParseResult improved = parse(kSmall + kThreeStages + better);
    EXPECT_NO_THROW(check_stages(tasks::row_of(improved), improved.settings));
}

/// Returns the time with the lanes that a run has: the last of the figures.
double ms_in(const std::string& text) {
    std::smatch found;
    double ms = -1;
    std::string rest = text;
    while (std::regex_search(rest, found, std::regex("\n(One lane|[0-9]+ lanes): +([0-9.e+]+) ms"))) {
        ms = std::stod(found[2]);
        rest = found.suffix();
    }
    return ms;
}

TEST(Plan, WhatItProposesIsNotSlower) {
    for (const std::string schedule : {"Grouped", "Interleaved", "Sequential"}) {
        for (const std::string kept : {"", "--enable-recomputation "}) {
            for (const std::string lanes : {"", "--lanes 1 ", "--lanes 2 "}) {
                for (const std::string splits : {"stage1/unit1 stage3/unit1", "stage1/unit1 stage1/unit1/relu"}) {
                    const std::string line = "--pipeline --gradient-accumulation-count 6 --threads 2 " + kept + lanes +
                                             "--pipeline-schedule " + schedule + " --pipeline-splits " + splits + " ";
                    SCOPED_TRACE(line);
                    const std::string text = planned(line);
                    ASSERT_GT(ms_in(text), 0) << text;
                    if (proposal(text) == "those of the line") continue;
                    EXPECT_LE(ms_in(planned(line + proposal(text))), 1.0001 * ms_in(text));
                }
            }
        }
    }
}

TEST(Plan, OfALineWithoutPipelineIsAProposal) {
    const std::string text =
        planned("--gradient-accumulation-count 3 --pipeline-schedule Interleaved", {.stages = 4, .measure = false});
    const std::string typed = proposal(text);
    EXPECT_THAT(typed, ContainsRegex("^--pipeline --pipeline-schedule Interleaved --pipeline-splits [^ ]+ [^ ]+ [^ ]+ "
                                     "--gradient-accumulation-count 4$"));
    EXPECT_THAT(text, HasSubstr("4 micro"));
    EXPECT_EQ(proposal(planned(typed)), "those of the line");
    EXPECT_THAT(proposal(planned("")), ContainsRegex("^--pipeline --pipeline-schedule Grouped --pipeline-splits [^ ]+ "
                                                     "--gradient-accumulation-count 4$"));
}

TEST(Plan, AnotherNumberOfStagesComesWithItsShards) {
    const std::string text = planned(kThreeStages + "--shards 3", {.stages = 2, .measure = false});
    EXPECT_THAT(proposal(text), ContainsRegex("^--pipeline-splits [^ ]+ --shards 2 --gradient-accumulation-count 8$"));
}

TEST(Plan, StagesThatRecomputeKeepTheirInputsAndTakeLonger) {
    const std::string text = planned(kThreeStages + "--precision 32.32 --enable-recomputation");
    // Stage 0 keeps images in the layout that its convolutions read (with oneDNN 3.7 images arrive in it, and nothing
    // is kept), and the input of stage 1, f32[4, 32, 32, 16], in five places. Stage 2 keeps its own results.
    EXPECT_THAT(text, AllOf(ContainsRegex("\n0 +stage0 .* (49.2 kB|0 bytes) x 5 +1.3 MB "),
                            ContainsRegex("\n2 +stage3/unit1 .* [1-9][0-9.]+ kB x 1 ")));
    const auto one_lane_ms = [](const std::string& plan) {
        std::smatch found;
        return std::regex_search(plan, found, std::regex("One lane: +([0-9.]+) ms")) ? std::stod(found[1]) : -1;
    };
    EXPECT_GT(one_lane_ms(text), one_lane_ms(planned(kThreeStages + "--precision 32.32")) * 1.1);
}

TEST(Plan, ACountThatTheScheduleCannotTakeIsTold) {
    const std::string text = planned(kThreeStages + "--gradient-accumulation-count 7");
    EXPECT_THAT(text, ContainsRegex("Not legal: .* a multiple of 6, not 7; the nearest are 6 or 12"));
    EXPECT_THAT(planned(kThreeStages), Not(HasSubstr("Not legal")));
}

TEST(Plan, StagesBeyondTheLimitAreToldAndAvoided) {
    const std::string stages = kThreeStages + "--compute-type bf16 ";
    const std::string text = planned(stages, {.memory_limit_bytes = 2'600'000, .measure = false});
    EXPECT_THAT(text, ContainsRegex("Too large: +stage [012] needs "));
    const std::string better = proposal(text);
    EXPECT_THAT(planned(stages + better, {.memory_limit_bytes = 2'600'000, .measure = false}),
                Not(HasSubstr("Too large")));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { planned(stages, {.memory_limit_bytes = 1000, .measure = false}); }),
                Not(IsEmpty()));
}

TEST(PlanTimes, OfPipelinesAreTheMeanOfAMicroBatchWithoutWaits) {
    const plan::FunctionNames names({"a", "b"});
    constexpr auto kForward = graph::Phase::forward;
    constexpr auto kBackward = graph::Phase::backward;
    std::vector<backend::ProfileRow> rows = {row("images", kForward, 1, 2),       row("all/b/conv", kForward, 10, 2),
                                             row("all/b/conv", kBackward, 20, 2), row("all/b/conv", kBackward, 3, 2),
                                             row("images", kForward, 3, 2),       row("all/b/conv", kForward, 14, 2),
                                             row("all/b/conv", kBackward, 22, 2), row("all/b/conv", kBackward, 100, 2)};
    rows[3].op = rows[7].op = "accumulate";
    const plan::FunctionTimes times = times_by_function(rows, names, 1, 2);
    EXPECT_EQ(times.functions[0].forward_ms, 2);
    EXPECT_EQ(times.functions[1].forward_ms, 12);
    EXPECT_EQ(times.functions[1].backward_ms, 21 + 3);
}

TEST(Plan, OfManyMicroBatchesIsMadeAtOnce) {
    const std::string text = planned(kThreeStages + "--gradient-accumulation-count 999999996");
    EXPECT_THAT(text, AllOf(HasSubstr("999999996 micro-batches"), HasSubstr(" ... ")));
}

TEST(Plan, ThereAreNoMoreStagesThanFunctions) {
    EXPECT_THAT(message_of(ErrorKind::usage, [] { planned("", {.stages = 100, .measure = false}); }),
                HasSubstr("--stages 100"));
}

}  // namespace
}  // namespace cnntrain::run::testing
