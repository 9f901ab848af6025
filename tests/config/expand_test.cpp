// Words that a user may write, and the flags and values that are read for them.
#include "options/read/read.h"

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::options::testing {
namespace {

using Words = std::vector<std::string>;

const std::vector<Spelling> kKnown = {
    {"--rate", "--rate"},
    {"--rating", "--rating"},
    {"--names", "--names", Takes::several},
    {"--raw", "--raw", Takes::any},
    {"--check", "--check", Takes::nothing},
    {"--no-check", "--check", Takes::nothing, "false"},
    {"--perhaps", "--perhaps", Takes::optional},
    {"--old-rate", "--rate", Takes::one, "true", false},
    {"-n", "--names", Takes::several, "true", false},
};

/// Each option in full, and its values marked by '='.
Words expanded(const Words& words, const LineHabits& habits = {}) {
    Words all;
    for (const GivenValues& given : read_line(kKnown, words, habits).options) {
        all.push_back(given.option);
        for (const std::string& value : given.values)
            all.push_back("=" + value);
    }
    return all;
}

std::string refusal(const Words& words, const LineHabits& habits = {}) {
    return refusal_of(ErrorKind::usage, [&] { read_line(kKnown, words, habits); });
}

TEST(Expand, FindsFlagsInFullAndTheirValues) {
    EXPECT_THAT(expanded({"--rate", "3", "--na=a"}), ElementsAre("--rate", "=3", "--names", "=a"));
    EXPECT_THAT(expanded({"--old-rate=3", "-n", "a", "b"}), ElementsAre("--rate", "=3", "--names", "=a", "=b"));
    EXPECT_THAT(
        expanded({"--rat=3", "--rate", "4"},
                 {.unknown = [](const std::string&,
                                bool ambiguous) { return ambiguous ? std::optional(kKnown.front()) : std::nullopt; }}),
        ElementsAre("--rate", "=3", "--rate", "=4"));
}

TEST(Expand, SwitchesHaveValues) {
    EXPECT_THAT(expanded({"--check", "--no-c", "--perhaps", "--perhaps", "x"}),
                ElementsAre("--check", "=true", "--check", "=false", "--perhaps", "=true", "--perhaps", "=x"));
}

TEST(Expand, ValuesEndWhereAFlagBegins) {
    EXPECT_THAT(expanded({"--names", "a", "-1", "-.5", "-", "", "--check"}),
                ElementsAre("--names", "=a", "=-1", "=-.5", "=-", "=", "--check", "=true"));
    EXPECT_THAT(expanded({"--raw", "--check"}), ElementsAre("--raw", "=--check"));
    EXPECT_THAT(expanded({"--names", "-x"}, {.hyphen_values = true}), ElementsAre("--names", "=-x"));
    EXPECT_THAT(expanded({"--rate", "1", "2"}, {.gathers = true}), ElementsAre("--rate", "=1", "=2"));
    EXPECT_THAT(expanded({" --rate", " 3", "", "--raw", " 4"}, {.trims = true}),
                ElementsAre("--rate", "=3", "--raw", "= 4"));
}

TEST(Expand, WordsOfAnotherProgramArePutAside) {
    const auto after_program = [](const std::string& word, bool follows) { return follows || word == "program"; };
    const Line line = read_line(kKnown, {"--rate", "1", "program", "--rate", "2"}, {.foreign = after_program});
    ASSERT_EQ(line.options.size(), 1U);
    EXPECT_THAT(line.options.front().values, ElementsAre("1"));
    EXPECT_THAT(line.rest, ElementsAre("program", "--rate", "2"));
}

TEST(Expand, RefusesWhatDoesNotFit) {
    EXPECT_EQ(refusal({"--rat", "3"}), "ambiguous option --rat: could be --rate --rating");
    EXPECT_EQ(refusal({"--rates", "3"}, {.program = "p"}), "p: unknown option --rates; did you mean --rate?");
    EXPECT_EQ(refusal({"--rates", "3"}, {.quotes = true}), "unknown flag '--rates'; did you mean '--rate'?");
    EXPECT_EQ(refusal({"--zzzzzz"}), "unknown option --zzzzzz; see --help");
    EXPECT_EQ(refusal({"--"}), "unknown option --; see --help");
    EXPECT_EQ(refusal({"x"}), "unexpected word 'x': options start with --");
    EXPECT_EQ(refusal({"--rate", "--check"}), "--rate needs a value");
    EXPECT_EQ(refusal({"--check=x"}), "--check takes no value");
    EXPECT_EQ(refusal({"--check", "x"}, {.gathers = true}), "--check takes no value, got 'x'");
    EXPECT_EQ(refusal({"--rate=1", "2"}, {.gathers = true}), "unexpected word '2' after --rate=1");
    EXPECT_EQ(refusal({"--no_check", "--rate"}, {.underscores = true}), "--rate needs a value");
}

TEST(Line, KeepsEveryOccurrenceInItsOrder) {
    const Line line = read_line(kKnown, {"--names", "[a,b]", "--x", "--rate=", "--names", "c", "", "-.5"},
                                {.unknown = [](const std::string& word, bool) {
                                    return std::optional(Spelling{word, "--other", Takes::nothing});
                                }});
    ASSERT_EQ(line.options.size(), 4U);
    EXPECT_EQ(line.options[0].option, "--names");
    EXPECT_THAT(line.options[0].values, ElementsAre("[a,b]"));
    EXPECT_EQ(line.options[1].option, "--other");
    EXPECT_THAT(line.options[2].values, ElementsAre(""));
    EXPECT_THAT(line.options[3].values, ElementsAre("c", "", "-.5"));
    EXPECT_THAT(read_line(kKnown, {}, {}).options, IsEmpty());
}

TEST(Line, OneWordMayHaveNoFlag) {
    const std::vector<Spelling> known = {{"PATH", "PATH"}, {"--data-dir", "PATH"}};
    EXPECT_THAT(read_line(known, {"a"}, {}).options.front().values, ElementsAre("a"));
    EXPECT_EQ(read_line(known, {"--data-dir", "a"}, {}).options.front().option, "PATH");
    EXPECT_THROW(read_line(known, {"a", "b"}, {}), Error);
}

TEST(Numbers, AreReadToTheLastLetter) {
    EXPECT_EQ(whole_number("--n", "-3", -3, 5), -3);
    for (const char* word : {"", "3.5", "6", "x", "99999999999999999999", "3 "})
        EXPECT_THROW(whole_number("--n", word, -3, 5), Error) << word;
}

}  // namespace
}  // namespace cnntrain::options::testing
