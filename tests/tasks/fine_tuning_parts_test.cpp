// Fine-tuning by several processes, replicas and stages computes what one process does.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/temporary_folder.h"
#include "support/thread_communicators.h"
#include "support/words.h"

namespace cnntrain::run {
namespace {

const std::string kData = CNNTRAIN_SOURCE_DIR "/tests/data/";

/// A kind of fine-tuning. "@name" is a file in the test's folder.
struct Form {
    std::string name;
    std::string line;
    std::string head;                  // function of the last stage
    std::vector<std::string> answers;  // files of the predictions
};

void PrintTo(const Form& form, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << form.name;
}

Form texts(const std::string& name, const std::string& line, const std::vector<std::string>& more_answers = {}) {
    Form form{name,
              "--task text-classification --vocab-file @vocab.txt --vocab-size 10 --seq-length 16 " + line,
              "glu0",
              {"predictions.csv"}};
    form.answers.insert(form.answers.end(), more_answers.begin(), more_answers.end());
    return form;
}

std::vector<Form> forms() {
    const std::string questions = kData + "squad/squad-v1.1.json ";
    return {
        {"questions",
         "--task question-answering --vocab-file " + kData +
             "bert/vocab.txt --vocab-size 512 --seq-length 32 --doc-stride 8 --max-query-length 6 --data-dir " +
             questions + "--predict-file " + questions,
         "loc0",
         {"predictions.json", "best_predictions.json"}},
        texts("classes", "--data-dir @classes.tsv "),
        texts("glue", "--data-dir @cola --task-name cola ", {"predict_results.txt", "eval_results.txt"}),
        texts("score", "--data-dir @scores.tsv --labels score "),
        texts("several", "--data-dir @several.tsv --labels several "),
        texts("groupbert", "--data-dir @classes.tsv --groupbert --use-qkv-bias "),
    };
}

/// Dropout and order follow the samples, whoever computes them.
const std::string kNet =
    "--hidden-size 32 --num-attention-heads 2 --num-hidden-layers 2 --intermediate-size 32 "
    "--max-position-embeddings 32 --initializer-range 0.2 --hidden-dropout-prob 0.1 "
    "--attention-probs-dropout-prob 0.1 --precision 32 --seed 5 --threads 1 --micro-batch-size 2 --iterations 5 "
    "--warmup 0 --no-validation --steps-per-logs 1 ";
const std::string kMomentum = "--optimizer momentum --base-learning-rate 0.05 ";
const std::string kWhole = "--gradient-accumulation-count 4 ";
const std::string kHalf = "--gradient-accumulation-count 2 ";

class FineTuningInParts : public ::testing::TestWithParam<Form> {
protected:
    FineTuningInParts() {
        folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nplot\ncast\n");
        folder_.write("classes.tsv", table({"like", "dislike", "dull"}));
        folder_.write("scores.tsv", table({"-1.5", "0", "2.25", "1"}));
        folder_.write("several.tsv", table({"sad", "long", "sad|long", ""}));
        posix_files().make_directories(folder_ / "cola");
        std::string labelled;
        std::string unlabelled = "index\tsentence\n";
        for (int i = 0; i < 21; ++i) {
            labelled += "gj04\t" + std::to_string(i % 2) + "\t\t" + text(i) + "\n";
            unlabelled += std::to_string(i) + "\t" + text(i + 3) + "\n";
        }
        folder_.write("cola/train.tsv", labelled);
        folder_.write("cola/dev.tsv", labelled);
        folder_.write("cola/test.tsv", unlabelled);
    }

    /// One to six words.
    static std::string text(int number) {
        constexpr const char* kWords[] = {"good", "bad", "film", "plot", "cast"};
        std::string words;
        for (int i = 0; i <= number % 6; ++i)
            words += (i == 0 ? "" : " ") + std::string(kWords[(7 * number + 3 * i) % 5]);
        return words;
    }

    static std::string table(const std::vector<std::string>& labels) {
        std::string rows = "text\tlabel\n";
        for (std::size_t i = 0; i < 22; ++i)
            rows += text(static_cast<int>(i)) + "\t" + labels[i % labels.size()] + "\n";
        return rows;
    }

    /// Runs a line of train in one process or in several, which are threads and see one folder.
    void run(const std::string& options, int processes = 1) const {
        std::vector<std::string> words = test::words(GetParam().line + kNet + options);
        for (std::string& word : words)
            if (word.starts_with("@")) word = folder_ / word.substr(1);
        std::vector<std::unique_ptr<comm::Communicator>> communicators;
        if (processes > 1) communicators = comm::make_thread_communicators(processes, {.timeout_seconds = 60});
        std::vector<std::thread> threads;
        for (int rank = 0; rank < processes; ++rank) {
            threads.emplace_back([&, rank] {
                std::ostringstream console;
                Host host;
                host.command_line = "cnntrain test";
                host.console = &console;
                if (processes > 1) host.communicator = std::move(communicators[static_cast<std::size_t>(rank)]);
                options::Environment environment;
                environment.launch = {.processes = processes, .index = rank};
                try {
                    EXPECT_EQ(tasks::run(tasks::parse_command_line(options::Command::train, words, environment), host),
                              0);
                    host.communicator->finish();
                } catch (const Error& error) {
                    ADD_FAILURE() << "rank " << rank << ": " << error.what();
                    host.communicator->leave(error.what());
                }
            });
        }
        for (std::thread& thread : threads)
            thread.join();
    }

    /// The column loss_batch.
    std::vector<double> losses(const std::string& run) const {
        constexpr int kColumn = 4;
        std::istringstream table(folder_.read(run + "/training.csv"));
        std::vector<double> values;
        std::string row;
        std::getline(table, row);
        while (std::getline(table, row)) {
            std::istringstream cells(row);
            std::string cell;
            for (int i = 0; i <= kColumn; ++i)
                std::getline(cells, cell, ',');
            values.push_back(std::stod(cell));
        }
        return values;
    }

    /// Leaves out shifts of all tokens' scores, on which a softmax over them does not depend: they are rounding.
    std::map<std::string, HostTensor> tensors(const std::string& run) const {
        auto all = weights::load(posix_files(), folder_ / (run + "/ckpt-5.safetensors")).tensors;
        std::erase_if(all, [](const auto& entry) {
            return entry.first.starts_with("cls/squad/output_bias") ||
                   entry.first.starts_with("bert/encoder/layer_1/output/LayerNorm/beta");
        });
        return all;
    }

    void expect_same_training(const std::string& one, const std::string& other, double tolerance) const {
        const std::vector<double> expected = losses(one);
        const std::vector<double> found = losses(other);
        ASSERT_EQ(expected.size(), 5U);
        ASSERT_EQ(found.size(), 5U) << other;
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(found[i], expected[i], tolerance * expected[i]) << other << ", update " << i;
        const auto before = tensors(one);
        const auto after = tensors(other);
        ASSERT_EQ(before.size(), after.size()) << other;
        for (const auto& [name, tensor] : before) {
            double squares = 0;
            double differences = 0;
            for (std::int64_t i = 0; i < tensor.elements(); ++i) {
                squares += tensor.at(i) * tensor.at(i);
                differences += std::pow(tensor.at(i) - after.at(name).at(i), 2);
            }
            EXPECT_LE(std::sqrt(differences), tolerance * std::sqrt(squares) + 1e-7) << name << " of " << other;
        }
    }

    test::TemporaryFolder folder_;
};

TEST_P(FineTuningInParts, TrainsAsOneProcessDoes) {
    run(kMomentum + kWhole + "--logs-path @one");
    run(kMomentum + kHalf + "--replicas 2 --logs-path @replicas");
    run(kMomentum + kHalf + "--logs-path @ranks", 2);
    run(kMomentum + kWhole + "--pipeline --pipeline-splits hid1 --pipeline-schedule Interleaved --logs-path @stages");
    run(kMomentum + kHalf + "--pipeline --pipeline-splits hid1 " + GetParam().head +
            " --pipeline-schedule Sequential --logs-path @stages_of_ranks",
        2);
    EXPECT_NE(losses("one").front(), losses("one").back());
    for (const char* other : {"replicas", "ranks", "stages", "stages_of_ranks"})
        expect_same_training("one", other, 1e-5);
}

/// It limits the norm of the gradients by the number of replicas, wherever they are.
TEST_P(FineTuningInParts, AdamWCountsReplicasOfAllProcesses) {
    run("--base-learning-rate 0.01 --gradient-accumulation-count 1 --replicas 2 --logs-path @replicas");
    run("--base-learning-rate 0.01 --gradient-accumulation-count 1 --logs-path @ranks", 2);
    expect_same_training("replicas", "ranks", 1e-4);
}

TEST_P(FineTuningInParts, PredictsAsOneProcessDoes) {
    const std::string phases = "--do-evaluation --do-predict ";
    const std::string training = phases + "--do-training " + kMomentum;
    run(training + kWhole + "--logs-path @one --output-dir @one/out");
    run(training + kHalf + "--replicas 2 --logs-path @replicas --output-dir @replicas/out");
    run(phases + "--init-checkpoint @one/ckpt-5 --output-dir @ranks/out", 2);
    run(training + kHalf + "--logs-path @trained --output-dir @trained/out", 2);
    for (const std::string& file : GetParam().answers) {
        const std::string expected = folder_.read("one/out/" + file);
        EXPECT_FALSE(expected.empty()) << file;
        EXPECT_EQ(folder_.read("replicas/out/" + file), expected) << file;
        EXPECT_EQ(folder_.read("ranks/out/" + file), expected) << file;
        EXPECT_TRUE(exists(posix_files(), folder_ / ("trained/out/" + file))) << file;
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, FineTuningInParts, ::testing::ValuesIn(forms()),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace cnntrain::run
