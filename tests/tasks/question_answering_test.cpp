// Runs of question answering on the questions of tests/data/squad.
#include <gtest/gtest.h>

#include <sstream>

#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::run {
namespace {

using options::Command;

const std::string kData = CNNTRAIN_SOURCE_DIR "/tests/data/";
const std::string kQuestions = "--data-dir " + kData + "squad/squad-v1.1.json ";
const std::string kNet =
    "--task question-answering --vocab-file " + kData +
    "bert/vocab.txt --vocab-size 512 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 "
    "--intermediate-size 32 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 --max-query-length 6 "
    "--precision 32 --seed 5 --threads 1 --micro-batch-size 4 --epochs 1 ";

class QuestionAnswering : public ::testing::Test {
protected:
    /// "@name" is a file in a folder of the test.
    std::string run(Command command, const std::string& line) const {
        std::vector<std::string> words = test::words(line);
        for (std::string& word : words)
            if (word.starts_with("@")) word = folder_.path() + "/" + word.substr(1);
        std::ostringstream console;
        Host host;
        host.command_line = "cnntrain test";
        host.console = &console;
        EXPECT_EQ(tasks::run(tasks::parse_command_line(command, words, {}), host), 0) << line;
        return console.str();
    }

    test::TemporaryFolder folder_;
};

TEST_F(QuestionAnswering, TrainsWithoutValidationAndAnswers) {
    EXPECT_THAT(run(Command::train, kNet + kQuestions + "--logs-path @run"), HasSubstr("iteration:      7, "));
    EXPECT_THAT(run(Command::inference, "--restore-path @run --logs-path @answers " + kQuestions),
                HasSubstr("SQuAD 1.1 evaluation results: Exact Match: "));
    EXPECT_THAT(folder_.read("answers/predictions.json"), HasSubstr("\"a1\""));
}

TEST_F(QuestionAnswering, FeaturesThatShareRowsAreAnsweredAsPaddedOnes) {
    run(Command::train, kNet + kQuestions + "--logs-path @run");
    for (const std::string packed : {"--packed", "--no-packed"}) {
        run(Command::inference, "--restore-path @run --seq-length 32 --doc-stride 2 --logs-path @" + packed + " " +
                                    packed + " " + kQuestions);
    }
    EXPECT_EQ(folder_.read("--packed/predictions.json"), folder_.read("--no-packed/predictions.json"));
}

TEST_F(QuestionAnswering, TrainsOnGeneratedQuestionsWithoutValidation) {
    EXPECT_THAT(run(Command::train, kNet + "--generated-data --num-synthetic-dataset-samples 8 --logs-path @run"),
                HasSubstr("iteration:      2, "));
}

TEST_F(QuestionAnswering, ATrainingIsValidatedOnItsOwnFile) {
    EXPECT_THAT(run(Command::train,
                    kNet + kQuestions + "--logs-path @run --validation-file " + kData + "squad/squad-v1.1.json"),
                HasSubstr("SQuAD 1.1 evaluation results: Exact Match: "));
}

}  // namespace
}  // namespace cnntrain::run
