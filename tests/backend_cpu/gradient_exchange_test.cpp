#include "backend/cpu/run/exchange.h"

#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/parallel/communicator.h"
#include "support/matchers.h"
#include "support/thread_communicators.h"

namespace cnntrain::cpu {
namespace {

constexpr int kRanks = 3;

/// Runs the body on every rank; the messages of the errors that it ended with.
std::vector<std::string> on_ranks(const std::function<void(comm::Communicator&)>& body) {
    std::vector<std::string> messages(kRanks);
    auto communicators = comm::make_thread_communicators(kRanks, {.timeout_seconds = 20});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < communicators.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                body(*communicators[i]);
                communicators[i]->finish();
            } catch (const std::exception& error) {
                messages[i] = error.what();
                communicators[i]->leave(error.what());
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return messages;
}

/// Three sums of 16 floats, two of which share a bucket.
struct Sums {
    explicit Sums(comm::Communicator& communicator, bool overlap = true, bool waits_for_last = false)
        : memory(48, static_cast<float>(communicator.rank() + 1)),
          exchange({&communicator}, {.bucket_bytes = 128, .overlap_exchange = overlap}) {
        for (const char* name : {"a", "b", "c"})
            exchange.add(name, 16, "plain");
        exchange.plan();
        exchange.use(memory);
        exchange.begin(waits_for_last);
    }
    std::vector<float> memory;
    GradientExchange exchange;
};

TEST(GradientExchange, SumsBucketsWhateverIsReadyFirst) {
    const auto messages = on_ranks([](comm::Communicator& communicator) {
        for (const bool overlap : {true, false}) {
            Sums sums(communicator, overlap);
            ASSERT_EQ(sums.exchange.buckets().buckets.size(), 2U);
            for (const std::size_t ready : {2U, 1U, 0U}) {
                sums.exchange.is_ready(ready);
                sums.exchange.progress();
            }
            backend::StepResult result;
            result.samples = 10 + communicator.rank();
            result.sums = {{"correct", 1.0}, {"loss", 0.5 * communicator.rank()}};
            std::optional<std::string> where;
            sums.exchange.agree({}, result, where);
            EXPECT_TRUE(backend::settle(result, true));
            EXPECT_EQ(sums.memory, std::vector<float>(48, 6.0F));
            EXPECT_EQ(result.samples, 33);
            EXPECT_EQ(result.sums.at("loss"), 1.5);
            EXPECT_EQ(result.sums.at("correct"), 3);
            EXPECT_FALSE(result.stopped || result.stop_requested || where);
            EXPECT_GE(result.exchange_seconds, result.exposed_exchange_seconds * (overlap ? 1 : 0));
        }
    });
    EXPECT_THAT(messages, ::testing::Each(""));
}

TEST(GradientExchange, AnUpdateThatOneRankGivesUpCountsOnNone) {
    const auto messages = on_ranks([](comm::Communicator& communicator) {
        Sums sums(communicator);
        backend::StepResult result;
        result.stopped = communicator.rank() == 1;  // and none of its sums is ready
        if (!result.stopped) sums.exchange.is_ready(0);
        std::optional<std::string> where;
        result.stop_requested = result.stopped;
        sums.exchange.agree({}, result, where);
        EXPECT_FALSE(backend::settle(result, true));
        EXPECT_TRUE(result.stopped && result.stop_requested);
    });
    EXPECT_THAT(messages, ::testing::Each(""));
}

TEST(GradientExchange, NoBucketTravelsWhereARankStopsBeforeItsLastMicroBatch) {
    for (const bool overlap : {true, false}) {
        const auto messages = on_ranks([&](comm::Communicator& communicator) {
            Sums sums(communicator, overlap, true);
            backend::StepResult result;
            result.stopped = communicator.rank() == 1;
            if (!result.stopped) {
                sums.exchange.last_micro_batch_begins();
                for (const std::size_t ready : {0U, 1U, 2U}) {
                    sums.exchange.is_ready(ready);
                    sums.exchange.progress();
                }
            }
            result.stop_requested = result.stopped;
            std::optional<std::string> where;
            sums.exchange.agree({}, result, where);
            EXPECT_TRUE(result.stopped && result.stop_requested);
            EXPECT_EQ(sums.memory, std::vector<float>(48, static_cast<float>(communicator.rank() + 1)));

            sums.exchange.begin(true);  // the next update
            result = {};
            sums.exchange.last_micro_batch_begins();
            for (const std::size_t ready : {0U, 1U, 2U}) {
                sums.exchange.is_ready(ready);
                sums.exchange.progress();
            }
            sums.exchange.agree({}, result, where);
            EXPECT_TRUE(backend::settle(result, true));
            EXPECT_EQ(sums.memory, std::vector<float>(48, 6.0F));
        });
        EXPECT_THAT(messages, ::testing::Each(""));
    }
}

TEST(GradientExchange, AWishToStopDoesNotUndoTheUpdate) {
    on_ranks([](comm::Communicator& communicator) {
        Sums sums(communicator);
        backend::StepResult result;
        std::optional<std::string> where;
        result.stop_requested = communicator.rank() == 2;
        sums.exchange.agree({}, result, where);
        EXPECT_TRUE(backend::settle(result, true));
        EXPECT_TRUE(result.stop_requested);
        EXPECT_FALSE(result.stopped);
    });
}

TEST(GradientExchange, AllKnowWhichRankIsNotFinite) {
    on_ranks([](comm::Communicator& communicator) {
        Sums sums(communicator);
        backend::StepResult result;
        std::optional<std::string> where;
        if (communicator.rank() == 2) where = "the result of conv1, element 3";
        result.sums["loss"] = communicator.rank() == 2 ? INFINITY : 1;
        sums.exchange.agree({.not_finite = communicator.rank() == 2}, result, where);
        EXPECT_FALSE(backend::settle(result, true));
        const std::string found = "the result of conv1, element 3";
        EXPECT_EQ(*where, communicator.rank() == 2 ? found : "on rank 2: " + found);
    });
}

TEST(GradientExchange, DamagedDataEndAllRanksWithAnErrorOfTheirKind) {
    const auto messages = on_ranks([](comm::Communicator& communicator) {
        Sums sums(communicator);
        Outcome mine;
        if (communicator.rank() == 1)
            mine.failure = std::make_exception_ptr(Error(ErrorKind::data, "train-00003: record 7: wrong checksum"));
        backend::StepResult result;
        std::optional<std::string> where;
        try {
            sums.exchange.agree(mine, result, where);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::data);
            throw;
        }
    });
    EXPECT_EQ(messages[1], "train-00003: record 7: wrong checksum");
    for (const std::size_t other : {0U, 2U})
        EXPECT_THAT(messages[other], AllOf(HasSubstr("1 met"), HasSubstr("00003")));
}

TEST(GradientExchange, OtherFailuresAreHeardOfAtOnce) {
    const auto messages = on_ranks([](comm::Communicator& communicator) {
        Sums sums(communicator);
        Outcome mine;
        if (communicator.rank() == 0)
            mine.failure = std::make_exception_ptr(Error(ErrorKind::internal, "a primitive failed"));
        backend::StepResult result;
        std::optional<std::string> where;
        sums.exchange.agree(mine, result, where);
    });
    EXPECT_EQ(messages[0], "a primitive failed");
    for (const std::size_t other : {1U, 2U})
        EXPECT_THAT(messages[other], AllOf(HasSubstr("all-reduce"), HasSubstr("rank 0")));
}

TEST(GradientExchange, SumsThatDifferOrLieDifferentlyAreRefused) {
    for (const bool names : {true, false}) {
        const auto messages = on_ranks([&](comm::Communicator& communicator) {
            GradientExchange exchange(backend::Peers{&communicator});
            const bool odd = communicator.rank() == 2;
            exchange.add(names && odd ? "other" : "weight", 16, !names && odd ? "AcdB16a" : "plain");
            exchange.plan();
        });
        for (const std::string& message : messages)
            EXPECT_THAT(message, AllOf(HasSubstr(names ? "gradients" : "layouts of gradients"), HasSubstr("rank 2")));
    }
}

}  // namespace
}  // namespace cnntrain::cpu
