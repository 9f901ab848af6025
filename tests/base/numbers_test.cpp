#include "cnntrain/base/numbers.h"

#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(Median, IsTheUpperOneOfTwo) {
    EXPECT_EQ(median(std::vector{3.0, 1.0, 2.0}), 2);
    EXPECT_EQ(median(std::vector{4, 1, 3, 2}), 3);
}

}  // namespace
}  // namespace cnntrain
