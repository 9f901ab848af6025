// The time of a weight update over processes: cases that can be done by hand, and what must hold for all.
#include "cnntrain/insight/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "insight/plan/processes.h"

namespace cnntrain::plan {
namespace {

constexpr ReduceMethod kFlat{};
constexpr ReduceMethod kHierarchical{.hierarchical = true};

ReduceMethod with_16_bits(ReduceMethod method) {
    method.wire_bits = 16;
    return method;
}
ReduceMethod after_backward(ReduceMethod method) {
    method.overlap = false;
    return method;
}

/// Latencies, bandwidths and adding that can be distinguished in a sum.
const Network kNetwork{.between_nodes = {.latency_ms = 1, .bytes_per_ms = 10},
                       .inside_node = {.latency_ms = 0.1, .bytes_per_ms = 100},
                       .adding_ms_per_byte = 0.001};

TEST(AllReduceTime, OfOneProcessIsNothing) {
    for (const bool hierarchical : {false, true})
        EXPECT_EQ(all_reduce_ms(kNetwork, {1, 4}, {.hierarchical = hierarchical}, 1e6), 0);
}

TEST(AllReduceTime, OfRanksThatAreNodesIsThatOfTheLiterature) {
    // 2 (p - 1) L + 2 (p - 1) / p n / B + (p - 1) / p n g with p = 4, n = 1200
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 1}, kFlat, 1200), 6 * 1 + 2 * 900 / 10.0 + 0.9);
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 1}, kHierarchical, 1200), 6 * 1 + 2 * 900 / 10.0 + 0.9);
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 1}, with_16_bits(kFlat), 1200), 6 * 1 + 900 / 10.0 + 0.9 + 2.4);
}

TEST(AllReduceTime, OfOneNodeKnowsNoOtherNode) {
    const double flat = 2 * 3 * 0.1 + 2 * 900 / 100.0 + 0.9;
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 8}, kFlat, 1200), flat);
    const double shared = 3 * 0.1 + 2.4 + 0.9;
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 8}, kHierarchical, 1200), shared);
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {4, 8}, with_16_bits(kHierarchical), 1200), shared);
}

TEST(AllReduceTime, OfNodesOfSeveralRanks) {
    // Three nodes of two ranks. Flat: each rank exchanges 200 bytes with 4 ranks through a link of two, and with one on
    // its own node.
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {6, 2}, kFlat, 1200),
                     2 * (4 * 1 + 0.1) + 2 * 200 * (2 * 4 / 10.0 + 1 / 100.0) + 1);
    // Hierarchical: both copy twice and add a half each; the first ranks of three nodes sum 1200 bytes.
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {6, 2}, kHierarchical, 1200),
                     0.3 + 2.4 + 0.6 + 2 * 2 + 2 * 800 / 10.0 + 0.8);
    // A node that is not full is a node.
    EXPECT_DOUBLE_EQ(all_reduce_ms(kNetwork, {5, 2}, kHierarchical, 1200),
                     all_reduce_ms(kNetwork, {6, 2}, kHierarchical, 1200));
}

TEST(AllReduceTime, RefusesWhatIsNoMethodOrNetwork) {
    EXPECT_THROW(all_reduce_ms(kNetwork, {2, 1}, {.wire_bits = 8}, 1), Error);
    EXPECT_THROW(all_reduce_ms(kNetwork, {0, 1}, kFlat, 1), Error);
    EXPECT_THROW(all_reduce_ms(kNetwork, {2, 0}, kFlat, 1), Error);
    EXPECT_THROW(all_reduce_ms({.between_nodes = {.bytes_per_ms = 0}}, {2, 1}, kFlat, 1), Error);
}

/// Two ranks sum 10 bytes in 1 ms.
const Network kOneMs{.between_nodes = {.latency_ms = 0, .bytes_per_ms = 10}};
constexpr ProcessGrid kTwo{2, 1};
constexpr ProcessStep kStep{.before_ms = 10, .backward_ms = 20, .update_ms = 5, .samples = 7};

TEST(DataParallelTime, ABucketWaitsForItsGradientsAndForTheOneBefore) {
    // Done at 4 + 3 = 7, then at 7 + 5 = 12, then at 19 + 2 = 21: one after the end of backward.
    const std::vector<ReadyBucket> buckets = {{30, 4}, {50, 6}, {20, 19}};
    const DataParallelTime time = data_parallel_time(kStep, buckets, kOneMs, kTwo, kFlat);
    EXPECT_DOUBLE_EQ(time.communication_ms, 10);
    EXPECT_DOUBLE_EQ(time.step_ms, 36);
    EXPECT_DOUBLE_EQ(time.hidden_ms, 9);
    EXPECT_DOUBLE_EQ(time.hidden_share(), 0.9);
    EXPECT_DOUBLE_EQ(time.samples_per_second, 1e3 * 14 / 36);
    EXPECT_DOUBLE_EQ(time.efficiency, 35.0 / 36);
}

TEST(DataParallelTime, WithoutOverlapAllBucketsFollowBackward) {
    const std::vector<ReadyBucket> buckets = {{30, 4}, {50, 6}, {20, 19}};
    const DataParallelTime time = data_parallel_time(kStep, buckets, kOneMs, kTwo, after_backward(kFlat));
    EXPECT_DOUBLE_EQ(time.step_ms, 45);
    EXPECT_DOUBLE_EQ(time.hidden_ms, 0);
    EXPECT_DOUBLE_EQ(time.efficiency, 35.0 / 45);
}

TEST(DataParallelTime, OfOneProcessIsItsStep) {
    const std::vector<ReadyBucket> buckets = {{1e9, 20}};
    const DataParallelTime time = data_parallel_time(kStep, buckets, kNetwork, {1, 2}, kFlat);
    EXPECT_EQ(time.step_ms, 35);
    EXPECT_EQ(time.communication_ms, 0);
    EXPECT_EQ(time.efficiency, 1);
    EXPECT_EQ(time.hidden_share(), 1);
    EXPECT_DOUBLE_EQ(time.samples_per_second, 1e3 * 7 / 35);
}

TEST(DataParallelTime, WaitsForTheSlowestProcess) {
    const std::vector<ReadyBucket> buckets = {{30, 4}, {50, 6}, {20, 19}};
    const DataParallelTime time = data_parallel_time(kStep, buckets, kOneMs, kTwo, kFlat, {.deviation_ms = 4});
    const double slowest_ms = 4 * expected_maximum(2);
    EXPECT_DOUBLE_EQ(time.step_ms, 36 + slowest_ms);
    EXPECT_DOUBLE_EQ(time.efficiency, 35 / (36 + slowest_ms));
    EXPECT_DOUBLE_EQ(time.hidden_ms, 9) << "sums begin when the slowest has its gradients";
    EXPECT_EQ(data_parallel_time(kStep, buckets, kNetwork, {1, 2}, kFlat, {.deviation_ms = 4}).step_ms, 35);
}

TEST(DataParallelTime, WaitsForItsInput) {
    const std::vector<ReadyBucket> buckets = {{30, 4}, {50, 6}, {20, 19}};
    const auto step = [&](const Waits& waits) {
        return data_parallel_time(kStep, buckets, kOneMs, kTwo, kFlat, waits);
    };
    EXPECT_DOUBLE_EQ(step({.input_ms = 30}).step_ms, 36) << "it is read ahead";
    EXPECT_DOUBLE_EQ(step({.input_ms = 50}).step_ms, 50);
    EXPECT_DOUBLE_EQ(step({.input_ms = 50}).samples_per_second, 1e3 * 14 / 50);
    EXPECT_DOUBLE_EQ(step({.input_ms = 50}).efficiency, 1) << "one process waits as long";
    EXPECT_DOUBLE_EQ(step({.deviation_ms = 100, .input_ms = 50}).step_ms, 36 + 100 * expected_maximum(2));
}

TEST(DataParallelTime, GradientsComeFromBackward) {
    EXPECT_THROW(data_parallel_time(kStep, std::vector<ReadyBucket>{{1, 21}}, kOneMs, kTwo, kFlat), Error);
    EXPECT_THROW(data_parallel_time({}, {}, kOneMs, kTwo, kFlat), Error);
}

struct Case {
    ProcessStep step;
    std::vector<ReadyBucket> buckets;
    Network network;
    ProcessGrid grid;
    ReduceMethod method;

    DataParallelTime time() const { return data_parallel_time(step, buckets, network, grid, method); }
};

Case random_case(std::uint64_t index) {
    Rng rng(1, RngStream::test, 0, index);
    Case made;
    made.step = {rng.uniform(0, 500), rng.uniform(1, 500), rng.uniform(0, 50), 8};
    for (std::int64_t i = rng.integer(0, 12); i > 0; --i)
        made.buckets.push_back({rng.uniform(1, 3e7), rng.uniform(0, made.step.backward_ms)});
    std::ranges::sort(made.buckets, {}, &ReadyBucket::ready_ms);
    made.network = {{rng.uniform(0, 0.1), rng.uniform(1e4, 2e7)},
                    {rng.uniform(0, 0.01), rng.uniform(1e6, 2e7)},
                    rng.uniform(0, 1e-6)};
    made.grid = {rng.integer(1, 1100), rng.integer(1, 9)};
    made.method = {rng.integer(0, 2) == 0 ? 16 : 32, rng.integer(0, 2) == 0, rng.integer(0, 2) == 0};
    return made;
}

constexpr std::uint64_t kCases = 3000;

TEST(DataParallelTime, WithOverlapLiesBetweenItsBounds) {
    for (std::uint64_t i = 0; i < kCases; ++i) {
        SCOPED_TRACE(i);
        Case made = random_case(i);
        made.method.overlap = true;
        const DataParallelTime with = made.time();
        made.method.overlap = false;
        const DataParallelTime without = made.time();
        const double tiny = 1e-9 * without.step_ms;
        EXPECT_DOUBLE_EQ(with.communication_ms, without.communication_ms);
        EXPECT_NEAR(without.step_ms, made.step.total_ms() + without.communication_ms, tiny);
        EXPECT_LE(with.step_ms, without.step_ms + tiny);
        EXPECT_GE(with.step_ms + tiny, std::max(made.step.total_ms(), with.communication_ms));
        EXPECT_NEAR(with.step_ms - made.step.total_ms() + with.hidden_ms, with.communication_ms, tiny);
        EXPECT_LE(with.efficiency, 1);
    }
}

/// A change that makes a network better never makes a step longer.
template <typename Change> void expect_never_slower(Change change) {
    for (std::uint64_t i = 0; i < kCases; ++i) {
        SCOPED_TRACE(i);
        Case made = random_case(i);
        const double before = made.time().step_ms;
        change(made);
        EXPECT_LE(made.time().step_ms, before * (1 + 1e-12));
    }
}

TEST(DataParallelTime, FallsWithABetterNetwork) {
    expect_never_slower([](Case& made) { made.network.between_nodes.bytes_per_ms *= 1.5; });
    expect_never_slower([](Case& made) { made.network.inside_node.bytes_per_ms *= 1.5; });
    expect_never_slower([](Case& made) { made.network.between_nodes.latency_ms /= 2; });
    expect_never_slower([](Case& made) { made.network.inside_node.latency_ms /= 2; });
    expect_never_slower([](Case& made) { made.network.adding_ms_per_byte /= 2; });
}

TEST(DataParallelTime, RisesWithTheNumberOfNodes) {
    expect_never_slower([](Case& made) {
        made.grid.ranks_per_node = std::min(made.grid.ranks_per_node, made.grid.processes);
        const std::int64_t nodes = (made.grid.processes + made.grid.ranks_per_node - 1) / made.grid.ranks_per_node;
        if (nodes == 1) return;
        // All nodes are full, so that the same number of ranks share each link.
        made.grid.processes = (nodes - 1) * made.grid.ranks_per_node;
    });
}

TEST(DataParallelTime, WithoutANetworksCostIsThatOfOneProcess) {
    for (std::uint64_t i = 0; i < 100; ++i) {
        Case made = random_case(i);
        made.network = {};
        EXPECT_DOUBLE_EQ(made.time().step_ms, made.step.total_ms());
        EXPECT_DOUBLE_EQ(made.time().efficiency, 1);
    }
}

}  // namespace
}  // namespace cnntrain::plan
