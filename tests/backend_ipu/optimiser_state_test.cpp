// Optimisers' states in shards and in remote buffers: the same updates and the same tensors for the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "backend_ipu/replica_net.h"

namespace cnntrain::test {
namespace {

using graph::UpdateRule;

/// Attributes of an update with weight decay and a value for everything that a rule reads.
graph::UpdateAttrs attrs_of(UpdateRule rule) {
    return {.rule = rule,
            .weight_decay = rule == UpdateRule::adamw || rule == UpdateRule::lamb ? 0 : 0.01,
            .momentum = 0.9,
            .decay = 0.95,
            .epsilon = 1e-3,
            .rule_weight_decay = 0.02,
            .trust_scale = 0.5,
            .corrects_bias = true};
}

std::string name_of(UpdateRule rule) {
    return std::string(graph::facts_of(rule).name);
}

ReplicaNet with_states(ReplicaNet net, bool offloads, std::int64_t least_bytes = 0) {
    net.ipu.offload_variables = offloads;
    net.ipu.min_remote_tensor_bytes = least_bytes;
    return net;
}

ReplicaResult trained(const ReplicaNet& net) {
    const ReplicaGraph net_graph(net, net.micro_batch);
    NumberedSamples source(net.micro_batch);
    return train(*small_ipus(), net, net_graph.graph, source);
}

void expect_same_bits(const ReplicaResult& one, const ReplicaResult& other) {
    EXPECT_EQ(one.losses, other.losses);
    ASSERT_EQ(one.variables.size(), other.variables.size());
    for (const auto& [name, tensor] : one.variables) {
        EXPECT_EQ(tensor.desc(), other.variables.at(name).desc()) << name;
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), other.variables.at(name).bytes())) << name;
    }
}

class OptimiserState : public testing::TestWithParam<UpdateRule> {};

/// Tensors of 3, 5 and 10 elements have shards that are not full.
TEST_P(OptimiserState, ShardsHaveTheUpdatesOfWholeTensors) {
    for (const std::int64_t replicas : {2, 4}) {
        for (const bool clips : {false, true}) {
            ReplicaNet net{.replicas = replicas, .update = attrs_of(GetParam()), .clips = clips, .has_master = true};
            const ReplicaResult whole = trained(with_states(net, false));
            net.shards_optimiser = true;
            expect_near(trained(with_states(net, false)), whole, 1e-6);
            expect_same_bits(trained(with_states(net, true)), trained(with_states(net, false)));
        }
    }
}

TEST_P(OptimiserState, InRemoteBuffersHasTheSameBits) {
    for (const std::int64_t replicas : {1, 2}) {
        const ReplicaNet net{.replicas = replicas, .update = attrs_of(GetParam()), .has_master = true};
        const ReplicaResult on_tiles = trained(with_states(net, false));
        expect_same_bits(trained(with_states(net, true)), on_tiles);
        expect_same_bits(trained(with_states(net, true, 100)), on_tiles);
    }
}

INSTANTIATE_TEST_SUITE_P(Rules, OptimiserState,
                         testing::Values(UpdateRule::sgd, UpdateRule::momentum, UpdateRule::nesterov,
                                         UpdateRule::rmsprop, UpdateRule::lars, UpdateRule::adamw, UpdateRule::lamb),
                         [](const auto& rule) { return name_of(rule.param); });

/// A run stores all variables after an update; another executable, with its states elsewhere, goes on with them.
TEST(OptimiserStateStored, IsLoadedAndStoredWhole) {
    ReplicaNet net{.replicas = 4, .update = attrs_of(UpdateRule::lamb), .has_master = true};
    const ReplicaResult undisturbed = trained(with_states(net, false));
    for (const bool first_shards : {false, true}) {
        const ReplicaGraph net_graph(net, net.micro_batch);
        NumberedSamples source(net.micro_batch);
        net.shards_optimiser = first_shards;
        const auto first = compiled(*small_ipus(), with_states(net, true), net_graph.graph, source);
        load_first_weights(*first);
        first->train_step(source, {0.1, 0});
        net.shards_optimiser = !first_shards;
        const auto second = compiled(*small_ipus(), with_states(net, !first_shards), net_graph.graph, source);
        second->load(first->store(first->variable_names()));
        const auto [distance, name] =
            largest_distance(second->store(second->variable_names()), first->store(first->variable_names()));
        EXPECT_EQ(distance, 0) << name;
        second->train_step(source, {0.1, 1});
        second->train_step(source, {0.1, 2});
        const auto [far, variable] = largest_distance(second->store(second->variable_names()), undisturbed.variables);
        EXPECT_LE(far, 1e-6) << variable;
        EXPECT_EQ(second->first_non_finite(), std::nullopt);
    }
}

}  // namespace
}  // namespace cnntrain::test
