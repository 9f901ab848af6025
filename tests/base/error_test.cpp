#include "cnntrain/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/base/log.h"
#include "support/errors.h"

namespace cnntrain {
namespace {

TEST(Error, EveryKindHasItsExitCode) {
    EXPECT_EQ(exit_code(ErrorKind::not_found), 1);
    EXPECT_EQ(exit_code(ErrorKind::usage), 2);
    EXPECT_EQ(exit_code(ErrorKind::data), 3);
    EXPECT_EQ(exit_code(ErrorKind::unsupported), 4);
    EXPECT_EQ(exit_code(ErrorKind::storage), 5);
    EXPECT_EQ(exit_code(ErrorKind::diverged), 6);
    EXPECT_EQ(exit_code(ErrorKind::peers), 7);
    EXPECT_EQ(exit_code(ErrorKind::internal), 70);
}

TEST(Error, WithinPutsContextInFrontAndKeepsTheKind) {
    const Error error = Error(ErrorKind::data, "cut short").within("train.bin");
    EXPECT_STREQ(error.what(), "train.bin: cut short");
    EXPECT_EQ(error.kind(), ErrorKind::data);
}

TEST(Error, CheckNamesConditionAndPlace) {
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { CNNTRAIN_CHECK(1 + 1 == 3, "arithmetic"); }),
                AllOf(testing::HasSubstr("error_test.cpp:"), testing::HasSubstr("arithmetic"),
                      testing::HasSubstr("1 + 1 == 3")));
}

TEST(Error, EditDistance) {
    EXPECT_EQ(edit_distance("", ""), 0);
    EXPECT_EQ(edit_distance("abc", ""), 3);
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("iteratoins", "iterations"), 1);
    EXPECT_EQ(edit_distance("trian", "train"), 1);
    EXPECT_EQ(edit_distance("ab", "ba"), 1);
}

TEST(Error, NumbersAreNearByTheirValues) {
    const std::vector<std::string> depths = {"10", "18", "50", "101", "152"};
    EXPECT_EQ(nearest_name("19", depths), "18");
    EXPECT_EQ(nearest_name("102", depths), "101");
    EXPECT_EQ(nearest_name("1500", depths), "") << "another number";
    EXPECT_EQ(nearest_name("B9", {"B0", "B6", "B7"}), "B7");
    EXPECT_EQ(nearest_name("99999999999999999999", depths), "");
}

TEST(Error, NearestNameAnswersSlipsOnly) {
    const std::vector<std::string> names = {"iterations", "epochs", "micro-batch-size", "lr"};
    EXPECT_EQ(nearest_name("iteratoins", names), "iterations");
    EXPECT_EQ(nearest_name("epoch", names), "epochs");
    EXPECT_EQ(nearest_name("microbatch-size", names), "micro-batch-size");
    EXPECT_EQ(nearest_name("learning-rate", names), "");
    EXPECT_EQ(nearest_name("ab", names), "");
    EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(Error, SuggestionsEndAMessage) {
    const std::vector<std::string> names = {"iterations", "epochs"};
    EXPECT_EQ(suggestion("epoch", names), "; did you mean 'epochs'?");
    EXPECT_EQ(suggestion("epoch", names, ".", "{", "}"), "; did you mean {epochs}?");
    EXPECT_EQ(suggestion("learning-rate", names), "");
    EXPECT_EQ(suggestion("learning-rate", names, "; see --help"), "; see --help");
}

TEST(Log, WritesLevelAndTextToStderr) {
    testing::internal::CaptureStderr();
    log::set_level(log::Level::info);
    log::debug("hidden");
    log::info("100% {} done");
    log::warning("careful");
    log::error("bad");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "[info] 100% {} done\n[warning] careful\n[error] bad\n");
}

}  // namespace
}  // namespace cnntrain
