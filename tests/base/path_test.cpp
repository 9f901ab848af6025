#include "cnntrain/base/text.h"

#include <gtest/gtest.h>

namespace cnntrain {
namespace {

TEST(LastPart, StandsBehindTheLastSlash) {
    EXPECT_EQ(last_part("a/b/c.txt"), "c.txt");
    EXPECT_EQ(last_part("/c"), "c");
    EXPECT_EQ(last_part("c"), "c");
    EXPECT_EQ(last_part("a/"), "");
    EXPECT_EQ(last_part(""), "");
}

TEST(FolderPart, EndsWithTheLastSlash) {
    EXPECT_EQ(folder_part("a/b/c.txt"), "a/b/");
    EXPECT_EQ(folder_part("/c"), "/");
    EXPECT_EQ(folder_part("c"), "");
}

}  // namespace
}  // namespace cnntrain
