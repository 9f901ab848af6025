// `cnntrain quantise` and what reads its checkpoints.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <regex>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/suite_folder.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

/// Images in the form of CIFAR-10, and a ResNet-8 that has seen them for two epochs.
class Quantise : public test::SuiteFolder<Quantise> {
public:
    static void prepare() {
        ASSERT_EQ(run("dataset cifar --train 4000 --output-dir " + at("data")).exit_code, 0);
        const Outcome outcome = run(training("--batch-norm --epochs 2 --logs-path " + at("run")));
        ASSERT_EQ(outcome.exit_code, 0) << outcome.text;
        const Outcome made = run("quantise " + at("run"));
        ASSERT_EQ(made.exit_code, 0) << made.text;
        EXPECT_THAT(made.text, HasSubstr("7 of 7 layers in 8 bits"));
    }

protected:
    static std::string training(const std::string& options) {
        return "train --dataset cifar-10 --data-dir " + at("data") +
               " --model-size 8 --micro-batch-size 32 --no-validation --threads 1 --seed 1 " + options;
    }
    static std::string at(const std::string& name) { return *folder_ / name; }
    static std::string narrow() { return weights::best_or_latest(posix_files(), "", at("run/8bit")).path; }
    static std::string wide() { return weights::best_or_latest(posix_files(), "", at("run")).path; }

    /// The top-1 accuracy of a validation.
    static double accuracy(const std::string& options) {
        const Outcome outcome = run("validation --no-logs --restore-path " + options);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        std::smatch found;
        return std::regex_search(outcome.text, found, std::regex("top-1 accuracy: +([0-9.]+)")) ? std::stod(found[1])
                                                                                                : -1;
    }
};

TEST_F(Quantise, TheCopyAnswersAlmostAlikeOnEveryBackend) {
    const double before = accuracy(wide());
    const double on_cpu = accuracy(narrow());
    EXPECT_GT(before, 15);
    EXPECT_LT(std::abs(before - on_cpu), 2);
    EXPECT_LT(std::abs(on_cpu - accuracy(narrow() + " --backend ref --micro-batch-size 8")), 1);
    EXPECT_EQ(accuracy(at("run/8bit")), on_cpu) << "the folder names its checkpoint";
    EXPECT_EQ(run("inference --restore-path " + narrow() + " --predictions " + at("p.csv")).exit_code, 0);
    expect_error("validation --no-logs --backend ipu --restore-path " + narrow(), ErrorKind::unsupported,
                 {"quantised_conv2d"});
}

TEST_F(Quantise, TheCopyHasTheSameWeightsAndSaysHowToCompute) {
    const weights::Checkpoint one = weights::load(posix_files(), wide());
    const weights::Checkpoint other = weights::load(posix_files(), narrow());
    EXPECT_EQ(one.iteration, other.iteration);
    ASSERT_EQ(one.tensors.size(), other.tensors.size());
    for (const auto& [name, tensor] : one.tensors)
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), other.tensors.at(name).bytes())) << name;
    EXPECT_FALSE(run::eight_bit_plan(posix_files(), wide()));
    const auto plan = run::eight_bit_plan(posix_files(), narrow());
    ASSERT_TRUE(plan);
    EXPECT_THAT(plan->wide, IsEmpty());
    for (const auto& [name, bits] : plan->bits)
        EXPECT_GT(bits.scale, 0) << name;
}

TEST_F(Quantise, ValidationOfARunLeavesTheCopyOut) {
    const std::string copy = at("run/narrow.safetensors");
    ASSERT_EQ(run("quantise " + at("run") + " --samples 16 --output " + copy).exit_code, 0);
    const Outcome outcome = run("validation --no-logs --restore-path " + at("run"));
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.text, HasSubstr("narrow.safetensors is left out"));
    EXPECT_THAT(outcome.text, Not(HasSubstr("[narrow]")));
    EXPECT_GT(accuracy(copy), 15);
    posix_files().remove(copy);
}

TEST_F(Quantise, ReplacesItsOwnFilesAlone) {
    EXPECT_EQ(run("quantise " + at("run") + " --samples 16").exit_code, 0);
    const std::string notes = at("notes.safetensors");
    write_text(posix_files(), notes, "mine");
    expect_error("quantise " + at("run") + " --output " + notes, ErrorKind::usage,
                 {"notes.safetensors", "--overwrite"});
    EXPECT_EQ(read_text(posix_files(), notes), "mine");
    expect_error("quantise " + wide() + " --overwrite --output " + wide(), ErrorKind::usage, {"--output"});
    expect_error("quantise " + at("run") + " --output " + at("run/ckpt-99"), ErrorKind::usage, {"ckpt-99"});
}

TEST_F(Quantise, ErrorsSayWhatDoesNotFit) {
    expect_error("quantise", ErrorKind::usage, {"RUN"});
    expect_error("quantise " + at("nowhere"), ErrorKind::usage, {"nowhere"});
    expect_error("quantise " + narrow(), ErrorKind::usage, {"8 bits already"});
    expect_error("quantise " + at("run") + " --samples 0", ErrorKind::usage, {"--samples"});
    expect_error("quantise " + at("run") + " --most-loss x", ErrorKind::usage, {"--most-loss"});
    expect_error("quantise " + at("run") + " --nonsense", ErrorKind::usage, {"--nonsense"});
    ASSERT_EQ(run(training("--group-norm --iterations 1 --logs-path " + at("group"))).exit_code, 0);
    expect_error("quantise " + at("group"), ErrorKind::unsupported, {"batch norm"});
    weights::Checkpoint damaged = weights::load(posix_files(), narrow());
    damaged.metadata["eight_bits"] = "{";
    weights::save(posix_files(), at("damaged.safetensors"), damaged);
    expect_error("validation --no-logs --data-dir " + at("data") + " --restore-path " + at("damaged.safetensors"),
                 ErrorKind::data, {"damaged"});
}

TEST_F(Quantise, ANetworkThatLosesTooMuchIsRefused) {
    // Ranges that grey images have cut off the values of all others.
    std::filesystem::copy(at("data"), at("grey"), std::filesystem::copy_options::recursive);
    constexpr std::size_t kImageBytes = 1 + 3 * 32 * 32;  // a label, then pixels
    for (int file = 1; file <= 5; ++file) {
        const std::string path = at("grey/cifar-10-batches-bin/data_batch_") + std::to_string(file) + ".bin";
        std::string images = read_text(posix_files(), path);
        for (std::size_t i = 0; i < images.size(); ++i) {
            if (i % kImageBytes != 0) images[i] = 120;
        }
        write_text(posix_files(), path, images);
    }
    const std::string output = at("grey.safetensors");
    const std::string line = "quantise " + at("run") + " --data-dir " + at("grey") + " --output " + output;
    expect_error(line, ErrorKind::unsupported, {"points worse", "--most-loss"});
    EXPECT_FALSE(exists(posix_files(), output));
    EXPECT_EQ(run(line + " --most-loss 100").exit_code, 0);
}

class QuantiseTexts : public ::testing::Test {
protected:
    /// Trains with the line, and returns the log of quantise.
    std::string quantised(const std::string& line) const {
        const Outcome trained = run("train " + line + " --threads 1 --logs-path " + (folder_ / "run"));
        EXPECT_EQ(trained.exit_code, 0) << trained.text;
        const Outcome made = run("quantise " + (folder_ / "run"));
        EXPECT_EQ(made.exit_code, 0) << made.text;
        EXPECT_THAT(made.text, HasSubstr("4 of 4 layers in 8 bits"));
        return made.text;
    }
    /// A BERT of one layer on texts, which one word of each tells apart. `labels`: of the texts with this word and of
    /// the others.
    std::string quantised_on_texts(const std::array<std::string, 2>& labels, const std::string& options) const {
        std::string texts = "text\tlabel\n";
        for (int i = 0; i < 400; ++i) {
            texts += std::string(i % 3 == 0 ? "c " : "d ") + (i % 2 == 0 ? "a " : "b ") + (i % 5 == 0 ? "c" : "d d") +
                     "\t" + labels[i % 2 == 0 ? 0 : 1] + "\n";
        }
        write_text(posix_files(), folder_ / "texts.tsv", texts);
        write_text(posix_files(), folder_ / "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n");
        return quantised(
            "--task text-classification --no-validation --vocab-size 9 --hidden-size 64 --num-attention-heads 2 "
            "--num-hidden-layers 1 --intermediate-size 96 --learning-rate 2e-3 --epochs 4 --seq-length 16 --data-dir " +
            (folder_ / "texts.tsv") + " --vocab-file " + (folder_ / "vocab.txt ") + options);
    }
    std::string validated(const std::string& options = "") const {
        const Outcome outcome = run("validation --no-logs --restore-path " + (folder_ / "run/8bit ") + options);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        return outcome.text;
    }

    test::TemporaryFolder folder_;
};

TEST_F(QuantiseTexts, AClassifierAnswersAlmostAlikeOnEveryBackend) {
    EXPECT_THAT(quantised_on_texts({"even", "odd"}, ""), HasSubstr("100.00 %"));
    for (const char* options : {"", "--precision 16.16 --backend cpu", "--backend ref"})
        EXPECT_THAT(validated(options), HasSubstr("accuracy: 100.000 %")) << options;
    expect_error("validation --no-logs --backend ipu --restore-path " + (folder_ / "run/8bit"), ErrorKind::unsupported,
                 {"quantised_dense"});
    const Outcome exported = run("convert " + (folder_ / "run/8bit ") + (folder_ / "model.onnx") + " --to onnx");
    EXPECT_EQ(exported.exit_code, 0) << exported.text;
}

TEST_F(QuantiseTexts, SeveralLabelsAreJudgedByTheirMeanPrecision) {
    EXPECT_THAT(quantised_on_texts({"even|whole", "odd|whole"}, "--labels several"),
                HasSubstr("map is 100.00 % on 40 validation texts, 100.00 % before"));
    EXPECT_THAT(validated(), HasSubstr("map: 1.0000"));
}

TEST_F(QuantiseTexts, ScoresAreJudgedByTheirCorrelation) {
    EXPECT_THAT(quantised_on_texts({"0.5", "3"}, "--labels score"),
                HasSubstr("pearson is 100.00 % on 40 validation texts"));
}

TEST_F(QuantiseTexts, AnswersToQuestionsAreJudgedByTheirF1) {
    const std::string data = CNNTRAIN_SOURCE_DIR "/tests/data/";
    const std::string questions = data + "squad/squad-v1.1.json";
    EXPECT_THAT(
        quantised("--task question-answering --vocab-file " + data +
                  "bert/vocab.txt --vocab-size 512 --hidden-size 64 --num-attention-heads 2 --num-hidden-layers 1 "
                  "--intermediate-size 64 --max-position-embeddings 32 --seq-length 32 --doc-stride 8 "
                  "--max-query-length 6 --micro-batch-size 4 --epochs 1 --data-dir " +
                  questions + " --validation-file " + questions),
        HasSubstr("In 8 bits, F1 is "));
    EXPECT_THAT(run("inference --restore-path " + (folder_ / "run/8bit --data-dir ") + questions).text,
                AllOf(HasSubstr("8 bits"), HasSubstr("F1: ")));
}

}  // namespace
}  // namespace cnntrain::cli
