// Pretraining on rows of several sequences, from files: the losses are those of the same sequences with padding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/writers.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/temporary_folder.h"
#include "support/words.h"

namespace cnntrain::run {
namespace {

using options::Command;
using ::testing::HasSubstr;

const std::string kNetwork =
    "--vocab-size 50 --hidden-size 128 --num-attention-heads 2 --num-hidden-layers 2 --intermediate-size 96 "
    "--max-position-embeddings 64 --use-qkv-split --precision 32 --seed 5 --threads 2 "
    "--seq-length 64 --max-predictions-per-seq 10 ";

const std::string kDropout = "--hidden-dropout-prob 0.1 --attention-probs-dropout-prob 0.1 ";

struct Outcome {
    int exit_code = 0;
    std::string console;
};

class PackedPretraining : public ::testing::Test {
protected:
    PackedPretraining() {
        write("padded.tfrecord", false);
        write("packed.tfrecord", true);
        const Outcome outcome = run(line("run") + kDropout + "--gradient-accumulation-count 2");
        EXPECT_EQ(outcome.exit_code, 0);
        console_ = outcome.console;
    }

    std::string line(const std::string& name) const {
        return kNetwork +
               "--micro-batch-size 2 --num-train-steps 6 --optimizer lamb --base-learning-rate 0.02 --warmup 0 "
               "--packed --train-file " +
               (folder_ / "padded.tfrecord") + " --logs-path " + (folder_ / name) + " ";
    }

    void write(const std::string& name, bool packed) const {
        data::PretrainingWriterSettings writing;
        writing.input_files = CNNTRAIN_SOURCE_DIR "/tests/data/bert/corpus.txt";
        writing.output_files = folder_ / name;
        writing.vocabulary = CNNTRAIN_SOURCE_DIR "/tests/data/bert/vocab.txt";
        writing.lower_case = true;
        writing.instances = {64, 10, 1984, 5, 0.15, 0.6};
        writing.packed = packed;
        data::write_pretraining_records(writing);
    }

    static Outcome run(const std::string& line, Command command = Command::pretrain,
                       std::function<bool()> stop = nullptr) {
        std::ostringstream console;
        Host host;
        host.command_line = "cnntrain test";
        host.console = &console;
        if (stop) host.stop_requested = std::move(stop);
        const options::ParseResult arguments = tasks::parse_command_line(command, test::words(line), {});
        const int code =
            command == Command::restore ? tasks::run_restored(arguments, host) : tasks::run(arguments, host);
        return {code, console.str()};
    }

    /// The bytes of the last checkpoint's tensors.
    std::map<std::string, std::string> tensors_of(const std::string& name) const {
        std::map<std::string, std::string> result;
        const auto last = weights::load(posix_files(), folder_ / (name + "/ckpt-5.safetensors"));
        for (const auto& [key, tensor] : last.tensors)
            result[key].assign(reinterpret_cast<const char*>(tensor.bytes().data()), tensor.bytes().size());
        return result;
    }

    /// Losses and accuracies of the run's last checkpoint on all sequences.
    std::vector<double> evaluated(const std::string& files, const std::string& options) const {
        const test::TemporaryFolder logs;
        const Outcome outcome = run("--evaluate --init-checkpoint " + (folder_ / "run/ckpt-5") +
                                    " --threads 2 --micro-batch-size 7 --valid-file " + (folder_ / files) +
                                    " --overwrite --logs-path " + (logs / "of") + " " + options);
        EXPECT_EQ(outcome.exit_code, 0) << files << " " << options;
        std::istringstream table(read_text(posix_files(), logs / "of/validation.csv"));
        std::string names;
        std::string values;
        std::getline(table, names);
        std::getline(table, values);
        EXPECT_THAT(names, HasSubstr("name,iteration,epoch,mlm_loss,nsp_loss,mlm_acc,nsp_acc,"));
        std::istringstream row(values);
        std::vector<double> results;
        std::string field;
        for (int column = 0; column < 7 && std::getline(row, field, ','); ++column) {
            if (column >= 3) results.push_back(std::stod(field));
        }
        return results;
    }

    static void expect_same(const std::vector<double>& results, const std::vector<double>& expected,
                            const std::string& what) {
        ASSERT_EQ(results.size(), 4U);
        for (std::size_t i = 0; i < results.size(); ++i)
            EXPECT_NEAR(results[i], expected[i], 1e-5 * std::abs(expected[i])) << what << ", column " << i;
    }

    const test::TemporaryFolder folder_;
    std::string console_;
};

TEST_F(PackedPretraining, ResultsOfAnEvaluationAreThoseOfPaddedSequences) {
    EXPECT_THAT(console_, HasSubstr("64 tokens"));
    const std::vector<double> padded = evaluated("padded.tfrecord", "--no-packed");
    EXPECT_GT(padded.at(0), 1) << "the model still has something to learn";
    expect_same(evaluated("padded.tfrecord", ""), padded, "packed when they are read");
    expect_same(evaluated("packed.tfrecord", ""), padded, "packed when they were written");
    expect_same(evaluated("packed.tfrecord", "--backend ref"), padded, "the backend ref");
}

TEST_F(PackedPretraining, ReplicasEvaluateThemToo) {
    expect_same(evaluated("packed.tfrecord", "--replicas 2"), evaluated("padded.tfrecord", "--no-packed"), "replicas");
}

TEST_F(PackedPretraining, AStoppedAndResumedRunIsTheUndisturbedOne) {
    int asked = 0;
    const Outcome stopped = run(line("stopped") + kDropout + "--gradient-accumulation-count 2", Command::pretrain,
                                [&] { return ++asked > 7; });
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_FALSE(exists(posix_files(), folder_ / "stopped/ckpt-5.safetensors"));
    EXPECT_EQ(run("--restore-path " + (folder_ / "stopped"), Command::restore).exit_code, 0);
    EXPECT_TRUE(tensors_of("stopped") == tensors_of("run")) << "the last checkpoints differ";
}

TEST_F(PackedPretraining, ReplicasTrainAsAccumulationDoes) {
    EXPECT_EQ(run(line("accumulated") + "--gradient-accumulation-count 4").exit_code, 0);
    EXPECT_EQ(run(line("replicated") + "--gradient-accumulation-count 2 --replicas 2").exit_code, 0);
    EXPECT_TRUE(tensors_of("replicated") == tensors_of("accumulated")) << "the last checkpoints differ";
}

TEST_F(PackedPretraining, RatesCountRows) {
    const std::string table = read_text(posix_files(), folder_ / "run/training.csv");
    EXPECT_THAT(table.substr(0, table.find('\n')), HasSubstr(",row_per_sec,"));
}

}  // namespace
}  // namespace cnntrain::run
