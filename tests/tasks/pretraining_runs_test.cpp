// Uses of a pretraining run's folder: evaluation, a longer run; and the errors of other tasks' commands.
#include <gtest/gtest.h>

#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::run {
namespace {

using options::Command;

const std::string kNetwork =
    "--vocab-size 50 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 2 --intermediate-size 64 "
    "--max-position-embeddings 16 --use-qkv-split --no-use-cls-layer --layer-norm-epsilon 1e-5 ";
const std::string kSequences = "--seq-length 16 --max-predictions-per-seq 3 --static-mask --micro-batch-size 2 ";

struct Outcome {
    int exit_code = 0;
    std::string console;
};

/// A run of four steps in a real folder.
class PretrainingRun : public ::testing::Test {
protected:
    PretrainingRun() {
        const Outcome outcome =
            run(Command::pretrain, kNetwork + kSequences +
                                       "--generated-data --precision 32 --seed 5 --threads 1 "
                                       "--gradient-accumulation-count 2 --num-train-steps 4 --optimizer lamb "
                                       "--base-learning-rate 0.01 --warmup 0 --logs-path " +
                                       run_);
        EXPECT_EQ(outcome.exit_code, 0);
    }

    static options::ParseResult parsed(Command command, const std::string& line) {
        return tasks::parse_command_line(command, test::words(line), {});
    }

    static Outcome run(Command command, const std::string& line) {
        std::ostringstream console;
        Host host;
        host.command_line = "cnntrain test";
        host.console = &console;
        const options::ParseResult arguments = parsed(command, line);
        const int code =
            command == Command::restore ? tasks::run_restored(arguments, host) : tasks::run(arguments, host);
        return {code, console.str()};
    }

    static std::string usage_error(Command command, const std::string& line) {
        return test::message_of(ErrorKind::usage, [&] { parsed(command, line); });
    }

    test::TemporaryFolder folder_;
    std::string run_ = folder_ / "run";
};

TEST_F(PretrainingRun, IsEvaluatedWithItsOwnNetworkAndSequences) {
    const std::string evaluation = "--evaluate --threads 1 --logs-path " + (folder_ / "results") + " ";
    for (const std::string& from : {"--restore-dir " + run_, "--init-checkpoint " + run_ + "/ckpt-3"}) {
        const auto arguments = parsed(Command::pretrain, evaluation + from);
        const tasks::PretrainingSettings& own = tasks::pretraining_settings(arguments.settings);
        EXPECT_EQ(own.model.hidden, 64) << from;
        EXPECT_EQ(own.model.norm_epsilon, 1e-5) << from;
        EXPECT_FALSE(own.model.cls_layer) << from;
        EXPECT_EQ(own.text.sequence_length, 16) << from;
        EXPECT_TRUE(own.text.static_mask) << from;
        EXPECT_TRUE(own.text.generated) << from;
        EXPECT_EQ(arguments.settings.training.micro_batch_size, 2) << from;
        EXPECT_EQ(arguments.settings.device.precision, nn::Precision::p32_32) << from;
    }
    const Outcome outcome = run(Command::pretrain, evaluation + "--restore-dir " + run_);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, ContainsRegex("Validation mlm_loss: +[0-9.]+.* \\[ckpt-3\\]"));
}

TEST_F(PretrainingRun, IsEvaluatedWithWhatTheLineSaysElse) {
    const auto arguments = parsed(Command::pretrain, "--evaluate --restore-dir " + run_ +
                                                         " --valid-file held_out.tfrecord --micro-batch-size 7 "
                                                         "--precision 16");
    const tasks::PretrainingSettings& own = tasks::pretraining_settings(arguments.settings);
    EXPECT_FALSE(own.text.generated) << "made-up sequences give way to the held-out ones";
    EXPECT_EQ(own.held_out_files, "held_out.tfrecord");
    EXPECT_EQ(arguments.settings.training.micro_batch_size, 7);
    EXPECT_EQ(arguments.settings.device.precision, nn::Precision::p16_32);
    EXPECT_THAT(usage_error(Command::pretrain, "--evaluate --restore-dir " + (folder_ / "nowhere")),
                HasSubstr("--micro-batch-size"));
}

TEST_F(PretrainingRun, TheCommandsOfOtherTasksNameItsOwn) {
    EXPECT_EQ(usage_error(Command::validation, "--restore-path " + run_),
              run_ +
                  " is of a pretraining, which is evaluated by its own command: cnntrain pretrain --evaluate "
                  "--restore-dir " +
                  run_ + " --valid-file FILES");
    const std::string checkpoint = run_ + "/ckpt-3";
    EXPECT_EQ(usage_error(Command::inference, "--restore-path " + checkpoint + " --data-dir x"),
              checkpoint +
                  " is of a pretraining, which assigns no classes: cnntrain pretrain --evaluate "
                  "--init-checkpoint " +
                  checkpoint + " --valid-file FILES");
}

TEST_F(PretrainingRun, IsMadeLonger) {
    const std::string line = "--restore-path " + run_ + " --threads 1 ";
    const Outcome longer = run(Command::restore, line + "--num-train-steps 7");
    EXPECT_EQ(longer.exit_code, 0);
    EXPECT_THAT(longer.console, AllOf(HasSubstr("step:      6, "), Not(HasSubstr("step:      3, "))));
    EXPECT_TRUE(exists(posix_files(), run_ + "/ckpt-6.safetensors"));
    EXPECT_THAT(folder_.read("run/arguments.json"), HasSubstr("\"num_train_steps\": 7"));
    EXPECT_EQ(run(Command::restore, line).exit_code, 0) << "a longer run is the run";
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { run(Command::restore, line + "--num-train-steps 5"); }),
                HasSubstr("7 iterations"));
}

}  // namespace
}  // namespace cnntrain::run
