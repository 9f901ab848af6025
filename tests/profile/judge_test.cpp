// Verdicts on what limits made-up steps.
#include <gtest/gtest.h>

#include "cnntrain/base/text.h"
#include "profile/made_up.h"
#include "support/matchers.h"

namespace cnntrain::profile::testing {
namespace {

/// Checks the limit, and that the sentence has these words.
::testing::AssertionResult is(const Profile& profile, Limit limit, const std::vector<std::string>& words) {
    const Verdict verdict = judge(profile);
    if (verdict.limit != limit)
        return ::testing::AssertionFailure() << enumerator_name(verdict.limit) << ": " << verdict.sentence;
    for (const std::string& word : words) {
        if (verdict.sentence.find(word) == std::string::npos)
            return ::testing::AssertionFailure() << "'" << word << "' is not in: " << verdict.sentence;
    }
    return ::testing::AssertionSuccess();
}

TEST(Judge, ArithmeticLimitsWhereNothingElseDoes) {
    EXPECT_TRUE(is(made_up(), Limit::compute, {"98 % of a step", "69 % of what the processor", "more cores"}));
    EXPECT_THAT(judge(made_up()).sentence, Not(HasSubstr("--precision")));
    Profile f32 = made_up();
    f32.type = "f32";
    EXPECT_THAT(judge(f32).sentence, Not(HasSubstr("--precision"))) << "16.16 on a processor without 16-bit products";
    f32.faster_in_16_bits = true;
    EXPECT_TRUE(is(f32, Limit::compute, {"--precision 16.16"}));
}

TEST(Judge, ASlowDisk) {
    Profile profile = waiting_for_input();
    profile.input.stages = {.read = 0.3, .decode = 0.05, .resize = 0.02, .augment = 0.02};
    EXPECT_TRUE(is(profile, Limit::disk, {"waits 60 % of its time for images", "reading is 77 %", "local disk"}));
}

TEST(Judge, HugeImages) {
    Profile profile = waiting_for_input();
    profile.input.megapixels = 24.2;
    EXPECT_TRUE(
        is(profile, Limit::large_images, {"24.2 megapixels, where the network reads 0.05", "store them smaller"}));
    profile.image_megapixels = 20;  // the network needs them
    EXPECT_TRUE(is(profile, Limit::input, {"for decoding"}));
    profile = waiting_for_input();
    profile.input.megapixels = 24.2;
    profile.waits.input = 0.005;  // they do not hold up the step
    EXPECT_FALSE(is(profile, Limit::large_images, {}));
}

TEST(Judge, FewInputThreads) {
    Profile profile = waiting_for_input();
    EXPECT_TRUE(is(profile, Limit::input, {"decoding", "more processors"}));
    profile.input.threads = 1;
    EXPECT_TRUE(is(profile, Limit::input_threads, {"1 thread of 4 processors", "--input-threads"}));
}

TEST(Judge, OneThread) {
    Profile profile = made_up();
    profile.threads = 1;
    EXPECT_TRUE(is(profile, Limit::threads, {"1 thread computes on a machine with 2 cores", "leave out --threads"}));
    profile.competition = {.others = 3.1, .queued_share = 0.01};
    EXPECT_TRUE(is(profile, Limit::threads, {"end the other programs, which use 3.1"}));
}

TEST(Judge, BusyNeighbours) {
    Profile profile = made_up();
    profile.competition = {.others = 2.1, .queued_share = 0.4};
    EXPECT_TRUE(is(profile, Limit::neighbours, {"2.1 of 4 processors", "40 % of the time", "--threads 1"}));
    profile.threads = 1;
    EXPECT_EQ(judge(profile).limit, Limit::neighbours);
    EXPECT_EQ(judge(profile).sentence.find("--threads"), std::string::npos);
    profile.threads = 2;
    profile.waits.input = 0.06;  // a consequence of the other programs
    EXPECT_TRUE(is(profile, Limit::neighbours, {}));
    profile = made_up();
    profile.competition = {.others = 2.1, .queued_share = 0.05};  // there is room for both
    EXPECT_TRUE(is(profile, Limit::compute, {}));
    profile.competition.others = 3.1;  // fewer threads work, so they do not wait
    EXPECT_TRUE(is(profile, Limit::neighbours, {"3.1 of 4 processors"}));
}

TEST(Judge, ASmallBatchByTheUpdatesOfWeights) {
    Profile profile = made_up();
    profile.micro_batch = 1;
    profile.rows[2].seconds = 0.05;
    profile.rows[1].seconds = 0.02;
    EXPECT_TRUE(is(profile, Limit::small_batch,
                   {"a micro-batch of 1", "50 % of a step updates the weights", "--gradient-accumulation-count"}));
    profile.trains = false;
    EXPECT_FALSE(is(profile, Limit::small_batch, {}));
}

TEST(Judge, ASmallBatchByShortOperations) {
    Profile profile = made_up();
    profile.micro_batch = 2;
    for (Row& row : profile.rows)
        row.run_seconds = 20e-6;
    EXPECT_TRUE(is(profile, Limit::small_batch, {"a micro-batch of 2", "shorter than 50 microseconds"}));
}

RankTimes rank(double own, double input, double waits_for_ranks) {
    return {own + waits_for_ranks, {.input = input, .lanes = 0, .ranks = waits_for_ranks}};
}

TEST(Judge, ASlowRank) {
    Profile profile = made_up();
    profile.waits.ranks = 0.05;
    profile.ranks = {rank(0.05, 0, 0.05), rank(0.05, 0, 0.05), rank(0.1, 0, 0.0), rank(0.051, 0, 0.049)};
    EXPECT_TRUE(is(profile, Limit::slow_rank, {"rank 2", "100.0 ms, and the others 50.0 ms", "other programs"}));
    profile.ranks[2].waits.input = 0.045;
    EXPECT_TRUE(is(profile, Limit::slow_rank, {"rank 2", "because it waits for input"}));
}

TEST(Judge, CommunicationOfEqualRanks) {
    Profile profile = made_up();
    scale_work(profile, 0.6);
    profile.waits.ranks = 0.04;
    profile.ranks = {rank(0.06, 0, 0.04), rank(0.061, 0, 0.039)};
    EXPECT_TRUE(is(profile, Limit::communication, {"40 % of a step", "--comm-wire bf16"}));
}

TEST(Judge, LanesThatWait) {
    Profile profile = made_up();
    scale_work(profile, 0.7);
    profile.lanes = 2;
    profile.waits.lanes = 0.3 * profile.step_seconds;
    EXPECT_TRUE(is(profile, Limit::lanes, {"30 %", "cnntrain plan"}));
}

TEST(Judge, MemoryBandwidth) {
    Profile profile = made_up();
    profile.rows[1].megabytes = 1100;
    EXPECT_TRUE(is(profile, Limit::memory_bandwidth, {"68 % of a step (memory 68 %)", "20.0 GB/s"}));
    // The operands of each of the 50 runs are small enough for a cache.
    profile.peaks.levels = {{"L3", 32e6, {2.5e10, 1e10}}, {"memory", kUnlimited, {1e10, 2e10}}};
    EXPECT_TRUE(is(profile, Limit::memory_bandwidth, {"68 % of a step (L3 60 %, memory 8 %)"}));
    profile.peaks.levels[0].rates.reading = 2e11;  // now arithmetic takes longer than their traffic
    EXPECT_TRUE(is(profile, Limit::compute, {}));
}

TEST(Judge, PagesFromDisk) {
    Profile profile = made_up();
    profile.page_loads_per_second = 900;
    EXPECT_TRUE(is(profile, Limit::paging, {"900 pages", "--micro-batch-size"}));
    profile.page_loads_per_second = 2;
    EXPECT_TRUE(is(profile, Limit::compute, {}));
}

// The tables of a run have waits, but no operations.
TEST(Judge, WithoutOperationsItSaysNoMoreThanItKnows) {
    Profile profile = made_up();
    profile.rows.clear();
    profile.peaks = {};
    EXPECT_TRUE(is(profile, Limit::operations, {"100 % of a step", "was not measured", "--profile"}));
    profile.waits.ranks = 0.03;
    EXPECT_TRUE(is(profile, Limit::communication, {"30 % of a step", "or waiting for a slow rank"}));
    profile.waits = {.input = 0.04};
    profile.input = {};
    EXPECT_TRUE(is(profile, Limit::input, {"waits 40 % of its time for images"}));
    EXPECT_THAT(judge(profile).sentence, Not(HasSubstr("most of it")));
}

TEST(Judge, WorkBetweenSteps) {
    Profile profile = made_up();
    scale_work(profile, 0.7);
    EXPECT_TRUE(is(profile, Limit::between_steps, {"31 %", "checkpoints"}));
}

TEST(Judge, AProfileWithoutAnythingHasAVerdict) {
    Profile empty;
    empty.step_seconds = 1;
    EXPECT_THAT(judge(empty).sentence, Not(EndsWith(".")));
}

}  // namespace
}  // namespace cnntrain::profile::testing
