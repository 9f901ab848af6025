#include "run/reports/describe.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace cnntrain::run {
namespace {

constexpr Competition kCrowded{.others = 1.6, .queued_share = 0.7};

TEST(BusyMachineWarning, NamesTheShareOfOthersAndFewerThreads) {
    EXPECT_THAT(busy_machine_warning(kCrowded, 2, 2),
                AllOf(HasSubstr("2 processors"), HasSubstr("70"), EndsWith("try --threads 1")));
    EXPECT_THAT(busy_machine_warning(kCrowded, 16, 16), EndsWith("try --threads 14"));
    EXPECT_THAT(busy_machine_warning(kCrowded, 4, 16), EndsWith("try --threads 3"));
}

TEST(BusyMachineWarning, IsNotGivenWithoutAReason) {
    EXPECT_EQ(busy_machine_warning({.others = 0.1, .queued_share = 0.7}, 2, 2), "");
    EXPECT_EQ(busy_machine_warning({.others = 1.6, .queued_share = 0.05}, 2, 2), "");
    EXPECT_EQ(busy_machine_warning(kCrowded, 1, 2), "");  // there is nothing to change
}

}  // namespace
}  // namespace cnntrain::run
