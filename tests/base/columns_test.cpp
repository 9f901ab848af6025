#include "cnntrain/base/columns.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cnntrain
