// Batch norm over the micro-batches of several replicas, against the CPU, which computes such replicas together.
#include <gtest/gtest.h>

#include <tuple>

#include "backend_ipu/replica_net.h"
#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "support/errors.h"

namespace cnntrain::test {
namespace {

ReplicaResult trained(const backend::Backend& backend, const ReplicaNet& net) {
    backend::CompileRequest request = request_of(net);
    const std::int64_t samples = backend.placement(request.plan, {.threads = 1}).samples;
    const ReplicaGraph net_graph(net, samples);
    NumberedSamples source(samples);
    return train(backend, net, net_graph.graph, source);
}

class NormSpan : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t>> {};

TEST_P(NormSpan, StatisticsAndGradientsAreThoseOfTheReplicasTogether) {
    const auto [replicas, span] = GetParam();
    const ReplicaNet net{.replicas = replicas, .norm_span = span};
    const ReplicaResult ipu = trained(*small_ipus(), net);
    expect_near(ipu, trained(*backend::make_cpu_backend(), net), 1e-5);
    EXPECT_GT(largest_distance(ipu.variables, trained(*small_ipus(), {.replicas = replicas}).variables).first, 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Replicas, NormSpan, testing::Values(std::tuple(2, 2), std::tuple(4, 2), std::tuple(4, 4)));

TEST(NormSpanRefusals, ReplicasAreInEqualGroups) {
    const auto error = error_of([] { small_ipus()->placement({.replicas = 4, .norm_span = 3}, {}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::usage);
    EXPECT_STREQ(error->what(),
                 "--BN-span 3 does not divide the number of replicas, 4: with --backend ipu, replicas of one process "
                 "share statistics");
}

}  // namespace
}  // namespace cnntrain::test
