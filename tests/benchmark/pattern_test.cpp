// Python's common regular expressions in RE2.
#include "launch/benchmark/spec.h"

#include <chrono>

#include "launch/benchmark/measure.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::benchmark::testing {
namespace {

std::vector<std::string> found(const std::string& regexp, const std::string& line) {
    return Pattern(regexp).matches(line);
}

TEST(Pattern, FindsAllMatchesAsPythonDoes) {
    EXPECT_THAT(found(R"(loss: *(\d*\.\d*))", "loss:  1.5, loss: .25, loss: 3"), ElementsAre("1.5", ".25"));
    EXPECT_THAT(found(R"(throughput: *(.*?) samples\/sec,)", "throughput:   12.5 samples/sec, x"), ElementsAre("12.5"));
    EXPECT_THAT(found(R"(accuracy: *(.*?) \%)", "accuracy: 7 %, accuracy: 8 %"), ElementsAre("7", "8"));
    EXPECT_THAT(found("(a|ab)(?:c|bcd)", "abcd"),
                ElementsAre("a"));  // the first alternative that works, not the longest
    EXPECT_THAT(found("(?P<rate>x+)", "xx x"), ElementsAre("xx", "x"));
    EXPECT_THAT(found("(x*)", "ax"), ElementsAre("", "x", ""));
    EXPECT_THAT(found("^(x)", "xx"), ElementsAre("x"));
    EXPECT_THAT(found("a(b)?", "a"), ElementsAre(""));
    EXPECT_THAT(found("(y)", "x"), IsEmpty());
}

TEST(Pattern, ReadsLinesOfAnyBytes) {
    EXPECT_THAT(found(R"((?i)RATE (\d+))", "Rate 5"), ElementsAre("5"));
    EXPECT_THAT(found(R"(\x41\101A([]x]))", "AAA]"), ElementsAre("]"));
    EXPECT_THAT(found("(\\d+) \xc2\xb5s", "12 \xc2\xb5s"), ElementsAre("12"));
    EXPECT_THAT(found("a(.*)b",
                      "a\xff\xfe"
                      "b"),
                ElementsAre("\xff\xfe"));
}

TEST(Pattern, NamesAMistake) {
    for (const auto& [regexp, message] : std::vector<std::pair<std::string, std::string>>{
             {"(a)(?=b)", "(at '(?=')"},
             {"(?<!b)(a)", "(at '(?<"},  // newer versions of RE2 show one character more
             {R"((a)\1)", R"((at '\1'))"},
             {"(a", "RE2"},
             {R"((\q))", R"((at '\q'))"},
             {"(a)\\", "RE2"},
             {"([a)", "RE2"},
             {"(a)(b)", "has 2"},
             {"a", "has 0"},
             {"(a{1001})", "RE2"},
             {"*(a)", "RE2"}}) {
        EXPECT_THAT(message_of(ErrorKind::data, [regexp = regexp] { Pattern pattern(regexp); }), HasSubstr(message))
            << regexp;
    }
}

TEST(Pattern, TakesLinearTimeAndNoStack) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string line(400'000, 'a');
    EXPECT_THAT(found("^(a+)+$", line + "!"), IsEmpty());
    EXPECT_THAT(found("^(a+)+$", line), SizeIs(1));
    EXPECT_THAT(found("((?:a|b|ab)*)c", line), IsEmpty());
    EXPECT_THAT(found("(.*)", line), SizeIs(2));
    EXPECT_THAT(found("(a)(?:.*b)?", line), SizeIs(1000));  // each match looks at the rest of the line
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    for (const std::size_t depth : {2000U, 200'000U}) {
        const std::string nested = std::string(depth, '(') + "a" + std::string(depth, ')');
        EXPECT_THAT(pattern_mistake(nested), ::testing::Not(IsEmpty())) << depth;
        EXPECT_THAT(pattern_mistake(std::string(depth, '[')), ::testing::Not(IsEmpty()));
    }
    std::string repeated = "a";
    for (int i = 0; i < 20; ++i)
        repeated = "(?:" + repeated + "){100}";
    EXPECT_THAT(pattern_mistake("(" + repeated + ")"), Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
