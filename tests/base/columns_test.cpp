#include "cnntrain/base/text.h"

#include <gtest/gtest.h>

namespace cnntrain {
namespace {

const TextRows kRows = {{"name", "count", "note"}, {"a", "12345678", ""}};

TEST(Padded, HasBlanksUpToAColumn) {
    EXPECT_EQ(padded("ab", 4), "ab  ");
    EXPECT_EQ(padded("abcd", 4), "abcd ");
    EXPECT_EQ(padded("abcd", 4, 0), "abcd");
}

TEST(Columns, AreAsWideAsTheyMustBe) {
    EXPECT_EQ(in_columns(kRows), "name     count  note\n   a  12345678\n");
    EXPECT_EQ(in_columns(kRows, 1), "name     count  note\na     12345678\n");
    EXPECT_EQ(in_columns(kRows, kAllColumns), "name  count     note\na     12345678\n");
    EXPECT_EQ(in_columns({}), "");
}

TEST(Columns, CanBeIndented) {
    EXPECT_EQ(indented("a\nb\n", 2), "  a\n  b\n");
    EXPECT_EQ(indented("a\n\nb", 1), " a\n \n b");
    EXPECT_EQ(indented("", 2), "");
}

TEST(Listed, JoinsTheLastWord) {
    EXPECT_EQ(listed({}), "");
    EXPECT_EQ(listed({"a"}), "a");
    EXPECT_EQ(listed({"a", "b"}), "a and b");
    EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

}  // namespace
}  // namespace cnntrain
