#include "cnntrain/base/text.h"

#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(Patterns, MatchPartsOfNames) {
    const Patterns patterns({"^all/stage[01]/", "bias$"});
    EXPECT_TRUE(patterns.match("all/stage1/unit1/conv1/weight"));
    EXPECT_TRUE(patterns.match("all/fc1/bias"));
    EXPECT_FALSE(patterns.match("all/stage2/unit1/conv1/weight"));
    EXPECT_FALSE(patterns.match("x/all/stage1/y"));
    EXPECT_FALSE(Patterns(std::vector<std::string>{}).match("all"));
}

TEST(Patterns, TellWhichAreIdle) {
    const Patterns patterns({"stage1", "layer1", "w.ight"});
    EXPECT_THAT(patterns.idle({"all/stage1/weight"}), ElementsAre("layer1"));
    EXPECT_THAT(patterns.idle({"stage1 layer1 weight"}), IsEmpty());
}

TEST(Patterns, RefuseWhatIsNoExpression) {
    EXPECT_THAT(message_of(ErrorKind::usage, [] { Patterns({"a", "(b"}, "--freeze"); }), HasSubstr("--freeze"));
}

}  // namespace
}  // namespace cnntrain
