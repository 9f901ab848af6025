// Ranks that are threads, and the only rank.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "comm/checks.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"

namespace cnntrain::comm::testing {
namespace {

using Work = std::function<void(Communicator&)>;

/// Runs `work` on every rank; a rank that throws ends, with its communicator. The errors by rank.
std::vector<std::optional<Error>> run(int ranks, const Settings& settings, const Work& work) {
    auto communicators = make_thread_communicators(ranks, settings);
    std::vector<std::optional<Error>> errors(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < communicators.size(); ++rank) {
        threads.emplace_back([&, rank, communicator = std::move(communicators[rank])]() mutable {
            errors[rank] = error_of([&] { work(*communicator); });
            communicator.reset();
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return errors;
}

struct World {
    int ranks;
    int ranks_per_node;
};

class Threads : public ::testing::TestWithParam<World> {
protected:
    void run_all(const Work& work) {
        const Settings settings{.timeout_seconds = 60, .ranks_per_node = GetParam().ranks_per_node};
        const auto errors = run(GetParam().ranks, settings, [&](Communicator& communicator) {
            work(communicator);
            communicator.finish();
        });
        for (const auto& error : errors) {
            EXPECT_FALSE(error) << error->what();
        }
    }
};

TEST_P(Threads, SumsHaveTheBitsOfThePlainTree) {
    run_all([](Communicator& communicator) { check_sums(communicator, GetParam().ranks_per_node); });
}

TEST_P(Threads, ReduceScatterAndAllGatherMakeTheSameSum) {
    run_all([](Communicator& communicator) { check_sharded(communicator, GetParam().ranks_per_node); });
}

TEST_P(Threads, SixteenBitsOnTheWireStayWithinTheirBound) {
    run_all([](Communicator& communicator) { check_bf16(communicator, GetParam().ranks_per_node); });
}

TEST_P(Threads, BucketsUnderWayDoNotMix) {
    run_all([](Communicator& communicator) { check_buckets_under_way(communicator, GetParam().ranks_per_node); });
}

TEST_P(Threads, WordsStatusChecksumBroadcast) {
    run_all([](Communicator& communicator) {
        check_words(communicator);
        check_settings(communicator);
    });
}

TEST_P(Threads, ExchangesAreBetweenPartners) {
    run_all([](Communicator& communicator) { check_exchanges(communicator); });
}

TEST_P(Threads, GroupsTellEachOther) {
    run_all([](Communicator& communicator) { check_groups(communicator, GetParam().ranks_per_node); });
}

TEST_P(Threads, NetworkTimesAreTheSameOnAllRanks) {
    run_all([](Communicator& communicator) { check_network_times(communicator, GetParam().ranks_per_node); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Threads,
                         ::testing::Values(World{1, 0}, World{2, 0}, World{2, 1}, World{3, 0}, World{3, 2}, World{5, 0},
                                           World{5, 2}, World{8, 0}, World{8, 3}, World{8, 4}),
                         [](const auto& instance) {
                             return std::to_string(instance.param.ranks) + "by" +
                                    std::to_string(instance.param.ranks_per_node);
                         });

TEST(Alone, EveryOperationLeavesWhatItHas) {
    const auto communicator = make_alone();
    EXPECT_EQ(communicator->size(), 1);
    EXPECT_EQ(communicator->rank(), 0);
    EXPECT_EQ(communicator->local_size(), 1);
    check_sums(*communicator, 0);
    check_sharded(*communicator, 0);
    check_bf16(*communicator, 0);
    check_buckets_under_way(*communicator, 0);
    check_words(*communicator);
    check_exchanges(*communicator);
    check_groups(*communicator, 0);
    communicator->finish();
}

TEST(Nodes, LocalRanksFollowTheNode) {
    const auto errors = run(5, {.timeout_seconds = 60, .ranks_per_node = 2}, [](Communicator& communicator) {
        EXPECT_EQ(communicator.node(), communicator.rank() / 2);
        EXPECT_EQ(communicator.local_rank(), communicator.rank() % 2);
        EXPECT_EQ(communicator.local_size(), communicator.rank() == 4 ? 1 : 2);
        communicator.finish();
    });
    for (const auto& error : errors) {
        EXPECT_FALSE(error) << error->what();
    }
}

// ---- Faults. The rank that fails is the last but one; the others must end in time and name it.

constexpr double kTimeout = 1;
constexpr int kRanks = 4;
constexpr int kLost = 2;

struct Fault {
    const char* name;
    Work operation;        // what the others do
    const char* expected;  // its name in messages
};

std::vector<float>& buffer() {
    thread_local std::vector<float> values(1000);
    return values;
}

std::vector<Fault> faults() {
    return {
        {"Barrier", [](Communicator& c) { c.barrier("before the first update"); }, "barrier (before the first update)"},
        {"Status", [](Communicator& c) { agree(c, {}); }, "all-gather (status of the update)"},
        {"Flat", [](Communicator& c) { c.wait(c.start_all_reduce(3, buffer(), {})); }, "all-reduce of bucket 3"},
        {"SharingMemory",
         [](Communicator& c) { c.wait(c.start_all_reduce(4, buffer(), {.route = Route::hierarchical})); },
         "sharing memory of bucket 4"},
        {"Scatter", [](Communicator& c) { c.wait(c.start_reduce_scatter(5, buffer(), Wire::bf16)); },
         "reduce-scatter of bucket 5"},
        {"Gather", [](Communicator& c) { c.wait(c.start_all_gather(6, buffer(), Wire::f32)); },
         "all-gather of bucket 6"},
        {"Broadcast",
         [](Communicator& c) { c.broadcast(std::as_writable_bytes(std::span(buffer())), kLost, "weights"); },
         "broadcast (weights)"},
        {"Group",
         [](Communicator& c) {
             const float mine = 1;
             const auto all = std::as_writable_bytes(std::span(buffer())).first(sizeof mine * kRanks);
             c.all_gather_among({0, kRanks}, std::as_bytes(std::span(&mine, 1)), all, "statistics");
         },
         "all-gather (statistics)"},
        {"End", [](Communicator& c) { c.finish(); }, "end of the run"},
    };
}

class Faults : public ::testing::TestWithParam<Fault> {
protected:
    /// The others' errors while rank kLost does `instead`.
    void expect_others_fail(const Work& instead, const ::testing::Matcher<const char*>& message, double seconds) {
        const auto start = std::chrono::steady_clock::now();
        const Settings settings{.timeout_seconds = kTimeout, .ranks_per_node = 2};
        std::array<std::atomic<double>, kRanks> ended{};
        const auto errors = run(kRanks, settings, [&](Communicator& communicator) {
            if (communicator.rank() == kLost) {
                instead(communicator);
                return;
            }
            const auto note_end = [&] {
                const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
                ended[static_cast<std::size_t>(communicator.rank())] = passed.count();
            };
            try {
                GetParam().operation(communicator);
            } catch (const Error&) {
                note_end();
                throw;
            }
            note_end();
        });
        for (std::size_t rank = 0; rank < kRanks; ++rank) {
            if (rank == kLost) continue;
            ASSERT_TRUE(errors[rank]) << "rank " << rank << " noticed nothing";
            EXPECT_EQ(errors[rank]->kind(), ErrorKind::peers);
            EXPECT_THAT(errors[rank]->what(), AllOf(HasSubstr(GetParam().expected), message));
            EXPECT_LT(ended[rank], seconds) << "rank " << rank;
        }
    }
};

TEST_P(Faults, ARankThatStallsIsNamedInTime) {
    // Ranks 1 and 3 wait for rank 0, which waits for rank 2: only that one is missing.
    expect_others_fail([](Communicator&) { std::this_thread::sleep_for(std::chrono::duration<double>(kTimeout + 1)); },
                       HasSubstr("rank 2 did not take part within 1.0 s"), kTimeout + 0.5);
}

TEST_P(Faults, ARankThatLeavesIsNamedAtOnce) {
    expect_others_fail([](Communicator& communicator) { communicator.leave("its disk is full"); },
                       HasSubstr("rank 2 has left: its disk is full"), 0.6 * kTimeout);
}

TEST_P(Faults, ARankThatThrowsOrReturnsIsNamedAtOnce) {
    expect_others_fail([](Communicator&) { throw Error(ErrorKind::data, "damaged"); },
                       HasSubstr("rank 2 has left: ended early"), 0.6 * kTimeout);
}

INSTANTIATE_TEST_SUITE_P(Operations, Faults, ::testing::ValuesIn(faults()),
                         [](const auto& instance) { return instance.param.name; });

TEST(Fault, AStalledRankThatComesBackHearsWhatHappened) {
    const auto errors = run(3, {.timeout_seconds = 0.5}, [](Communicator& communicator) {
        if (communicator.rank() == 1) std::this_thread::sleep_for(std::chrono::seconds(1));
        communicator.barrier("update 7");
    });
    for (const auto& error : errors) {
        ASSERT_TRUE(error);
    }
    EXPECT_THAT(errors[0]->what(), HasSubstr("1 did"));
    EXPECT_THAT(errors[1]->what(), AllOf(HasSubstr("0 has"), HasSubstr("2 has")));
}

/// Rank 0 leaves when it has sent the text to 1 and 2; rank 3 gets it from the slower 2.
TEST(Fault, ARankThatLeavesAfterItsPartDisturbsNoSlowerOne) {
    const auto errors = run(4, {.timeout_seconds = 4}, [](Communicator& communicator) {
        if (communicator.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
        std::array<std::byte, 4> bytes{};
        communicator.broadcast(bytes, 0, "the seed");
        if (communicator.rank() == 0) communicator.leave("it has diverged");
        if (communicator.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    });
    for (const auto& error : errors)
        EXPECT_FALSE(error) << error->what();
}

TEST(Fault, AHierarchicalSumMissesARankOfAnotherNode) {
    const auto errors = run(6, {.timeout_seconds = 0.5, .ranks_per_node = 2}, [](Communicator& communicator) {
        std::vector<float> values(100, 1.0F);
        const auto sum = [&] { return communicator.start_all_reduce(0, values, {.route = Route::hierarchical}); };
        communicator.wait(sum());
        if (communicator.rank() == 5) {
            std::this_thread::sleep_for(std::chrono::seconds(1));
            return;
        }
        communicator.wait(sum());
    });
    for (std::size_t rank = 0; rank < 5; ++rank) {
        ASSERT_TRUE(errors[rank]) << rank;
        EXPECT_THAT(errors[rank]->what(), AllOf(HasSubstr("5 did"), Not(HasSubstr("ranks"))));
    }
}

TEST(Fault, RanksInDifferentOperationsAreToldWhere) {
    const auto errors = run(2, {.timeout_seconds = 0.3}, [](Communicator& communicator) {
        if (communicator.rank() == 0) {
            std::vector<float> values(100);
            communicator.wait(communicator.start_all_reduce(7, values, {}));
        } else {
            std::vector<float> values(100);
            communicator.wait(communicator.start_all_reduce(1, std::span(values).first(0), {}));  // no message
            communicator.barrier("update 3");
        }
    });
    ASSERT_TRUE(errors[0] && errors[1]);
    EXPECT_THAT(errors[0]->what(), HasSubstr("1 waits"));
    EXPECT_THAT(errors[1]->what(), HasSubstr("0 waits"));
}

TEST(Fault, AFailedCommunicatorServesNoOperation) {
    const auto errors = run(2, {.timeout_seconds = 0.3}, [](Communicator& communicator) {
        if (communicator.rank() == 1) return;
        EXPECT_THROW(communicator.barrier("first"), Error);
        communicator.barrier("second");
    });
    ASSERT_TRUE(errors[0]);
    EXPECT_EQ(errors[0]->kind(), ErrorKind::internal);
}

TEST(Fault, ABucketMustBeWaitedForBeforeItStartsAgain) {
    const auto errors = run(2, {.timeout_seconds = 5}, [](Communicator& communicator) {
        std::vector<float> values(10);
        communicator.start_all_reduce(0, values, {});
        if (communicator.rank() == 0) communicator.start_all_reduce(0, values, {});
    });
    ASSERT_TRUE(errors[0]);
    EXPECT_EQ(errors[0]->kind(), ErrorKind::internal);
    EXPECT_THAT(errors[0]->what(), HasSubstr("bucket 0"));
}

/// Here, memory is missing for more words than a vector can hold.
TEST(Fault, AnExceptionOfAnyKindIsToldAtOnce) {
    const auto communicators = make_thread_communicators(2, {.timeout_seconds = 5});
    const std::uint64_t word = 0;
    EXPECT_THROW(communicators[0]->all_gather(std::span(&word, SIZE_MAX / 16), "test"), std::length_error);
    const std::optional<Error> error = error_of([&] { communicators[1]->barrier("test"); });
    ASSERT_TRUE(error);
    EXPECT_THAT(error->what(), HasSubstr("rank 0 has left: "));
}

}  // namespace
}  // namespace cnntrain::comm::testing
