// Collectives between replicas, seeds of replicas, norms over replicas.
#include <gtest/gtest.h>

#include <gcl/Collectives.hpp>
#include <poplar/CSRFunctions.hpp>
#include <poplar/exceptions.hpp>
#include <popnn/BatchNorm.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <poprand/RandomGen.hpp>
#include <poputil/exceptions.hpp>

#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using gcl::CollectiveOperator;
using gcl::CommGroup;
using gcl::CommGroupType;
using poplar::program::If;

/// A float scalar: the replica's number, from 0.
Tensor replica_number(Bench& bench) {
    const Tensor index = bench.replica_index();
    return popops::cast(bench.graph, index, FLOAT, bench.prog);
}

/// values * (replica + 1).
Tensor per_replica(Bench& bench, const Values& values, poplar::Type type = FLOAT) {
    const Tensor base = bench.input(FLOAT, {values.size()}, values);
    const Tensor number = replica_number(bench);
    const Tensor product =
        popops::map(bench.graph, popops::expr::_1 * (popops::expr::_2 + 1.0f), {base, number}, bench.prog);
    return popops::cast(bench.graph, product, type, bench.prog);
}

TEST(Collectives, AllReplicasGetTheSum) {
    Bench bench(4);
    const Tensor data = per_replica(bench, {2, 0});
    bench.watch("sum", gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog));
    bench.run();
    for (unsigned replica = 0; replica < 4; ++replica)
        EXPECT_EQ(bench.values("sum", replica), (Values{20, 0}));
    EXPECT_THROW(gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::LOCAL, bench.prog),
                 poputil::poplibs_error);
}

TEST(Collectives, GroupsOfReplicas) {
    Bench bench(4);
    const Tensor data = per_replica(bench, {1});
    const auto sum = [&](const CommGroup& group) {
        return gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog, group);
    };
    bench.watch("pairs", sum({CommGroupType::CONSECUTIVE, 2}));
    bench.run();
    const Values expected{3, 3, 7, 7};
    for (unsigned replica = 0; replica < 4; ++replica)
        EXPECT_EQ(bench.values("pairs", replica)[0], expected[replica]);
    EXPECT_THROW(sum({CommGroupType::CONSECUTIVE, 3}), poputil::poplibs_error);
}

TEST(Collectives, ReduceScatterAndAllGatherAreAnAllReduce) {
    Bench bench(4);
    const Values values{1, 2, 3, 4, 5, 6};
    const Tensor data = per_replica(bench, values);
    const Tensor share =
        gcl::reduceScatterCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog, CommGroup());
    EXPECT_EQ(share.shape(), (Shape{2}));
    bench.watch("share", share);
    bench.watch("own",
                gcl::reduceScatterCrossReplica(bench.graph, data, CollectiveOperator::LOCAL, bench.prog, CommGroup()));
    const Tensor all = gcl::allGatherCrossReplica(bench.graph, share, bench.prog, CommGroup());
    EXPECT_EQ(all.shape(), (Shape{4, 2}));
    bench.watch("all", all);
    bench.run();
    EXPECT_EQ(bench.values("share", 1), (Values{30, 40}));
    EXPECT_EQ(bench.values("share", 3), (Values{0, 0})) << "padded with zeros";
    EXPECT_EQ(bench.values("own", 1), (Values{6, 8}));
    EXPECT_EQ(bench.values("own", 3), (Values{0, 0}));
    EXPECT_EQ(bench.values("all", 2), (Values{10, 20, 30, 40, 50, 60, 0, 0}));
}

TEST(Collectives, HalvesAreRoundedAfterEachAddition) {
    // 2048 on the first replica, 1 on the others: 2049 is half way between two halves and goes back to 2048.
    using namespace popops::expr;
    Bench bench(4);
    const Tensor number = replica_number(bench);
    const Tensor data = popops::map(bench.graph, Cast((1.0f - Min(_1, Const(1.0f))) * 2047.0f + 1.0f, HALF),
                                    {number.reshape({1})}, bench.prog);
    bench.watch("data", data);
    bench.watch("sum", gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("data", 0), Values{2048});
    EXPECT_EQ(bench.values("data", 3), Values{1});
    EXPECT_EQ(bench.values("sum", 3), Values{2048}) << "rounded once, the sum would be 2052";
}

TEST(Collectives, IntegersAreAddedWithAllBits) {
    Bench bench(2);
    const Tensor index = bench.replica_index();
    const Tensor data = popops::map(bench.graph, popops::expr::_1 * 3000000000u + 5u, {index}, bench.prog);
    bench.watch("sum", gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog));
    bench.watch("scattered", gcl::reduceScatterCrossReplica(bench.graph, data.reshape({1}), CollectiveOperator::ADD,
                                                            bench.prog, CommGroup()));
    bench.run();
    EXPECT_EQ(bench.values("sum"), Values{3000000010.0f});
    EXPECT_EQ(bench.values("scattered"), Values{3000000010.0f});
    EXPECT_THROW(gcl::allReduceCrossReplica(bench.graph, bench.variable(poplar::LONGLONG, {2}), CollectiveOperator::ADD,
                                            bench.prog),
                 poputil::poplibs_error);
}

TEST(Collectives, ReplicasAgreeOnStochasticSums) {
    Bench bench(2);
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor data = per_replica(bench, random_values(500, 3), HALF);
    bench.watch("sum", gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("sum", 0), bench.values("sum", 1));
}

TEST(Collectives, ReplicasThatDisagreeAreAnError) {
    Bench bench(2);
    const Tensor index = bench.replica_index();
    const Tensor data = bench.input(FLOAT, {1}, {1});
    Sequence sum;
    gcl::allReduceCrossReplica(bench.graph, data, CollectiveOperator::ADD, sum);
    bench.prog.add(If(index, sum, Sequence()));
    EXPECT_THROW(bench.run(), poplar::application_runtime_error);
}

TEST(Random, TheSeedOfTheHardwareDecidesHowItRounds) {
    Bench bench(2);
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor x = bench.input(FLOAT, {100}, random_values(100, 3));
    const Tensor seed = bench.input(UNSIGNED_INT, {2}, {1, 2});
    const auto rounded = [&] { return popops::cast(bench.graph, x, HALF, bench.prog); };
    poprand::setSeed(bench.graph, seed, 9, bench.prog);
    bench.watch("first", rounded());
    bench.watch("second", rounded());
    poprand::setSeed(bench.graph, seed, 9, bench.prog);
    bench.watch("again", rounded());
    poprand::setSeed(bench.graph, seed, 8, bench.prog);
    bench.watch("modified", rounded());
    bench.run();
    EXPECT_NE(bench.values("first"), bench.values("second"));
    EXPECT_EQ(bench.values("first"), bench.values("again"));
    EXPECT_NE(bench.values("first"), bench.values("modified"));
    EXPECT_EQ(bench.values("first", 0), bench.values("first", 1)) << "equal seeds on both replicas";
}

/// Statistics and gradient of a batch of 8, on one replica or spread over four.
std::vector<Values> distributed_norm(unsigned replicas, bool stable) {
    Bench bench(replicas);
    const std::size_t batch = 8 / replicas;
    const Tensor acts = bench.variable(FLOAT, {batch, 3, 2});
    const Tensor grads = bench.variable(FLOAT, {batch, 3, 2});
    bench.graph.createHostWrite("acts", acts);
    bench.graph.createHostWrite("grads", grads);
    const Tensor gamma = bench.input(FLOAT, {3}, {1, 2, 3});
    const auto reduce = [](poplar::Graph& graph, const std::vector<Tensor>& sums, Sequence& prog, unsigned size,
                           const poplar::DebugContext& debug, const poplar::OptionFlags& options) {
        std::vector<Tensor> result;
        for (const Tensor& sum : sums) {
            result.push_back(gcl::allReduceCrossReplica(graph, sum, CollectiveOperator::ADD, prog,
                                                        CommGroup(CommGroupType::CONSECUTIVE, size), debug, options));
        }
        return result;
    };
    const auto [mean, inverse] =
        popnn::bn::distributedBatchNormStatistics(bench.graph, acts, 1e-5f, bench.prog, true, reduce, 8, stable);
    bench.watch("mean", mean);
    bench.watch("inverse", inverse);
    const Tensor whitened = popops::map(bench.graph, (popops::expr::_1 - popops::expr::_2) * popops::expr::_3,
                                        {acts, mean.expand({1}), inverse.expand({1})}, bench.prog);
    bench.watch("gradient", popnn::bn::distributedBatchNormGradients(bench.graph, whitened, grads, inverse, gamma,
                                                                     bench.prog, reduce, 8));
    bench.engine().load(bench.device);
    const Values x = random_values(48, 1, 0, 2);
    const Values g = random_values(48, 2);
    bench.engine().writeTensor("acts", x.data(), x.data() + 48);
    bench.engine().writeTensor("grads", g.data(), g.data() + 48);
    bench.engine().run();
    Values gradient;
    for (unsigned replica = 0; replica < replicas; ++replica) {
        const Values part = bench.values("gradient", replica);
        gradient.insert(gradient.end(), part.begin(), part.end());
    }
    return {bench.values("mean"), bench.values("inverse"), gradient};
}

TEST(DistributedNorm, ReplicasTogetherEqualOneLargeBatch) {
    for (const bool stable : {false, true}) {
        const auto one = distributed_norm(1, stable);
        const auto four = distributed_norm(4, stable);
        for (std::size_t n = 0; n < one.size(); ++n) {
            ASSERT_EQ(one[n].size(), four[n].size());
            for (std::size_t i = 0; i < one[n].size(); ++i)
                EXPECT_NEAR(one[n][i], four[n][i], 1e-5);
        }
    }
    Bench bench;
    const Tensor acts = bench.variable(FLOAT, {4, 3});
    EXPECT_THROW(popnn::bn::distributedBatchNormStatistics(bench.graph, acts, 1e-5f, bench.prog, true, {}, 6),
                 poputil::poplibs_error);
}

}  // namespace
