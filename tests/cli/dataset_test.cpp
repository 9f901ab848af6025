// `cnntrain dataset inspect` and `verify`, end to end on small files.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

namespace fs = std::filesystem;

/// `streams`: where standard error goes, if not with the output.
Outcome dataset(const std::string& arguments, const std::string& streams = "") {
    return run("dataset " + arguments + " " + streams);
}

void expect_refused(const std::string& arguments, ErrorKind kind, const std::string& part) {
    SCOPED_TRACE(arguments);
    const Outcome outcome = dataset(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code(kind)) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("error: "), HasSubstr(part)));
}

/// Four train shards of 3 images and one validation shard of 2.
class DatasetCommands : public ::testing::Test {
protected:
    DatasetCommands() {
        fs::create_directory(set());
        for (int shard = 0; shard < 4; ++shard) {
            std::vector<std::string> records;
            for (int i = 0; i < 3; ++i)
                records.push_back(image(shard * 3 + i));
            data::write_records(train(shard), records);
        }
        data::write_records(set() + "/validation-00000-of-00001", {image(100), image(101)});
    }

    static std::string image(int number) {
        const auto seed = static_cast<std::uint64_t>(number);
        return data::make_example(data::encode_jpeg(data::make_photo(10 + number % 5, 20, seed)), 1 + number);
    }
    std::string set() const { return folder_ / "set"; }
    std::string train(int shard) const { return set() + "/train-0000" + std::to_string(shard) + "-of-00004"; }
    void damage(const std::string& path, std::size_t at) const {
        std::string bytes = data::read_file(path);
        bytes[at] = static_cast<char>(bytes[at] ^ 8);
        data::write_file(path, bytes);
    }

    test::TemporaryFolder folder_;
};

TEST_F(DatasetCommands, HelpNamesTheFlags) {
    EXPECT_THAT(dataset("--help").text, AllOf(HasSubstr("\n  inspect "), HasSubstr("\n  verify ")));
    EXPECT_THAT(dataset("inspect --help").text, AllOf(HasSubstr("PATH"), HasSubstr("--records")));
    EXPECT_THAT(dataset("verify --help").text, HasSubstr("--decode"));
}

TEST_F(DatasetCommands, InspectPrintsEachSplit) {
    const Outcome outcome = dataset("inspect " + set());
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("12 records"), HasSubstr("10..14"), HasSubstr("12 classes"),
                                    ContainsRegex("image/class/label +int64 +12 +1 "), HasSubstr("2 records"),
                                    Not(HasSubstr("  label  records"))));
    EXPECT_THAT(dataset("inspect --labels " + set()).text, HasSubstr("  label  records\n  1      1\n  2      1\n"));
    EXPECT_THAT(dataset("inspect " + set() + " --records 2").text, HasSubstr("8 records"));
    EXPECT_THAT(dataset("inspect --data-dir " + train(1)).text, HasSubstr("3 records"));
}

TEST_F(DatasetCommands, InspectPrintsJson) {
    const Outcome outcome = dataset("inspect --json " + set(), "2>/dev/null");
    EXPECT_EQ(outcome.exit_code, 0);
    const nlohmann::json sets = nlohmann::json::parse(outcome.text);
    ASSERT_EQ(sets.size(), 2U);
    EXPECT_EQ(sets[0]["name"], "train");
    EXPECT_EQ(sets[0]["records"], 12);
    EXPECT_EQ(sets[0]["labels"]["12"], 1);
    EXPECT_EQ(sets[0]["images"]["width"]["mean"], 20.0);
    EXPECT_EQ(sets[0]["features"]["image/class/label"]["type"], "int64");
    EXPECT_EQ(sets[0]["features"]["image/class/label"]["int64_values"]["max"], 12);
    EXPECT_EQ(sets[1]["images"]["not_jpeg"], 0);
}

TEST_F(DatasetCommands, InspectShowsWhatItCanOfDamagedFiles) {
    damage(train(0), 100);
    const Outcome outcome = dataset("inspect " + set());
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data));
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("12 records in 4 files"), HasSubstr("1 records")));
}

TEST_F(DatasetCommands, VerifyPassesSoundSets) {
    for (const char* flags : {"", " --decode", " --threads 1"}) {
        const Outcome outcome = dataset("verify " + set() + flags);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text, AllOf(HasSubstr(set()), ContainsRegex("records +14\n"), HasSubstr(" GB/s")));
    }
}

TEST_F(DatasetCommands, VerifyListsEverythingThatIsWrong) {
    damage(train(0), 100);
    damage(train(1), 5);
    const std::string bytes = data::read_file(train(2));
    data::write_file(train(2), bytes.substr(0, bytes.size() - 1));
    fs::remove(train(3));
    data::write_file(train(3) + ".partial", "begun");
    const Outcome outcome = dataset("verify " + set());
    EXPECT_EQ(outcome.exit_code, exit_code(ErrorKind::data));
    EXPECT_THAT(outcome.text,
                AllOf(HasSubstr("00000"), HasSubstr("00001"),
                      ContainsRegex("train-00002-of-00004, record 2 \\(at byte [0-9]+\\): damaged length: .*cut short"),
                      HasSubstr("00003"), HasSubstr("00004.partial"), HasSubstr("NOT SOUND"), HasSubstr("5 findings")));
}

TEST_F(DatasetCommands, WrongLinesAreRefused) {
    expect_refused("inspect", ErrorKind::usage, "PATH");
    expect_refused("inspect " + set() + " " + set(), ErrorKind::usage, "PATH");
    expect_refused("inspect " + set() + " --lables", ErrorKind::usage, "'--labels'");
    expect_refused("inspect " + set() + " --json=yes", ErrorKind::usage, "takes");
    expect_refused("verify " + (folder_ / "nowhere"), ErrorKind::data, "folder");
    expect_refused("verfy " + set(), ErrorKind::usage, "'verify'");
}

}  // namespace
}  // namespace cnntrain::cli
