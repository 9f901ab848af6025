// Parts of texts, and what they say.
#include "cnntrain/base/text.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(Parts, StandBetweenSeparators) {
    EXPECT_THAT(split("a,b,,c", ','), ElementsAre("a", "b", "", "c"));
    EXPECT_THAT(split("a,", ','), ElementsAre("a", ""));
    EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Parts, LinesEnd) {
    EXPECT_THAT(lines_of("a\n\nb"), ElementsAre("a", "", "b"));
    EXPECT_THAT(lines_of("a\n"), ElementsAre("a"));
    EXPECT_THAT(lines_of("\n"), ElementsAre(""));
    EXPECT_THAT(lines_of(""), IsEmpty());
}

TEST(Parts, LoseBlanksAtTheirEnds) {
    EXPECT_EQ(trimmed("  a b "), "a b");
    EXPECT_EQ(trimmed("   "), "");
    EXPECT_EQ(trimmed(""), "");
    EXPECT_EQ(trimmed("\ta \r", " \t\r"), "a");
}

TEST(Parts, WordsAreFoundWhole) {
    EXPECT_TRUE(has_word("--lr --lr0", "--lr0"));
    EXPECT_FALSE(has_word("--lr0 --rate", "--lr"));
    EXPECT_TRUE(has_word("", ""));
}

TEST(Parts, MayDifferInCase) {
    EXPECT_EQ(in_lower_case("A-b\xc3\x84"), "a-b\xc3\x84");
    EXPECT_TRUE(equal_but_case("Lars", "LARS"));
    EXPECT_FALSE(equal_but_case("Lars", "LARSx"));
}

TEST(Parts, NumbersAreWholeTexts) {
    EXPECT_EQ(as_number<int>("-3"), -3);
    EXPECT_EQ(as_number<double>("1e-3"), 1e-3);
    EXPECT_EQ(as_number<double>("1e-3x"), std::nullopt);
    for (const char* text : {"", " 3", "3 ", "+3", "3.5", "99999999999"})
        EXPECT_EQ(as_number<int>(text), std::nullopt) << text;
}

TEST(Words, AreJoined) {
    EXPECT_EQ(each_behind(" ", {"a", "b"}), " a b");
    EXPECT_EQ(each_behind(" ", {}), "");
    EXPECT_EQ(some_listed({"a", "b"}, 2), "a, b");
    EXPECT_EQ(some_listed({"a", "b", "c"}, 2), "a, b and 1 more");
}

TEST(Enumerators, HaveAnEntryEach) {
    enum class Colour { red, green };
    constexpr std::string_view kTexts[] = {"like fire", "like grass"};
    EXPECT_EQ(entry_of(kTexts, Colour::green), "like grass");
}

}  // namespace
}  // namespace cnntrain
