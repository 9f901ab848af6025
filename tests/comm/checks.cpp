#include "comm/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/communicator.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::comm::testing {
namespace {

constexpr std::size_t kCounts[] = {0, 1, 15, 16, 17, 100, 1000, 4099, 70'001};

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

const char* name(Route route) {
    return route == Route::flat ? "flat" : "hierarchical";
}

/// Sum of the absolute values: what rounding errors are measured by.
std::vector<float> sum_of_sizes(int ranks, std::size_t count, std::uint64_t round) {
    std::vector<float> sizes(count);
    for (int rank = 0; rank < ranks; ++rank) {
        const std::vector<float> values = values_of(rank, count, round);
        for (std::size_t i = 0; i < count; ++i)
            sizes[i] += std::fabs(values[i]);
    }
    return sizes;
}

}  // namespace

std::vector<float> values_of(int rank, std::size_t count, std::uint64_t round) {
    Rng rng(round, RngStream::test, static_cast<std::uint32_t>(rank));
    std::vector<float> values(count);
    for (float& value : values)
        value = std::ldexp(static_cast<float>(rng.uniform(-1, 1)), static_cast<int>(rng.integer(-6, 7)));
    return values;
}

std::vector<float> plain_sum(int ranks, int ranks_per_node, std::size_t count, std::uint64_t round) {
    const int per_node = ranks_per_node == 0 ? ranks : ranks_per_node;
    std::vector<float> total;
    for (int first = 0; first < ranks; first += per_node) {
        std::vector<float> node = values_of(first, count, round);
        for (int rank = first + 1; rank < std::min(first + per_node, ranks); ++rank) {
            const std::vector<float> values = values_of(rank, count, round);
            for (std::size_t i = 0; i < count; ++i)
                node[i] += values[i];
        }
        if (first == 0) {
            total = node;
            continue;
        }
        for (std::size_t i = 0; i < count; ++i)
            total[i] += node[i];
    }
    return total;
}

void random_delay() {
    thread_local std::minstd_rand random(std::random_device{}());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
}

void check_sums(Communicator& communicator, int ranks_per_node) {
    std::uint64_t round = 0;
    for (const Route route : {Route::flat, Route::hierarchical}) {
        for (const std::size_t count : kCounts) {
            ++round;
            std::vector<float> values = values_of(communicator.rank(), count, round);
            random_delay();
            communicator.wait(communicator.start_all_reduce(0, values, {.route = route}));
            EXPECT_TRUE(same_bits(values, plain_sum(communicator.size(), ranks_per_node, count, round)))
                << name(route) << ", " << count << " elements, rank " << communicator.rank();
        }
    }
}

void check_sharded(Communicator& communicator, int ranks_per_node) {
    std::uint64_t round = 100;
    for (const std::size_t count : kCounts) {
        ++round;
        const std::vector<float> sum = plain_sum(communicator.size(), ranks_per_node, count, round);
        const std::vector<float> own = values_of(communicator.rank(), count, round);
        std::vector<float> values = own;
        const Shard shard = shard_of(static_cast<std::int64_t>(count), communicator.rank(), communicator.size());
        communicator.wait(communicator.start_reduce_scatter(1, values, Wire::f32));
        std::vector<float> expected = own;
        std::copy_n(sum.begin() + shard.begin, shard.count, expected.begin() + shard.begin);
        EXPECT_TRUE(same_bits(values, expected)) << count << " elements, rank " << communicator.rank();
        communicator.wait(communicator.start_all_gather(1, values, Wire::f32));
        EXPECT_TRUE(same_bits(values, sum)) << count << " elements, rank " << communicator.rank();
    }
}

/// The first rounding is of what is sent, at most 2^-8 of it each; the second of the sum; the rest is float arithmetic.
void check_bf16(Communicator& communicator, int ranks_per_node) {
    std::uint64_t round = 200;
    for (const Route route : {Route::flat, Route::hierarchical}) {
        for (const std::size_t count : kCounts) {
            ++round;
            std::vector<float> values = values_of(communicator.rank(), count, round);
            const Handle handle = communicator.start_all_reduce(2, values, {.wire = Wire::bf16, .route = route});
            communicator.wait(handle);
            const std::vector<float> sum = plain_sum(communicator.size(), ranks_per_node, count, round);
            const std::vector<float> sizes = sum_of_sizes(communicator.size(), count, round);
            for (std::size_t i = 0; i < count; ++i) {
                const float bound = 0x1p-8F * sizes[i] + 0x1p-8F * std::fabs(values[i]) + 0x1p-20F * sizes[i];
                ASSERT_NEAR(values[i], sum[i], bound) << name(route) << ", element " << i << " of " << count;
            }
            std::uint64_t checksum = 0;
            for (const float value : values)
                checksum = checksum * 31 + to_bfloat16(value).bits;
            EXPECT_NO_THROW(check_same(communicator, checksum, "rounded sums"));
        }
    }
    // Rounding takes place: a sum of values that bfloat16 cannot hold is itself one that it can.
    std::vector<float> values(100, 1.001F);
    communicator.wait(communicator.start_all_reduce(2, values, {.wire = Wire::bf16}));
    if (communicator.size() > 1) {
        EXPECT_EQ(values[99], to_float(to_bfloat16(static_cast<float>(communicator.size()))));
    } else {
        EXPECT_EQ(values[99], 1.001F);
    }
}

void check_buckets_under_way(Communicator& communicator, int ranks_per_node) {
    constexpr int kBuckets = 6;
    constexpr std::size_t kElements = 3000;
    for (int update = 0; update < 5; ++update) {
        const auto round = [&](int bucket) { return static_cast<std::uint64_t>(1000 + 10 * update + bucket); };
        std::vector<std::vector<float>> values;
        std::vector<Handle> handles;
        for (int bucket = 0; bucket < kBuckets; ++bucket) {
            const std::size_t count = kElements + 500 * static_cast<std::size_t>(bucket + update);
            values.push_back(values_of(communicator.rank(), count, round(bucket)));
            const Route route = bucket % 2 == 0 ? Route::flat : Route::hierarchical;
            handles.push_back(communicator.start_all_reduce(bucket, values.back(), {.route = route}));
            random_delay();
            communicator.progress();
        }
        for (int bucket = kBuckets - 1; bucket >= 0; --bucket) {
            const std::vector<float>& got = values[static_cast<std::size_t>(bucket)];
            communicator.wait(handles[static_cast<std::size_t>(bucket)]);
            EXPECT_TRUE(same_bits(got, plain_sum(communicator.size(), ranks_per_node, got.size(), round(bucket))))
                << "bucket " << bucket << ", update " << update << ", rank " << communicator.rank();
        }
        EXPECT_TRUE(communicator.progress());
    }
}

void check_words(Communicator& communicator) {
    const int rank = communicator.rank();
    const int size = communicator.size();
    random_delay();
    communicator.barrier("test");
    std::vector<std::uint64_t> expected;
    for (int other = 0; other < size; ++other)
        expected.push_back(static_cast<std::uint64_t>(other) * 7 + 1);
    EXPECT_EQ(communicator.all_gather(expected[static_cast<std::size_t>(rank)], "test"), expected);

    for (int root = 0; root < size; ++root) {
        const std::size_t count = root == 0 ? 5'000'000 : 1000;  // the first: more than one piece
        std::vector<float> weights(count, static_cast<float>(rank));
        weights.back() = static_cast<float>(rank + 100);
        communicator.broadcast(std::as_writable_bytes(std::span(weights)), root, "weights");
        std::vector<float> of_root(count, static_cast<float>(root));
        of_root.back() = static_cast<float>(root + 100);
        EXPECT_TRUE(same_bits(weights, of_root)) << "root " << root << ", rank " << rank;
    }

    EXPECT_EQ(agree(communicator, {}).any, UpdateStatus{});
    const AgreedStatus agreed = agree(communicator, {.stop = rank == 0, .not_finite = rank == size - 1});
    EXPECT_EQ(agreed.any, (UpdateStatus{.stop = true, .not_finite = true}));
    ASSERT_EQ(agreed.ranks.size(), static_cast<std::size_t>(size));
    for (int other = 0; other < size; ++other) {
        const UpdateStatus said{.stop = other == 0, .not_finite = other == size - 1};
        EXPECT_EQ(agreed.ranks[static_cast<std::size_t>(other)], said);
    }
    EXPECT_EQ(agree(communicator, {.damaged_data = true}).any, UpdateStatus{.damaged_data = true});

    EXPECT_NO_THROW(check_same(communicator, 5, "weights"));
    if (size == 1) return;
    EXPECT_THAT(message_of(ErrorKind::peers, [&] { check_same(communicator, rank == 1 ? 6 : 5, "weights"); }),
                HasSubstr("0000000000000005"));
}

void check_settings(Communicator& communicator) {
    const int rank = communicator.rank();
    EXPECT_EQ(differences(communicator, std::vector<SharedSetting>{{"--a", "1"}, {"--b", ""}}, "test"), "");
    if (communicator.size() == 1) return;
    std::vector<SharedSetting> mine = {{"--a", "1"}, {"--b", rank == 1 ? "" : "2"}, {"--c", "3"}};
    if (rank == 1) mine.push_back({"--d", "4"});
    std::vector<std::string> numbers;
    for (int other = 0; other < communicator.size(); ++other) {
        if (other != 1) numbers.push_back(std::to_string(other));
    }
    const std::string others = (numbers.size() == 1 ? "rank " : "ranks ") + listed(numbers);
    EXPECT_EQ(differences(communicator, mine, "test"),
              "--b (2 on " + others + ", none on rank 1), --d (not known on " + others + ", 4 on rank 1)");
}

void check_exchanges(Communicator& communicator) {
    const int rank = communicator.rank();
    for (int distance = 0; distance < communicator.size(); ++distance) {
        const int partner = (rank ^ distance) < communicator.size() ? rank ^ distance : rank;
        const std::size_t count = 50'000 * static_cast<std::size_t>(distance);
        const std::vector<float> out(count, static_cast<float>(rank));
        std::vector<float> in(count, -1);
        random_delay();
        communicator.exchange(std::as_bytes(std::span(out)), std::as_writable_bytes(std::span(in)), partner, "test");
        const std::vector<float> expected(count, partner == rank ? -1.0F : static_cast<float>(partner));
        EXPECT_TRUE(same_bits(in, expected)) << "rank " << rank << " with " << partner;
    }
}

void check_groups(Communicator& communicator, int ranks_per_node) {
    const int rank = communicator.rank();
    const Group group{.first = rank / 2 * 2, .count = std::min(2, communicator.size() - rank / 2 * 2)};
    std::vector<float> bucket = values_of(rank, 100'000, 0);
    const Handle handle = communicator.start_all_reduce(0, bucket, {});
    // Some groups say more than others do.
    for (int round = 0; round <= 3 + group.first; ++round) {
        const std::vector<float> mine(static_cast<std::size_t>(1 + 1000 * round),
                                      static_cast<float>(10 * rank + round));
        std::vector<float> all(mine.size() * static_cast<std::size_t>(group.count));
        random_delay();
        communicator.all_gather_among(group, std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)),
                                      "test");
        for (std::size_t i = 0; i < all.size(); ++i) {
            const int from = group.first + static_cast<int>(i / mine.size());
            ASSERT_EQ(all[i], static_cast<float>(10 * from + round)) << "rank " << rank << ", element " << i;
        }
    }
    communicator.wait(handle);
    EXPECT_TRUE(same_bits(bucket, plain_sum(communicator.size(), ranks_per_node, bucket.size(), 0)));
}

void check_network_times(Communicator& communicator, int ranks_per_node) {
    const int size = communicator.size();
    if (size == 1) return;
    const NetworkTimes times = measure_network(communicator, {.largest_bytes = 4096, .seconds = 1e-4});
    const bool several_nodes = ranks_per_node > 0 && ranks_per_node < size;
    const auto sizes_of = [](const std::vector<TimedMessage>& messages) {
        std::vector<double> sizes;
        for (const TimedMessage& message : messages) {
            EXPECT_GT(message.seconds, 0);
            sizes.push_back(message.bytes);
        }
        return sizes;
    };
    std::vector<double> sizes = {4, 16, 64, 256, 1024, 4096};
    EXPECT_EQ(sizes_of(times.inside_node), ranks_per_node != 1 ? sizes : std::vector<double>());
    const int pairs = std::min(ranks_per_node, size - ranks_per_node);  // from the first node to the second
    for (double& bytes : sizes)
        bytes *= pairs;
    EXPECT_EQ(sizes_of(times.between_nodes), several_nodes ? sizes : std::vector<double>());
    EXPECT_GT(times.adding_seconds_per_byte, 0);
    EXPECT_EQ(times.sums.size(), 4 * 4U);  // 64 to 4096 bytes, two routes, two wires
    std::uint64_t nanoseconds = 0;
    for (const TimedSum& sum : times.sums) {
        EXPECT_GT(sum.seconds, 0);
        nanoseconds += static_cast<std::uint64_t>(sum.seconds * 1e9);
    }
    EXPECT_NO_THROW(check_same(communicator, nanoseconds, "times"));
}

}  // namespace cnntrain::comm::testing
