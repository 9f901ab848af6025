// cnntrain demo: everything is there at the end, the lines that it recommends work, and it goes on where it was ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/insight/run_record.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

namespace fs = std::filesystem;

class DemoTest : public ::testing::Test {
protected:
    /// 4 updates an epoch.
    std::string demo(const std::string& options = "--epochs 2", const std::string& name = "shapes") const {
        return "demo " + (folder_ / name) + " --photos 64 --threads 1 " + options;
    }

    /// Iteration, accuracy and loss of each validation.
    std::vector<std::string> results(const std::string& name) const {
        const report::Table table(folder_.read(name + "/run/validation.csv"));
        std::vector<std::string> rows;
        for (std::size_t row = 0; row < table.rows(); ++row) {
            std::string& text = rows.emplace_back();
            for (const char* column : {"iteration", "val_acc", "val_loss"})
                text += std::string(table.text(row, column)) + " ";
        }
        return rows;
    }

    test::TemporaryFolder folder_;
};

/// The lines that begin with `begin`, without it.
std::vector<std::string> lines_behind(const std::string& begin, const std::string& text) {
    std::vector<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with(begin)) found.push_back(line.substr(begin.size()));
    return found;
}

TEST_F(DemoTest, OneFolderHoldsEverythingAndTheRecommendedLinesWork) {
    const Outcome made = run(demo());
    ASSERT_EQ(made.exit_code, 0) << made.text;
    const std::string program = std::string(CNNTRAIN_PROGRAM) + " ";
    EXPECT_THAT(lines_behind("$ " + program, made.text),
                ::testing::ElementsAre(HasSubstr("dataset"), StartsWith("train --model-size 8 "), StartsWith("report "),
                                       StartsWith("convert ")));
    EXPECT_THAT(made.text, Not(HasSubstr("not used")));
    EXPECT_THAT(made.text, AllOf(ContainsRegex("Validation top-1 accuracy: [0-9.]+ %"),
                                 ContainsRegex("recognises [0-9.]+ % of the validation photos")));
    for (const char* file : {"photos/train/star/star-0.jpg", "photos/validation/ring/ring-29.jpg",
                             "run/ckpt-8.safetensors", "run/report.html", "run/model.onnx"})
        EXPECT_TRUE(fs::exists(folder_ / ("shapes/" + std::string(file)))) << file;
    const std::vector<std::string> next = lines_behind("  " + program, made.text);
    ASSERT_EQ(next.size(), 3U) << made.text;
    const Outcome classes = run(next[0] + " --logs-path " + (folder_ / "out"));
    EXPECT_EQ(classes.exit_code, 0) << classes.text;
    EXPECT_THAT(classes.text, HasSubstr("star-29.jpg"));
    const Outcome longer = run(next[1]);
    EXPECT_EQ(longer.exit_code, 0) << longer.text;
    EXPECT_TRUE(fs::exists(folder_ / "shapes/run/ckpt-16.safetensors"));
    std::string own = next[2];
    own.replace(own.find("PHOTOS"), 6, folder_ / "shapes/photos");
    own.replace(own.find("RUN"), 3, folder_ / "own");
    const Outcome trained = shell("CNNTRAIN_DRY_RUN_ESTIMATE=off " + program + own + " --dry-run");
    EXPECT_EQ(trained.exit_code, 0) << trained.text;
}

/// A demo that is killed while it trains, and started again, ends as one that nobody disturbed.
TEST_F(DemoTest, AfterAKillTheSameLineGoesOn) {
    const Outcome undisturbed = run(demo("--epochs 8", "other"));
    ASSERT_EQ(undisturbed.exit_code, 0) << undisturbed.text;
    const std::string checkpoint = folder_ / "shapes/run/ckpt-8.safetensors";
    const Outcome killed =
        shell(std::string(CNNTRAIN_PROGRAM) + " " + demo("--epochs 8") + " & pid=$!; i=0; until [ -e " + checkpoint +
              " ] || [ $i = 1200 ]; do sleep 0.05; i=$((i+1)); done; kill -9 $pid; wait $pid");
    EXPECT_EQ(killed.exit_code, 137) << killed.text;
    EXPECT_FALSE(fs::exists(folder_ / "shapes/run/report.html")) << "killed too late";
    fs::remove(folder_ / "shapes/photos/train/cross/cross-5.jpg");
    const Outcome again = run(demo("--epochs 8"));
    ASSERT_EQ(again.exit_code, 0) << again.text;
    EXPECT_THAT(again.text, AllOf(HasSubstr(" restore --restore-path "), Not(HasSubstr("other options"))));
    EXPECT_EQ(folder_.read("shapes/photos/train/cross/cross-5.jpg"),
              folder_.read("other/photos/train/cross/cross-5.jpg"));
    EXPECT_EQ(results("shapes"), results("other"));
    EXPECT_TRUE(fs::exists(folder_ / "shapes/run/report.html"));

    const Outcome third = run(demo("--epochs 8"));
    EXPECT_EQ(third.exit_code, 0) << "a finished one is not trained again: " << third.text;
    EXPECT_THAT(third.text, Not(HasSubstr("\nstep: ")));
}

TEST_F(DemoTest, OtherPhotosAreMadeOnRequestOnly) {
    ASSERT_EQ(run(demo()).exit_code, 0);
    const std::string before = folder_.read("shapes/photos/train/star/star-0.jpg");
    expect_error(demo("--epochs 2 --seed 1"), ErrorKind::usage, {"seed 0", "--overwrite", "folder"});
    EXPECT_EQ(folder_.read("shapes/photos/train/star/star-0.jpg"), before);
    const Outcome anew = run(demo("--epochs 2 --seed 1 --overwrite"));
    EXPECT_EQ(anew.exit_code, 0) << anew.text;
    EXPECT_NE(folder_.read("shapes/photos/train/star/star-0.jpg"), before);
    EXPECT_THAT(anew.text, HasSubstr("$ " + std::string(CNNTRAIN_PROGRAM) + " train "));
}

TEST_F(DemoTest, FilesOfOthersGetNoCompany) {
    fs::create_directories(folder_ / "shapes");
    folder_.write("shapes/thesis.txt", "precious");
    for (const char* options : {"", "--overwrite"})
        expect_error(demo(options), ErrorKind::usage, {"expected", "demo FOLDER"});
    EXPECT_EQ(fs::directory_iterator(folder_ / "shapes")->path().filename(), "thesis.txt");
    expect_error(demo("--epochs 0", "new"), ErrorKind::usage, {"--epochs"});
}

}  // namespace
}  // namespace cnntrain::cli
