#include "cnntrain/base/numbers.h"

#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(Median, IsTheUpperOneOfTwo) {
    EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
    EXPECT_EQ(median(std::vector{4, 1, 3, 2}), 3);
}

TEST(Divisors, AreNearTheWantedNumber) {
    EXPECT_THAT(divisors_near(12, 5), ElementsAre("4", "6"));
    EXPECT_THAT(divisors_near(12, 4), ElementsAre("4", "6"));
    EXPECT_THAT(divisors_near(12, 20), ElementsAre("12"));
}

TEST(Multiples, AreNearTheValue) {
    EXPECT_THAT(multiples_near(4, 10), ElementsAre("8", "12"));
    EXPECT_THAT(multiples_near(4, 3), ElementsAre("4"));
    EXPECT_THAT(multiples_near(4, -3), ElementsAre("4"));
    EXPECT_THAT(multiples_near(4, std::numeric_limits<std::int64_t>::max()), ElementsAre("9223372036854775804"));
}

}  // namespace
}  // namespace cnntrain
