#include "cnntrain/parallel/communicator.h"

#include <gtest/gtest.h>

#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::comm {
namespace {

std::vector<Parameter> random_parameters(Rng& rng) {
    std::vector<Parameter> parameters;
    const std::int64_t count = rng.integer(0, 60);
    for (std::int64_t i = 0; i < count; ++i)
        parameters.push_back({"variable" + std::to_string(i), rng.integer(1, std::int64_t{1} << rng.integer(1, 14))});
    return parameters;
}

TEST(Buckets, CoverTheBufferInOrderWithinTheirLimit) {
    Rng rng(1, RngStream::test);
    for (int trial = 0; trial < 500; ++trial) {
        const std::vector<Parameter> parameters = random_parameters(rng);
        const std::int64_t max_bytes = rng.integer(4, 40'000);
        const BucketPlan plan = plan_buckets(parameters, max_bytes);
        std::int64_t offset = 0;
        std::size_t parameter = 0;
        ASSERT_EQ(plan.offsets.size(), parameters.size());
        for (const Bucket& bucket : plan.buckets) {
            EXPECT_EQ(bucket.offset, offset);
            EXPECT_EQ(bucket.first, static_cast<int>(parameter));
            ASSERT_GT(bucket.count, 0);
            EXPECT_TRUE(bucket.elements * 4 <= max_bytes || bucket.count == 1);
            for (int i = 0; i < bucket.count; ++i, ++parameter) {
                EXPECT_EQ(plan.offsets[parameter], offset);
                offset += parameters[parameter].elements;
            }
            EXPECT_EQ(bucket.offset + bucket.elements, offset);
        }
        EXPECT_EQ(parameter, parameters.size());
        EXPECT_EQ(plan.elements, offset);
    }
}

TEST(Buckets, NoneCouldHaveTakenOneMore) {
    Rng rng(2, RngStream::test);
    for (int trial = 0; trial < 200; ++trial) {
        const std::vector<Parameter> parameters = random_parameters(rng);
        const BucketPlan plan = plan_buckets(parameters, 8192);
        for (std::size_t i = 0; i + 1 < plan.buckets.size(); ++i) {
            const auto next = static_cast<std::size_t>(plan.buckets[i + 1].first);
            EXPECT_GT((plan.buckets[i].elements + parameters[next].elements) * 4, 8192);
        }
    }
}

TEST(Buckets, DefaultIsTheReferences10MiB) {
    const std::vector<Parameter> parameters = {{"a", 1'310'720}, {"b", 1'310'720}, {"c", 1}};
    const BucketPlan plan = plan_buckets(parameters);
    ASSERT_EQ(plan.buckets.size(), 2U);
    EXPECT_EQ(plan.buckets[0].elements * 4, 10 * 1024 * 1024);
}

TEST(Buckets, DigestsTellPlansApart) {
    const std::vector<Parameter> parameters = {{"a", 100}, {"b", 100}, {"c", 100}};
    const std::vector<Parameter> other_order = {{"b", 100}, {"a", 100}, {"c", 100}};
    const std::vector<Parameter> other_size = {{"a", 100}, {"b", 101}, {"c", 100}};
    const std::vector<Parameter> other_cut = {{"ab", 100}, {"", 100}, {"c", 100}};
    EXPECT_EQ(plan_buckets(parameters, 800).digest, plan_buckets(parameters, 1199).digest);  // the same buckets
    const std::set<std::uint64_t> digests = {
        plan_buckets(parameters, 800).digest,  plan_buckets(parameters, 400).digest,
        plan_buckets(parameters, 1200).digest, plan_buckets(other_order, 800).digest,
        plan_buckets(other_size, 804).digest,  plan_buckets(other_cut, 800).digest};
    EXPECT_EQ(digests.size(), 6U);
}

TEST(Buckets, ALimitBelowOneFloatIsRefused) {
    EXPECT_THROW(plan_buckets({}, 3), Error);
    EXPECT_TRUE(plan_buckets({}, 4).buckets.empty());
}

TEST(Shards, CoverTheBucketEvenly) {
    for (const int size : {1, 2, 3, 5, 8, 64}) {
        for (const std::int64_t elements : {0, 1, 15, 16, 1000, 1'000'003}) {
            std::int64_t next = 0;
            for (int rank = 0; rank < size; ++rank) {
                const Shard shard = shard_of(elements, rank, size);
                EXPECT_EQ(shard.begin, next);
                EXPECT_GE(shard.count, 0);
                EXPECT_LE(shard.count, elements / size + 32);
                EXPECT_TRUE(shard.begin % 16 == 0);
                next += shard.count;
            }
            EXPECT_EQ(next, elements);
        }
    }
}

}  // namespace
}  // namespace cnntrain::comm
