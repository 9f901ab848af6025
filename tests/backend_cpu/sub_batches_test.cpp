#include "backend/cpu/run/placement.h"

#include <gtest/gtest.h>

#include "support/toy_graph.h"

namespace cnntrain::cpu {
namespace {

constexpr std::size_t kCache = std::size_t{32} << 20;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

TEST(SubBatch, IsTheLargestDivisorThatFitsInHalfOfTheCache) {
    EXPECT_EQ(sub_batch_of(16, kMegabyte, kCache, 2), 16);
    EXPECT_EQ(sub_batch_of(64, kMegabyte, kCache, 2), 16);
    EXPECT_EQ(sub_batch_of(64, kMegabyte + 1, kCache, 2), 8);
    EXPECT_EQ(sub_batch_of(48, kMegabyte, kCache, 2), 16);
    EXPECT_EQ(sub_batch_of(50, kMegabyte, kCache, 2), 10);
    EXPECT_EQ(sub_batch_of(17, kMegabyte, kCache, 2), 1) << "a prime number";
    EXPECT_EQ(sub_batch_of(8, 100 * kMegabyte, kCache, 2), 1) << "no sample fits";
    EXPECT_EQ(sub_batch_of(1, 100 * kMegabyte, kCache, 2), 1);
}

TEST(SubBatch, HasASampleForTwoThreads) {
    EXPECT_EQ(sub_batch_of(64, 100 * kMegabyte, kCache, 1), 1);
    EXPECT_EQ(sub_batch_of(64, 100 * kMegabyte, kCache, 16), 8);
    EXPECT_EQ(sub_batch_of(36, 100 * kMegabyte, kCache, 16), 9);
    EXPECT_EQ(sub_batch_of(4, 100 * kMegabyte, kCache, 16), 4);
}

TEST(SubBatch, CountsWhatTheLargestNodeReadsAndWrites) {
    test::ToyGraph net;
    const auto x = net.input("x", {4, 8, 8, 16});
    const auto wide = net.conv(x, 32, "wide");
    net.graph.mark_output("y", net.sum(net.activation(wide, "relu"), wide, "residual"));
    EXPECT_EQ(bytes_of_sample(net.graph, 4), 8U * 8 * (32 + 32) * sizeof(float));
}

constexpr std::int64_t kElements = std::int64_t{8192} * 8192 * 64;

/// Parts of a batch of 8 samples with kElements activations each, of which no sample fits in a cache.
std::int64_t parts_of(DType type, std::int64_t weights, const backend::CpuSettings& settings) {
    test::ToyGraph net(type);
    net.parameter("weights", {weights});
    net.graph.mark_output("y", net.activation(net.input("x", {8, 8192, 8192, 64}, type), "relu"));
    backend::CompileRequest request;
    request.graph = &net.graph;
    request.cpu = settings;
    return sub_batches_of(request).count;
}

TEST(SubBatch, DividesBatchesOf16BitsAndThoseWithSmallWeights) {
    EXPECT_EQ(parts_of(DType::bf16, kElements, {.threads = 2}), 8);
    EXPECT_EQ(parts_of(DType::f32, kElements / 2, {.threads = 2}), 1);
    EXPECT_EQ(parts_of(DType::f32, kElements / 2 - 1, {.threads = 2}), 8);
    EXPECT_EQ(parts_of(DType::f32, kElements, {.threads = 2, .sub_batch = 4}), 2) << "asked for";
    EXPECT_EQ(parts_of(DType::bf16, 1, {.threads = 2, .thread_independent = true}), 1);
}

}  // namespace
}  // namespace cnntrain::cpu
