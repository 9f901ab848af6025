#include "cnntrain/base/columns.h"

#include <gtest/gtest.h>

#include "cnntrain/base/listed.h"

namespace cnntrain {
namespace {

const TextRows kRows = {{"name", "count", "note"}, {"a", "12345678", ""}};

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

TEST(HelpEntry, GoesOnBelowItsText) {
    EXPECT_EQ(help_entry("  --a N", "one two three", 8, 16), "  --a N one two\n        three\n");
    EXPECT_EQ(help_entry("  --a N", "one two three", 8, 21), "  --a N one two three\n");
    EXPECT_EQ(help_entry("  --longer N", "one two", 8, 11), "  --longer N one\n        two\n");
    EXPECT_EQ(help_entry("--a", "a-word-that-cannot-be-broken", 4, 10), "--a a-word-that-cannot-be-broken\n");
}

TEST(Listed, JoinsTheLastWord) {
    EXPECT_EQ(listed({}), "");
    EXPECT_EQ(listed({"a"}), "a");
    EXPECT_EQ(listed({"a", "b"}), "a and b");
    EXPECT_EQ(listed({"a", "b", "c"}, "or"), "a, b or c");
}

}  // namespace
}  // namespace cnntrain
