// A training of question answering that ends by SIGKILL and is resumed answers as one that nothing disturbed.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

const std::string kQuestionFile = CNNTRAIN_SOURCE_DIR "/tests/data/squad/squad-v1.1.json";
const std::string kTraining =
    std::string(CNNTRAIN_PROGRAM) + " train --task question-answering --data-dir " + kQuestionFile +
    " --vocab-file " CNNTRAIN_SOURCE_DIR
    "/tests/data/bert/vocab.txt --vocab-size 512 --hidden-size 32 --num-attention-heads 2 --num-hidden-layers 1 "
    "--intermediate-size 64 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 --max-query-length 6 "
    "--hidden-dropout-prob 0.1 --precision 32 --seed 5 --threads 1 --input-threads 1 --micro-batch-size 4 --epochs 120 "
    "--epochs-per-ckpt 10 --base-learning-rate 0.003 --logs-path ";

/// Answers of the run's last checkpoint.
std::string answers_of(const test::TemporaryFolder& folder, const std::string& name) {
    const Outcome outcome = run("inference --threads 1 --restore-path " + (folder / name) + " --data-dir " +
                                kQuestionFile + " --logs-path " + (folder / (name + "_answers")));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, HasSubstr("[ckpt-840]"));
    return folder.read(name + "_answers/predictions.json") + folder.read(name + "_answers/best_predictions.json");
}

TEST(KilledAnswers, AreThoseOfAnUndisturbedTraining) {
    const test::TemporaryFolder folder;
    EXPECT_EQ(shell(kTraining + (folder / "whole") + " >/dev/null").exit_code, 0);
    const Outcome killed =
        shell("cd " + folder.path() + "; " + kTraining +
              "killed >/dev/null 2>&1 & pid=$!; i=0; until [ -e killed/ckpt-140.safetensors ] || [ $i = 6000 ]; do "
              "sleep 0.01; i=$((i+1)); done; kill -KILL $pid; wait $pid; echo code $?; ls killed");
    EXPECT_THAT(killed.text, AllOf(HasSubstr("code 137\n"), HasSubstr("ckpt-140.safetensors"),
                                   Not(HasSubstr("ckpt-840.safetensors"))));
    const Outcome resumed = run("restore --threads 1 --restore-path " + (folder / "killed"));
    EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
    const std::string answers = answers_of(folder, "killed");
    EXPECT_EQ(answers, answers_of(folder, "whole"));
    EXPECT_THAT(answers, HasSubstr("\"text\": \"The cat\"")) << "the questions can be learnt";
}

}  // namespace
}  // namespace cnntrain::cli
