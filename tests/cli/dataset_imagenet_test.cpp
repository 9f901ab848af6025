// `cnntrain dataset imagenet`, end to end on small files; the command's flags and its progress lines.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "cli/dataset_inspect.h"
#include "cli/flags.h"
#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

namespace fs = std::filesystem;

class DatasetImagenet : public ::testing::Test {
protected:
    DatasetImagenet() {
        for (int i = 0; i < 6; ++i) {
            const std::string folder = folder_ / (i % 2 == 0 ? "raw/train/n01" : "raw/val/n02");
            fs::create_directories(folder);
            data::write_file(folder + "/x" + std::to_string(i) + ".JPEG",
                             data::encode_jpeg(data::make_photo(20 + i, 30)));
        }
    }
    std::string raw() const { return folder_ / "raw"; }
    std::string out() const { return folder_ / "imagenet-data"; }
    std::string line() const {
        return "dataset imagenet --raw-data-dir " + raw() + " --output-dir " + out() +
               " --train-shards 2 --validation-shards 1";
    }
    test::TemporaryFolder folder_;
};

TEST_F(DatasetImagenet, WritesReportsAndGoesOn) {
    data::write_file(raw() + "/train/n01/bad.JPEG", "no image");
    const Outcome first = run(line());
    EXPECT_EQ(first.exit_code, 0) << first.text;
    EXPECT_THAT(first.text,
                AllOf(HasSubstr(raw()), HasSubstr("3 validation"), HasSubstr("3 files"), HasSubstr("1 skipped (see ")));
    EXPECT_TRUE(fs::exists(out() + "/train-00001-of-00002"));
    EXPECT_TRUE(fs::exists(out() + "/skipped.txt"));
    EXPECT_EQ(run("dataset verify " + out()).exit_code, 0);
    EXPECT_THAT(run(line()).text, HasSubstr("3 files"));
    const Outcome other = run(line() + " --seed 4");
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::usage));
    EXPECT_THAT(other.text, HasSubstr("--overwrite"));
    EXPECT_EQ(run(line() + " --seed 4 --overwrite").exit_code, 0);
    EXPECT_EQ(run(line() + " --seed 4 --max-skipped 0").exit_code, exit_code(ErrorKind::data));
}

TEST_F(DatasetImagenet, SmallSetsFillOneFileOfASplit) {
    const Outcome outcome = run("dataset imagenet --raw-data-dir " + raw() + " --output-dir " + out());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_TRUE(fs::exists(out() + "/train-00000-of-00001"));
    EXPECT_TRUE(fs::exists(out() + "/validation-00000-of-00001"));
    EXPECT_EQ(data::read_file(out() + "/labels.txt"), "n01\nn02\n");
}

TEST_F(DatasetImagenet, AnswersToTheScriptsName) {
    const Outcome outcome = run("tools/datasets/imagenet_to_gcs.py --raw_data_dir=" + raw() + " --local_scratch_dir " +
                                out() + " --train_shards 2 --validation_shards 1");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_TRUE(fs::exists(out() + "/validation-00000-of-00001"));
}

TEST_F(DatasetImagenet, WrongLines) {
    const auto refused = [](const std::string& arguments, ErrorKind kind, const std::string& part) {
        const Outcome outcome = run("dataset imagenet " + arguments);
        EXPECT_EQ(outcome.exit_code, exit_code(kind)) << outcome.text;
        EXPECT_THAT(outcome.text, HasSubstr(part));
    };
    refused("--raw-data-dir " + raw(), ErrorKind::usage, "--output-dir");
    refused("--raw-data-dir /nowhere --output-dir " + out(), ErrorKind::data, "/nowhere");
    refused("--raw-dta-dir x", ErrorKind::usage, "'--raw-data-dir'");
    refused("--overwrite=yes", ErrorKind::usage, "takes");
    refused("--raw-data-dir " + raw() + " --output-dir " + out() + " --validation-fraction 2", ErrorKind::usage,
            "0 to 1");
    EXPECT_FALSE(fs::exists(out()));
    EXPECT_THAT(run("dataset imagenet --help").text, AllOf(HasSubstr("--bounding-boxes"), HasSubstr("--synset-names")));
}

TEST(Flags, SwitchesAliasesAndUnderscores) {
    const CommandFlags known = {{{"--one-name", "", "", "--other-name"}, {"--on", "", "", {}, true}}};
    const Flags flags(known, "x", {"--other_name", "a", "--on"});
    EXPECT_EQ(flags.text("--one-name"), "a");
    EXPECT_TRUE(flags.given("--on"));
    EXPECT_FALSE(Flags(known, "x", {"--one-name=b"}).given("--on"));
}

TEST(Flags, Numbers) {
    const CommandFlags known = {{{"--f", "", ""}}};
    const auto number = [&](const std::string& word) { return Flags(known, "x", {"--f", word}).number("--f", 0, 1); };
    EXPECT_EQ(number("0.25"), 0.25);
    for (const char* word : {"1.5", "-0.1", "nan", "a", "0.5x", ""}) {
        EXPECT_THROW(number(word), Error) << word;
    }
}

TEST(Progress, ATerminalsLineIsErasedForOthers) {
    std::ostringstream console;
    {
        Terminal terminal;
        terminal.columns = [] { return 20; };
        terminal.rewrites = true;
        ProgressReport report(console, terminal, "images");
        report.update(250, 0, 1000);
        report.line("a line");
    }
    EXPECT_EQ(console.str(), "\r\033[J[ 25.0%]\r\r\033[Ja line\n");
}

TEST(Progress, OtherConsolesGetLinesSeldom) {
    std::ostringstream console;
    ProgressReport report(console, Terminal(), "images");
    for (int i = 0; i < 100; ++i)
        report.update(i, 0, 100);
    EXPECT_EQ(console.str(), "");
}

}  // namespace
}  // namespace cnntrain::cli
