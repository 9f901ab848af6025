#include "cnntrain/base/checked.h"
#include "support/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace cnntrain {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

TEST(Checked, ProductsThatFitAreThose) {
    EXPECT_EQ(product(-3, 5), -15);
    EXPECT_EQ(product(kLargest, 1), kLargest);
    EXPECT_EQ(product(kLargest, 2), std::nullopt);
    EXPECT_EQ(product(std::numeric_limits<std::int64_t>::min(), -1), std::nullopt);
    EXPECT_EQ(checked_product(1 << 30, 1 << 30, "x"), std::int64_t{1} << 60);
}

TEST(Checked, OthersAreTheUsersErrors) {
    EXPECT_EQ(message_of(ErrorKind::usage, [] { checked_product(4294967296, 4294967296, "the global batch"); }),
              "the global batch is too large: 4294967296 x 4294967296 is more than 64 bits can count");
}

TEST(Checked, WholePartsFit) {
    EXPECT_EQ(checked_whole(-2.5, "x"), -2);
    EXPECT_EQ(checked_whole(4e18, "x"), 4'000'000'000'000'000'000);
    EXPECT_THROW(checked_whole(9.3e18, "x"), Error);
    EXPECT_THROW(checked_whole(-1e308, "x"), Error);
    EXPECT_THROW(checked_whole(std::numeric_limits<double>::quiet_NaN(), "x"), Error);
}

}  // namespace
}  // namespace cnntrain
