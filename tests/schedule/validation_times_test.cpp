#include "cnntrain/parallel/run_plan.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/matchers.h"

namespace cnntrain::schedule {
namespace {

/// A run of `iterations` updates, 100 to an epoch.
RunPlan plan_of(std::int64_t iterations) {
    RunShape shape;
    shape.images = 405;
    shape.micro_batch_size = 4;
    shape.gradient_accumulation_count = 1;
    shape.iterations = iterations;
    RunPlan plan = make_run_plan(shape);
    plan.iterations_per_epoch = 100;
    return plan;
}

std::vector<std::int64_t> times(const ValidationTimes& wanted, std::int64_t iterations) {
    const PlannedValidations planned(wanted, plan_of(iterations));
    std::vector<std::int64_t> all;
    std::vector<std::int64_t> met;
    for (std::int64_t at = 0; at < iterations; at = all.back())
        all.push_back(planned.next(at));
    for (std::int64_t at = 0; at <= iterations; ++at) {
        if (planned.is_at(at)) met.push_back(at);
    }
    EXPECT_EQ(met, all);
    EXPECT_EQ(planned.count(), std::ssize(all));
    return all;
}

TEST(PlannedValidations, AreAtMultiplesAndAtTheEnd) {
    EXPECT_THAT(times({.updates_per_validation = 10}, 30), ElementsAre(10, 20, 30));
    EXPECT_THAT(times({.updates_per_validation = 10}, 35), ElementsAre(10, 20, 30, 35));
    EXPECT_THAT(times({.updates_per_validation = 1}, 3), ElementsAre(1, 2, 3));
    EXPECT_THAT(times({.updates_per_validation = 100}, 7), ElementsAre(7));
}

TEST(PlannedValidations, TheEndReplacesOneThatIsNearerThanHalfAPeriod) {
    EXPECT_THAT(times({.updates_per_validation = 10}, 34), ElementsAre(10, 20, 34));
    EXPECT_THAT(times({.updates_per_validation = 5}, 12), ElementsAre(5, 12));
    EXPECT_THAT(times({.updates_per_validation = 5}, 13), ElementsAre(5, 10, 13));
}

TEST(PlannedValidations, CountInEpochsAndPartsOfThem) {
    EXPECT_THAT(times({.epochs_per_validation = 1}, 300), ElementsAre(100, 200, 300));
    EXPECT_THAT(times({.epochs_per_validation = 0.5}, 202), ElementsAre(50, 100, 150, 202));
    EXPECT_THAT(times({.epochs_per_validation = 0.255}, 102), ElementsAre(26, 51, 77, 102));
    EXPECT_THAT(times({.epochs_per_validation = 1e9}, 40), ElementsAre(40));
    EXPECT_THAT(times({.epochs_per_validation = 1e-9}, 2), ElementsAre(1, 2));
    EXPECT_THAT(times({.epochs_per_validation = 1, .updates_per_validation = 150}, 300), ElementsAre(150, 300));
}

}  // namespace
}  // namespace cnntrain::schedule
