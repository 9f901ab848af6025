// Runs of question answering on the questions of tests/data/squad.
#include <gtest/gtest.h>

#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "support/errors.h"
#include "support/event_files.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::run {
namespace {

using options::Command;

const std::string kData = CNNTRAIN_SOURCE_DIR "/tests/data/";
const std::string kQuestions = "--data-dir " + kData + "squad/squad-v1.1.json ";
const std::string kSizes =
    "--task question-answering --vocab-file " + kData +
    "bert/vocab.txt --vocab-size 512 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 "
    "--intermediate-size 32 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 --max-query-length 6 "
    "--precision 32 --seed 5 --threads 1 --micro-batch-size 4 ";
const std::string kNet = kSizes + "--epochs 1 ";

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
    std::vector<float> curve(const std::string& tag) const {
        return test::curve(posix_files(), folder_ / "run/event", tag);
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

TEST_F(QuestionAnswering, PhasesHaveTheLinesOfTheOriginalProgram) {
    const std::string console =
        run(Command::train, kNet + kQuestions + "--phases --do-training --do-predict --predict-file " + kData +
                                "squad/squad-v1.1.json --micro-batch-size 2 --gradient-accumulation-count 2 --warmup 2 "
                                "--lr-schedule polynomial_decay --logs-path @run --output-dir @out");
    EXPECT_THAT(console, HasSubstr("\nTotal samples 28\nTraining will last 7 iterations and 7 steps will be executed.\n"
                                   "Using learning rate schedule polynomial_decay\nWarmup period set to 2 steps\n"));
    EXPECT_THAT(console, HasSubstr("\nstep:      7, iteration:      7, "));  // a call has two micro-batches
    EXPECT_THAT(console, ContainsRegex("\ntraining times: [0-9.e-]+ s\n"));
    EXPECT_THAT(console, ContainsRegex("\ninference throughput: [0-9.e+]+ exmples/sec - Latency: [0-9.e-]+ [0-9.e-]+ "
                                       "[0-9.e-]+ \\(mean min max\\) sec \n"));
    EXPECT_THAT(console, HasSubstr("\nUsing SQuAD 1.1 evaluation file\nSQuAD 1.1 evaluation results: "));
    EXPECT_THAT(folder_.read("run/log.txt"), HasSubstr("Total samples 28\n"));
}

TEST_F(QuestionAnswering, OtherRunsDoNot) {
    EXPECT_THAT(run(Command::train, kNet + kQuestions + "--logs-path @run"),
                AllOf(Not(HasSubstr("Total samples")), Not(HasSubstr("training times"))));
    EXPECT_THAT(run(Command::inference, "--restore-path @run --no-logs " + kQuestions),
                AllOf(Not(HasSubstr("exmples/sec")), Not(HasSubstr("evaluation file"))));
}

TEST_F(QuestionAnswering, CurvesHaveTheNamesOfTheOriginalProgram) {
    run(Command::train, kNet + kQuestions + "--phases --do-training --steps-per-logs 1 --logs-path @run");
    EXPECT_THAT(curve("epoch"), AllOf(SizeIs(7), Contains(1)));
    for (const char* tag : {"loss", "learning_rate", "througput"})
        EXPECT_THAT(curve(tag), AllOf(SizeIs(7), Each(Gt(0)))) << tag;
}

TEST_F(QuestionAnswering, RequestsHaveTheLineOfTheOriginalProgram) {
    const std::string console =
        run(Command::inference, kSizes +
                                    "--generated-data --num-synthetic-dataset-samples 8 --iterations 3 --no-logs "
                                    "--tmp-execs --num-inference-thread 2");
    EXPECT_THAT(console, ContainsRegex("\nbatch size:    4, latency avg: +[0-9]+\\.[0-9]{6} ms, latency 99p: "
                                       "+[0-9]+\\.[0-9]{4} ms, latency 99p9: +[0-9.e+-]+ ms, throughput: "
                                       "+[0-9]+\\.[0-9]{3} samples/sec, \n"));
}

TEST_F(QuestionAnswering, RequestsAreFollowedByPredictionsOfAFile) {
    run(Command::train, kNet + kQuestions + "--logs-path @run");
    run(Command::inference, "--restore-path @run/ckpt-7 --logs-path @asked " + kQuestions);
    run(Command::inference, kSizes +
                                "--iterations 2 --tmp-execs --no-logs --do-predict --init-checkpoint @run/ckpt-7 " +
                                "--output-dir @out --predict-file " + kData + "squad/squad-v1.1.json");
    EXPECT_EQ(folder_.read("out/predictions.json"), folder_.read("asked/predictions.json"));
}

TEST_F(QuestionAnswering, MadeUpQuestionsAreNotPredicted) {
    for (const std::string phase : {"--do-predict", "--do-evaluation"}) {
        const std::string line = kSizes + "--iterations 2 --generated-data --init-checkpoint x " + phase;
        const std::string message = test::message_of(
            ErrorKind::usage, [&] { tasks::parse_command_line(Command::inference, test::words(line), {}); });
        EXPECT_THAT(message, HasSubstr("--predict-file")) << phase;
    }
}

/// 28 features, and batches of 8.
TEST_F(QuestionAnswering, TheOriginalProgramCountsWholeBatchesOfAnEpoch) {
    const std::string line = kNet + kQuestions + "--micro-batch-size 8 --epochs 4 --dry-run ";
    const auto length = [](const std::string& options) {
        return tasks::dry_run_text(tasks::parse_command_line(Command::train, test::words(options), {}));
    };
    EXPECT_THAT(length(line), HasSubstr(" 14 iterations, 4 epochs of 3 iterations"));
    EXPECT_THAT(length(line + "--phases --do-training"), HasSubstr(" 12 iterations, 4 epochs of 3 iterations"));
}

TEST_F(QuestionAnswering, ACheckpointOfPretrainingHasNoHead) {
    run(Command::pretrain,
        "--vocab-size 512 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 --intermediate-size 32 "
        "--max-position-embeddings 32 --seq-length 32 --max-predictions-per-seq 3 --generated-data --precision 32 "
        "--seed 5 --threads 1 --micro-batch-size 2 --gradient-accumulation-count 1 --num-train-steps 1 "
        "--logs-path @pretrained");
    const std::string line =
        "--task question-answering --restore-path @pretrained/ckpt-0 --no-logs --doc-stride 8 "
        "--max-query-length 6 --vocab-file " +
        kData + "bert/vocab.txt " + kQuestions;
    for (const Command command : {Command::validation, Command::inference}) {
        EXPECT_THAT(test::message_of(ErrorKind::data, [&] { run(command, line); }),
                    AllOf(HasSubstr("cls/squad/"), HasSubstr("train first"), HasSubstr("--init-checkpoint")));
    }
}

}  // namespace
}  // namespace cnntrain::run
