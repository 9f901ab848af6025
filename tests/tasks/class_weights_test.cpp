// Weights of classes from numbers, files and the sizes of the classes.
#include "tasks/class_weights.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::tasks {
namespace {

TEST(ClassWeights, NumbersOrSomethingElse) {
    EXPECT_THAT(listed_weights("1,2.5,1e-2"), ElementsAre(1, 2.5, 0.01));
    EXPECT_THAT(listed_weights(" 1 , 2"), ElementsAre(1, 2));
    for (const char* other : {"", "balanced", "weights.txt", "1,,2", "1,2,", "1;2", "nan,1", "1,inf", "1.2.3"})
        EXPECT_THAT(listed_weights(other), IsEmpty()) << other;
}

TEST(ClassWeights, BalancedOnesMakeClassesCountAlike) {
    EXPECT_THAT(balanced_weights({10, 30, 0}), ElementsAre(40.0 / 30, 40.0 / 90, 1));
    EXPECT_THAT(balanced_label_weights({10, 30, 0}, 40), ElementsAre(3, 10.0 / 30, 1));
}

TEST(ClassWeights, FilesHaveNumbersInOrderOrNames) {
    EXPECT_THAT(weights_in("1\n\n# note\n0.5\r\n", "w", {}), ElementsAre(1, 0.5));
    EXPECT_THAT(weights_in("bee,2\nant, 0.5\n", "w", {"ant", "bee"}), ElementsAre(0.5, 2));
    EXPECT_THAT(weights_in("a,b,3\nc,1", "w", {"a,b", "c"}), ElementsAre(3, 1));
}

TEST(ClassWeights, FaultsNameFileAndLine) {
    const std::vector<std::string> classes = {"ant", "bee"};
    const auto message = [&](const char* text) {
        return message_of(ErrorKind::data, [&] { weights_in(text, "w.csv", classes); });
    };
    EXPECT_THAT(message("1\nmany\n"), HasSubstr("WEIGHT"));
    EXPECT_THAT(message("cat,1"), HasSubstr("'cat'"));
    EXPECT_THAT(message("ant,1\nant,2"), HasSubstr("'ant'"));
    EXPECT_THAT(message("ant,1"), HasSubstr("'bee'"));
    EXPECT_THAT(message("ant,1\n2"), HasSubstr("weights"));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { class_weights("1,2", 3, {}, {}); }), HasSubstr("3 classes"));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { class_weights("1,-2", 2, {}, {}); }), HasSubstr("negative"));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { class_weights("0,0", 2, {}, {}); }), HasSubstr("nor all 0"));
}

}  // namespace
}  // namespace cnntrain::tasks
