// `cnntrain profile` as it is typed.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

const std::string kLine = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 --profile-steps 2 ";

TEST(ProfileCommand, TakesLinesOfTheCommandsThatRunANetwork) {
    for (const std::string command : {"", "train ", "train.py ", "some/folder/validation.py ", "inference "}) {
        const Outcome outcome = run("profile " + command + kLine);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr("2 steps of 4 images")) << command;
    }
}

TEST(ProfileCommand, TakesALineOfPretraining) {
    const Outcome outcome =
        run("profile pretrain --config pretrain_tiny_128_lamb --generated-data --profile-steps 1 "
            "--gradient-accumulation-count 6");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("sequences/s"));
}

TEST(ProfileCommand, WritesFilesOnlyWhereItIsTold) {
    const test::TemporaryFolder folder;
    const Outcome outcome = run("profile " + kLine + "--profile-dir " + (folder / "p"));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_EQ(shell("ls " + folder.path()).text, "p\n");
    EXPECT_EQ(shell("ls " + (folder / "p")).text, "profile.folded\nprofile.json\nprofile.trace.json\n");
}

TEST(ProfileCommand, RefusesWhatItCannotProfile) {
    const test::TemporaryFolder folder;
    expect_error("profile dataset cifar", ErrorKind::usage, {"restore", "'dataset'"});
    expect_error("profile profile " + kLine, ErrorKind::usage, {"'profile'"});
    expect_error("profile " + kLine + "--profile-steps 0", ErrorKind::usage, {"--profile-steps"});
    expect_error("profile " + kLine + "--profile-steps many", ErrorKind::usage, {"--profile-steps"});
    expect_error("profile " + kLine + "--backend ref", ErrorKind::unsupported, {"CPU"});
    expect_error("profile " + kLine + "--profile-dir /dev/null", ErrorKind::usage, {"/dev/null", "folder"});
    const Outcome refused = run("profile " + kLine + "--profile-dir " + folder.write("file", "") + "/p");
    EXPECT_EQ(refused.exit_code, exit_code(ErrorKind::storage)) << refused.text;
    EXPECT_THAT(refused.text, Not(HasSubstr("a step"))) << "before anything is measured";
    expect_error("profile --no-such-flag", ErrorKind::usage, {"--no-such-flag"});
}

TEST(ProfileCommand, HelpNamesItsOwnOptions) {
    const std::string text = run("profile --help").text;
    EXPECT_THAT(text, AllOf(StartsWith("usage: cnntrain profile [options]\n"), HasSubstr("--profile-steps"),
                            HasSubstr("--profile-dir")));
    EXPECT_THAT(run("help profile").text, HasSubstr("profile.trace.json"));
}

}  // namespace
}  // namespace cnntrain::cli
