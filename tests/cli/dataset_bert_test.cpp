// `cnntrain dataset bert`, end to end on small files.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "data/fixtures.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

namespace fs = std::filesystem;

class DatasetBert : public ::testing::Test {
protected:
    static std::string golden(const std::string& name) { return CNNTRAIN_SOURCE_DIR "/tests/data/bert/" + name; }
    std::string out(const std::string& name = "out.tfrecord") const { return folder_ / name; }
    std::string line() const {
        return "dataset bert --input-file " + golden("corpus.txt") + " --output-file " + out() + " --vocab-file " +
               golden("vocab.txt") + " --do-lower-case --sequence-length 32 --mask-tokens 5 --duplication-factor 2 ";
    }
    test::TemporaryFolder folder_;
};

TEST_F(DatasetBert, WritesReportsAndGoesOn) {
    const Outcome first = run(line());
    EXPECT_EQ(first.exit_code, 0) << first.text;
    EXPECT_THAT(first.text, AllOf(HasSubstr("10 sentences"), HasSubstr("13 records"), Not(HasSubstr("already"))));
    EXPECT_EQ(run("dataset verify " + folder_.path()).exit_code, 0);
    EXPECT_THAT(run("dataset inspect " + out()).text,
                AllOf(HasSubstr("13 records"), HasSubstr("masked_lm_positions"), HasSubstr("0..1 (mean ")));
    EXPECT_THAT(run(line()).text, AllOf(HasSubstr("13 records"), HasSubstr("1 files")));
    const Outcome other = run(line() + "--remask");
    EXPECT_EQ(other.exit_code, exit_code(ErrorKind::usage));
    EXPECT_THAT(other.text, HasSubstr("--overwrite"));
    EXPECT_EQ(run(line() + "--remask --overwrite").exit_code, 0);
}

TEST_F(DatasetBert, AnswersToTheScriptsName) {
    ASSERT_EQ(run(line()).exit_code, 0);
    const std::string bytes = data::read_file(out());
    const Outcome outcome =
        run("bert_data/create_pretraining_data.py --input_file=" + golden("corp*.txt") + " --output_file " +
            out("a.tfrecord") + " --vocab_file " + golden("vocab.txt") +
            " --do_lower_case --max_seq_length 32 --max_predictions_per_seq 5 --dupe_factor 2 --max_samples 3");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_TRUE(data::read_file(out("a.tfrecord")) == bytes);
    EXPECT_THAT(run("create_pretraining_data.py --help").text,
                AllOf(HasSubstr("usage: create_pretraining_data.py"), HasSubstr("--pad-position-value")));
}

TEST_F(DatasetBert, AVocabularyThatDoesNotFitIsSaid) {
    data::write_file(out("words.txt"), "the quick brown fox\njumps\n");
    const Outcome outcome = run("dataset bert --input-file " + out("words.txt") + " --output-file " + out() +
                                " --vocab-file " + golden("vocab.txt"));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, HasSubstr("warning: many tokens are unknown"));
}

TEST_F(DatasetBert, WrongLines) {
    expect_error("dataset bert --output-file x --vocab-file y", ErrorKind::usage, {"--input-file"});
    expect_error(line() + "--sequence-lenght 3", ErrorKind::usage, {"'--sequence-length'"});
    expect_error(line() + "--mlm-prob 2", ErrorKind::usage, {"--mlm-prob"});
    expect_error(line() + "--mask-tokens 32", ErrorKind::usage, {"1..29"});
    expect_error(line() + "--input-file /nowhere/*", ErrorKind::data, {"'/nowhere/*'"});
    expect_error(line() + "--vocab-file " + golden("corpus.txt"), ErrorKind::data, {golden("corpus.txt"), "MASK"});
    EXPECT_FALSE(fs::exists(out()));
}

TEST_F(DatasetBert, FullDisksAndStopsLeaveWholeFiles) {
    const std::string two = line() + "--output-file " + out("a") + "," + out("b") + " --duplication-factor 3000 ";
    // A limit on the size of files, in kB, is like a disk that is full then.
    const Outcome full = shell("ulimit -f 100; " + std::string(CNNTRAIN_PROGRAM) + " " + two);
    EXPECT_EQ(full.exit_code, exit_code(ErrorKind::storage)) << full.text;
    EXPECT_THAT(full.text, AllOf(HasSubstr(out("a")), HasSubstr("0 of 2")));
    EXPECT_FALSE(fs::exists(out("a")));
    const Outcome stopped = shell(std::string(CNNTRAIN_PROGRAM) + " " + line() +
                                  "--duplication-factor 1000000 & pid=$!; "
                                  "until ls " +
                                  folder_.path() +
                                  "/*.partial >/dev/null 2>&1; do sleep 0.05; done; "
                                  "kill -TERM $pid; wait $pid");
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode) << stopped.text;
    EXPECT_THAT(stopped.text, HasSubstr("0 files"));
    EXPECT_EQ(run(two).exit_code, 0);
    for (const auto& entry : fs::directory_iterator(folder_.path()))
        EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
}

}  // namespace
}  // namespace cnntrain::cli
