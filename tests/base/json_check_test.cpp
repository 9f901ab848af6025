#include "cnntrain/base/text.h"

#include <gtest/gtest.h>

#include <string>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

/// "" when the text is sound.
std::string mistake(const std::string& text) {
    return refusal_of(ErrorKind::data, [&] { check_json(text); });
}

std::string repeated(const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i)
        all += text;
    return all;
}

TEST(CheckJson, SoundTextsPass) {
    for (const char* text : {"{}", "[]", "1", "\"x\"", R"({"a": {"a": 1}, "b": [{"a": 2}, {"a": 3}], "": null})",
                             R"({"brackets [[[[ and \" in texts": "]]}}"})"}) {
        EXPECT_EQ(mistake(text), "") << text;
    }
    EXPECT_EQ(mistake(repeated("[", 64) + repeated("]", 64)), "");
}

TEST(CheckJson, MistakesHaveTheirPlace) {
    EXPECT_EQ(mistake(""), "line 1, column 1: this is not valid JSON");
    EXPECT_EQ(mistake("{\"a\": 1,\n \"b\": x}"), "line 2, column 7: this is not valid JSON");
    EXPECT_EQ(mistake("{} {}"), "line 1, column 4: this is not valid JSON");
    EXPECT_THAT(mistake("\"\xff\""), HasSubstr("JSON"));
}

TEST(CheckJson, DepthHasALimit) {
    EXPECT_EQ(mistake("\n" + repeated("[", 65) + repeated("]", 65)),
              "line 2, column 65: brackets are nested more than 64 deep");
    EXPECT_THAT(mistake(repeated("{\"a\":", 1'000'000)), HasSubstr("nested"));
}

TEST(CheckJson, AKeyStandsOnce) {
    EXPECT_EQ(mistake(R"({"a": 1, "b": 2, "a": 3})"), "the key 'a' stands twice in one object");
    EXPECT_THAT(mistake(R"({"x": {"a": 1, "\u0061": 3}})"), HasSubstr("'a'"));
}

TEST(CheckJson, TheNumberOfValuesHasALimit) {
    EXPECT_THAT(mistake("[" + repeated("[],", 2'000'000) + "0]"), HasSubstr("2000000 values"));
}

}  // namespace
}  // namespace cnntrain
