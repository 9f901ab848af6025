// Python's regular expressions in a linear-time engine.
#include "benchmark/pattern.h"

#include <chrono>

#include "benchmark/measure.h"
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

TEST(Pattern, UnderstandsPythonsSpellings) {
    EXPECT_THAT(found(R"((?i)RATE (\d+))", "Rate 5"), ElementsAre("5"));
    EXPECT_THAT(found(R"((?a)(\d+)\Z)", "1 22"), ElementsAre("22"));
    EXPECT_THAT(found(R"((a{,2})b)", "aaab"), ElementsAre("aa"));
    EXPECT_THAT(found(R"(x{y}(?#what is measured)(\d))", "x{y}4"), ElementsAre("4"));
    EXPECT_THAT(found(R"(([[:]+))", "a[:"), ElementsAre("[:"));
    EXPECT_THAT(found(R"(\x41\101A([]x]))", "AAA]"), ElementsAre("]"));
    EXPECT_THAT(found(R"(\_\é(.))", "_éz"), ElementsAre("z"));
    EXPECT_THAT(found("(\\d+) \xc2\xb5s", "12 \xc2\xb5s"), ElementsAre("12"));
    EXPECT_THAT(found("a(.*)b",
                      "a\xff\xfe"
                      "b"),
                ElementsAre("\xff\xfe"));
}

TEST(Pattern, NamesWhatIsNotThere) {
    for (const auto& [regexp, feature] :
         std::vector<std::pair<std::string, std::string>>{{"(a)(?=b)", "a lookahead (?=...)"},
                                                          {"(a)(?!b)", "a negative lookahead"},
                                                          {"(?<=b)(a)", "a lookbehind"},
                                                          {"(?<!b)(a)", "a negative lookbehind"},
                                                          {R"((a)\1)", R"(a backreference (\1))"},
                                                          {"(?P<x>a)(?P=x)", "a backreference"},
                                                          {"(?>a)(b)", "an atomic group"},
                                                          {"(a)?(?(1)b|c)", "a conditional"},
                                                          {"(a)b++", "a possessive quantifier"},
                                                          {"(a)b{2}+", "a possessive quantifier"},
                                                          {"(?x)(a)", "the flag x"},
                                                          {R"((\N{DIGIT ONE}))", "a named character"}}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { Pattern pattern(regexp); }),
                    ::testing::AllOf(HasSubstr(feature), HasSubstr("cannot be used")))
            << regexp;
    }
}

TEST(Pattern, IsCheckedAsPythonsIs) {
    for (const auto& [regexp, message] : std::vector<std::pair<std::string, std::string>>{
             {"(a", "cannot be read as a pattern: missing"},
             {R"((\q))", R"(\q is no escape of Python's patterns)"},
             {R"((\pL))", R"(\p is no escape)"},
             {R"((\x4))", R"(\x expects 2 hexadecimal digits)"},
             {"(a)\\", "ends with a backslash"},
             {"([a)", "a set ([...]) is never closed"},
             {"(?<x>a)", "begins no group"},
             {"(?U)(a)", "begins no group"},
             {"(?i", "is never closed"},
             {"(a)(b)", "expected exactly one group in parentheses, has 2"},
             {"a", "has 0"},
             {"(a{1001})", "cannot be read as a pattern"},
             {"*(a)", "cannot be read as a pattern"}}) {
        EXPECT_THAT(message_of(ErrorKind::data, [&] { Pattern pattern(regexp); }), HasSubstr(message)) << regexp;
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
        EXPECT_THAT(pattern_mistake(std::string(depth, '[')), HasSubstr("never closed"));
    }
    std::string repeated = "a";
    for (int i = 0; i < 20; ++i)
        repeated = "(?:" + repeated + "){100}";
    EXPECT_THAT(pattern_mistake("(" + repeated + ")"), HasSubstr("cannot be read as a pattern"));
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
