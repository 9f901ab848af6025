// Runs of text classification on texts whose class follows from one word.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/average.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/event_files.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/words.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::run {
namespace {

using options::Command;

struct Outcome {
    int exit_code = 0;
    std::string console;
};

bool same(const HostTensor& one, const HostTensor& other) {
    return one.shape() == other.shape() && std::ranges::equal(one.bytes(), other.bytes());
}

/// A folder with a vocabulary, texts and runs.
class TextClassification : public ::testing::Test {
protected:
    TextClassification() {
        folder_.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\nplot\ncast\n");
        folder_.write("train.tsv", texts(/*count=*/40));
        folder_.write("valid.tsv", texts(/*count=*/12));
    }

    /// Half of them "good", half "bad", with other words around.
    static std::string texts(int count) {
        constexpr const char* kWords[] = {"film", "plot", "cast"};
        std::string table = "text\tlabel\n";
        for (int i = 0; i < count; ++i) {
            const std::string before = kWords[i % 3], after = kWords[i / 3 % 3];
            table += before + (i % 2 == 0 ? " good " : " bad ") + after + (i % 2 == 0 ? "\tlike\n" : "\tdislike\n");
        }
        return table;
    }

    std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

    options::ParseResult parsed(Command command, const std::string& line) const {
        std::vector<std::string> words = test::words(line);
        for (std::string& word : words)
            if (word.starts_with("@")) word = path(word.substr(1));
        return tasks::parse_command_line(command, words, {});
    }

    /// "@name" is a file in the folder.
    Outcome run(Command command, const std::string& line, const std::function<bool()>& stop = {}) const {
        std::ostringstream console;
        Host host;
        host.command_line = "cnntrain test";
        host.console = &console;
        host.stop_requested = stop;
        const int code = tasks::run(parsed(command, line), host);
        return {code, console.str()};
    }

    Outcome train(const std::string& more = "") const {
        return run(Command::train, kTask + kSizes + kTexts + "--validation-file @valid.tsv --logs-path @run " + more);
    }

    /// Writes pretrained/ckpt-1.
    void pretrain(const std::string& more) const {
        run(Command::pretrain,
            kSizes +
                "--generated-data --seq-length 16 --max-predictions-per-seq 3 --precision 32 --seed 3 "
                "--threads 1 --micro-batch-size 2 --gradient-accumulation-count 1 --num-train-steps 2 "
                "--optimizer lamb --logs-path @pretrained " +
                more);
    }

    /// The first checkpoint of the run `tuned` has the variables of pretrained/ckpt-1, `name` among them.
    void expect_pretrained_encoder(const std::string& name) const {
        const weights::Checkpoint before = loaded("pretrained/ckpt-1"), after = loaded("tuned/ckpt-0");
        for (const auto& [variable, tensor] : after.tensors) {
            if (variable.starts_with("cls/") || !before.tensors.contains(variable)) continue;
            EXPECT_TRUE(same(tensor, before.tensors.at(variable))) << variable;
        }
        EXPECT_TRUE(before.tensors.contains(name) && after.tensors.contains(name));
    }

    std::string message(ErrorKind kind, Command command, const std::string& line) const {
        return test::message_of(kind, [&] { parsed(command, line); });
    }
    std::string usage_error(Command command, const std::string& line) const {
        return message(ErrorKind::usage, command, line);
    }

    weights::Checkpoint loaded(const std::string& name) const {
        return weights::load(posix_files(), path(name) + ".safetensors");
    }

    weights::Checkpoint latest(const std::string& run) const {
        return weights::load(posix_files(), weights::best_or_latest(posix_files(), "", path(run)).path);
    }

    static inline const std::string kTask = "--task text-classification ";
    static inline const std::string kSizes =
        "--vocab-size 10 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 1 --intermediate-size 64 "
        "--max-position-embeddings 16 ";
    static inline const std::string kTexts =
        "--data-dir @train.tsv --vocab-file @vocab.txt --seq-length 8 --precision 32 --seed 5 --threads 1 "
        "--micro-batch-size 8 --epochs 8 --base-learning-rate 0.003 --hidden-dropout-prob 0.1 ";

    test::TemporaryFolder folder_;
};

TEST_F(TextClassification, LearnsAndIsValidated) {
    const Outcome outcome = train();
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("ckpt-40"));
    EXPECT_THAT(outcome.console, ContainsRegex("\nstep: +40, iteration: +40, epoch: +8\\.00, lr: +[0-9e.-]+, loss: "));
    EXPECT_THAT(weights::class_names(loaded("run/ckpt-40").metadata), ElementsAre("dislike", "like"));
}

TEST_F(TextClassification, EvaluationTakesModelTextsAndClassesFromTheRun) {
    train();
    const Outcome validation = run(Command::validation, "--restore-path @run/ckpt-40 --no-logs");
    EXPECT_THAT(validation.console, HasSubstr("ckpt-40"));
    EXPECT_EQ(tasks::text_settings(parsed(Command::validation, "--restore-path @run").settings).text.sequence_length,
              8);

    folder_.write("one.tsv", "text\tlabel\nbad film\tlike\nbad plot\tlike\ngood cast\tlike\ngood plot\tlike\n");
    const Outcome other = run(Command::validation, "--restore-path @run/ckpt-40 --data-dir @one.tsv --no-logs");
    EXPECT_THAT(other.console, HasSubstr("ckpt-40"));
}

TEST_F(TextClassification, AChangedVocabularyIsRefusedByWhateverReadsTheRun) {
    train("--epochs 1");
    const std::string words = folder_.read("vocab.txt");
    std::string swapped = words;
    swapped.replace(swapped.find("good\nbad"), 8, "bad\ngood");
    folder_.write("vocab.txt", swapped);
    const auto kind = [&](Command command, const std::string& line) {
        return kind_of([&] { run(command, line + " --no-logs"); });
    };
    EXPECT_EQ(kind(Command::validation, "--restore-path @run"), ErrorKind::data);
    EXPECT_EQ(kind(Command::inference, "--restore-path @run"), ErrorKind::data);
    EXPECT_EQ(kind(Command::inference, "--restore-path @run/ckpt-5 --data-dir @train.tsv"), ErrorKind::data);
    const std::string tuning = kTask + "--data-dir @train.tsv --seq-length 8 --threads 1 --epochs 1 --head-only " +
                               "--init-checkpoint @run/ckpt-5";
    EXPECT_EQ(kind(Command::train, tuning), ErrorKind::data);
    folder_.write("moved.txt", words);
    EXPECT_EQ(kind(Command::validation, "--restore-path @run --vocab-file @moved.txt"), std::nullopt);
    EXPECT_EQ(kind(Command::train, tuning + " --vocab-file @vocab.txt"), std::nullopt) << "the user's choice";
}

TEST_F(TextClassification, ARunBeginsAnewInItsOwnFolder) {
    train("--epochs 1");
    EXPECT_EQ(kind_of([&] { train("--epochs 1"); }), ErrorKind::usage);
    EXPECT_EQ(train("--epochs 1 --overwrite").exit_code, 0);
    for (const char* name : {"run/ckpt-0.safetensors", "run/ckpt-5.safetensors", "run/validation.csv"})
        posix_files().remove(path(name));
    folder_.write("run/training.csv", "step,iteration,epoch\r\n1,1,0.2\r\n");
    EXPECT_EQ(train("--epochs 1").exit_code, 0) << "as a killed run leaves it";
}

TEST_F(TextClassification, LabelsThatTheNetworkDoesNotKnowAreRefused) {
    train("--epochs 1");
    folder_.write("other.tsv", "text\tlabel\ngood film\tlike\nbad film\thate\n");
    EXPECT_THAT(test::message_of(
                    ErrorKind::data,
                    [&] { run(Command::validation, "--restore-path @run/ckpt-5 --data-dir @other.tsv --no-logs"); }),
                AllOf(HasSubstr("other.tsv:3"), HasSubstr("hate")));
}

TEST_F(TextClassification, InferenceNamesTheClassesOfTextsWithoutLabels) {
    train();
    folder_.write("new.tsv", "text\ngood film\nplot bad\n");
    const Outcome outcome =
        run(Command::inference, "--restore-path @run/ckpt-40 --data-dir @new.tsv --logs-path @predicted");
    EXPECT_THAT(outcome.console,
                ContainsRegex("\n1 good film: like \\([0-9.]+\\) dislike \\([0-9.]+\\)\n2 plot bad: "));
    EXPECT_THAT(outcome.console, Not(HasSubstr("accuracy:")));
    EXPECT_THAT(read_text(posix_files(), path("predicted/predictions.csv")),
                ContainsRegex("text,label,class_1,probability_1,class_2,probability_2,correct,row\r\n"
                              "good film,,like,[0-9.]+,dislike,[0-9.]+,,1\r\n"));

    const Outcome held_out = run(Command::inference, "--restore-path @run/ckpt-40 --logs-path @judged");
    EXPECT_THAT(held_out.console, HasSubstr("\ntop-1 accuracy: 100 %\n"));
}

TEST_F(TextClassification, InferenceJudgesTheTextsThatHaveLabels) {
    train();
    folder_.write("some.tsv", "label\ttext\nlike\tgood film\ndislike\tgood cast\n?\tbad film\n");
    for (const std::string file : {"out/predictions.csv", "own.csv"}) {
        const std::string own = file == "own.csv" ? "--predictions @own.csv " : "";
        const Outcome outcome =
            run(Command::inference, "--restore-path @run/ckpt-40 --data-dir @some.tsv --logs-path @out " + own);
        EXPECT_THAT(outcome.console, HasSubstr("1 accuracy"));
        EXPECT_THAT(folder_.read(file),
                    ContainsRegex("\r\ngood film,like,like,.*,true,1\r\n"
                                  "good cast,dislike,like,.*,false,2\r\nbad film,,dislike,.*,,3\r\n"));
    }
    run(Command::inference, "--restore-path @run/ckpt-40 --logs-path @judged");
    EXPECT_THAT(folder_.read("judged/predictions.csv"),
                ContainsRegex("row\r\nfilm good film,like,like,.*,true,1\r\nplot bad film,dislike,.*,2\r\n"));
}

/// Expects equal texts, but for numbers that differ by the tolerance at most.
void expect_same_numbers(const std::string& one, const std::string& other, double tolerance) {
    const std::regex number("-?[0-9]+(\\.[0-9]+)?(e-?[0-9]+)?");
    EXPECT_EQ(std::regex_replace(one, number, "#"), std::regex_replace(other, number, "#"));
    auto at = std::sregex_iterator(other.begin(), other.end(), number);
    for (std::sregex_iterator i(one.begin(), one.end(), number); i != std::sregex_iterator(); ++i, ++at) {
        ASSERT_NE(at, std::sregex_iterator());
        EXPECT_NEAR(std::stod(i->str()), std::stod(at->str()), tolerance);
    }
}

TEST_F(TextClassification, TextsThatShareRowsAreAnsweredAsPaddedOnes) {
    folder_.write("mixed.tsv",
                  "text\tlabel\ngood\tlike\nbad film plot cast film good\tdislike\nbad bad\tdislike\n"
                  "cast film good\tlike\nplot\tlike\nfilm bad cast plot good cast film\tlike\ngood good\tlike\n");
    for (const std::string labels : {"single", "several", "score"}) {
        if (labels == "score") folder_.write("mixed.tsv", "text\tlabel\ngood film\t1\nbad\t-0.5\nplot bad\t2\n");
        train("--labels " + labels +
              " --overwrite --micro-batch-size 3 --epochs 2 --seq-length 16 --data-dir @mixed.tsv --no-validation");
        for (const std::string command : {"validation", "inference"}) {
            for (const std::string packed : {"--packed", "--no-packed"}) {
                const bool validates = command == "validation";
                run(validates ? Command::validation : Command::inference,
                    "--restore-path @run --data-dir @mixed.tsv --micro-batch-size 2 --logs-path @" + packed + labels +
                        command + " " + packed);
            }
            const std::regex times(command == "validation" ? "(,[^,\\r]*){4}\\r\\n" : "\\r\\n");
            const auto results = [&](const std::string& packed) {
                const std::string file =
                    packed + labels + command + "/" + (command == "validation" ? "validation.csv" : "predictions.csv");
                return std::regex_replace(folder_.read(file), times, "\n");
            };
            // The correlation of three scores that hardly differ has more of their rounding.
            expect_same_numbers(results("--packed"), results("--no-packed"), labels == "score" ? 1e-4 : 2e-5);
        }
    }
}

TEST_F(TextClassification, EvaluationPacksAndTrainingPadsUnlessAskedOtherwise) {
    train("--epochs 1");
    const auto packs = [&](Command command, const std::string& line, data::Split split) {
        const options::ParseResult arguments = parsed(command, line);
        const auto backend = make_backend(arguments.settings.run.backend);
        const auto samples = tasks::row_of(arguments).make(arguments, *backend, 1)->open(split);
        return samples->rows() < samples->count();
    };
    const std::string training = kTask + kSizes + kTexts + "--seq-length 16 ";
    EXPECT_FALSE(packs(Command::train, training, data::Split::train));
    EXPECT_TRUE(packs(Command::train, training, data::Split::validation));
    EXPECT_TRUE(packs(Command::train, training + "--packed", data::Split::train));
    const std::string evaluation = "--restore-path @run --seq-length 16 ";
    for (const Command command : {Command::validation, Command::inference}) {
        EXPECT_TRUE(packs(command, evaluation, data::Split::validation));
        EXPECT_FALSE(packs(command, evaluation + "--no-packed", data::Split::validation));
    }
    EXPECT_FALSE(packs(Command::inference, evaluation + "--iterations 5", data::Split::validation)) << "measured";
}

TEST_F(TextClassification, AnUpdateOnRowsIsThatOnTheirTexts) {
    folder_.write("mixed.tsv",
                  "text\tlabel\ngood\tlike\nbad film plot cast film good\tdislike\nbad bad\tdislike\n"
                  "cast film good\tlike\nplot\tlike\nfilm bad cast plot good cast film\tlike\ngood good\tlike\n");
    const std::string line =
        kTask + kSizes +
        "--data-dir @mixed.tsv --vocab-file @vocab.txt --seq-length 16 --precision 32 --seed 5 "
        "--threads 1 --iterations 3 --base-learning-rate 0.01 --glue-dropout-prob 0 --no-validation ";
    run(Command::train, line + "--micro-batch-size 7 --logs-path @padded");
    const Outcome packed = run(Command::train, line + "--micro-batch-size 3 --packed --logs-path @packed");
    EXPECT_EQ(packed.exit_code, 0);
    const weights::Checkpoint one = loaded("padded/ckpt-3"), other = loaded("packed/ckpt-3");
    for (const auto& [name, tensor] : one.tensors) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            ASSERT_NEAR(tensor.at(i), other.tensors.at(name).at(i), 1e-5) << name;
    }
}

TEST_F(TextClassification, BalancedWeightsAreThoseOfTheTrainingsClasses) {
    folder_.write("rare.tsv", texts(6) + "bad cast\tdislike\nbad\tdislike\nbad plot\tdislike\nbad film\tdislike\n");
    const std::string line = kTask + kSizes + kTexts + "--data-dir @rare.tsv --no-validation --epochs 3 ";
    const auto trained = [&](const std::string& name, const std::string& weights) {
        EXPECT_EQ(run(Command::train, line + weights + " --logs-path @" + name).exit_code, 0);
        return latest(name).tensors.at("cls/classifier/output_weights");
    };
    const HostTensor plain = trained("plain", "");
    const HostTensor balanced = trained("balanced", "--class-weights balanced");
    EXPECT_FALSE(same(plain, balanced));
    EXPECT_TRUE(same(balanced, trained("numbers", "--class-weights 0.71428571428571430,1.6666666666666667")));
    folder_.write("weights.txt", "like,1.6666666666666667\ndislike,0.71428571428571430\n");
    EXPECT_TRUE(same(balanced, trained("file", "--class-weights @weights.txt")));
    EXPECT_EQ(parsed(Command::train, line + "--class-weights @weights.txt").settings.loss.class_weights,
              path("weights.txt"));
    EXPECT_THAT(usage_error(Command::train, line + "--class-weights balance"), HasSubstr("expected balanced"));
    EXPECT_THAT(usage_error(Command::train, line + "--labels score --class-weights balanced"), HasSubstr("no classes"));
}

/// Its own answers teach a network nothing, in whatever order and rows the texts come.
TEST_F(TextClassification, ANetworkThatAnswersAsItsTeacherStaysAsItIs) {
    train();
    const std::string line = kTask + kTexts +
                             "--hidden-dropout-prob 0 --attention-probs-dropout-prob 0 --glue-dropout-prob 0 "
                             "--no-validation --seq-length 16 --micro-batch-size 4 --epochs 3 --weight-decay 0 "
                             "--init-checkpoint @run/ckpt-40 --teacher @run ";
    const auto farthest = [&](const std::string& more, const std::string& name) {
        const Outcome outcome = run(Command::train, line + more + " --logs-path @" + name);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.console;
        double distance = 0;
        const weights::Checkpoint before = loaded(name + "/ckpt-0");
        const weights::Checkpoint after = latest(name);
        for (const auto& [variable, tensor] : before.tensors) {
            for (std::int64_t i = 0; i < tensor.elements(); ++i)
                distance = std::max(distance, std::abs(tensor.at(i) - after.tensors.at(variable).at(i)));
        }
        return distance;
    };
    const std::string sgd = "--optimizer momentum --momentum 0 --base-learning-rate 0.1 ";
    EXPECT_LT(farthest(sgd + "--distill 1,2", "alike"), 1e-5);
    EXPECT_LT(farthest(sgd + "--distill 1,2 --packed", "rows"), 1e-5);
    EXPECT_GT(farthest(sgd + "--distill 0.5,2", "labels"), 1e-4);
}

TEST_F(TextClassification, ATeacherHasTheSameClassesWordsAndTask) {
    train();
    const std::string line = kTask + kSizes + kTexts + "--no-validation --epochs 1 --no-logs --teacher @run ";
    const auto refusal = [&](ErrorKind kind, const std::string& more) {
        return test::message_of(kind, [&] { run(Command::train, line + more); });
    };
    folder_.write("three.tsv", "text\tlabel\ngood\ta\nbad\tb\nfilm\tc\ngood\ta\nbad\tb\nplot\tc\n");
    EXPECT_THAT(refusal(ErrorKind::data, "--data-dir @three.tsv --micro-batch-size 2"), HasSubstr("3 classes"));
    folder_.write("other.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nbad\ngood\nfilm\nplot\ncast\n");
    EXPECT_THAT(refusal(ErrorKind::usage, "--vocab-file @other.txt"), HasSubstr("other.txt"));
    EXPECT_THAT(refusal(ErrorKind::not_found, "--teacher @nowhere"), HasSubstr("nowhere"));
    EXPECT_THAT(usage_error(Command::train, line + "--labels several"), HasSubstr("--labels single"));
    EXPECT_THAT(usage_error(Command::train, line + "--distill 2,1"), HasSubstr("0 to 1"));
    EXPECT_THAT(usage_error(Command::train, line + "--head-only"), HasSubstr("--head-only"));
}

TEST_F(TextClassification, SpecialTokensInTextsAreKeptWholeAsTransformersDoes) {
    posix_files().make_directories(path("hf"));
    folder_.write("hf/vocab.txt", folder_.read("vocab.txt"));
    folder_.write("marked.tsv", texts(/*count=*/20) + "good [SEP] film\tlike\n");
    const std::string line = kTask + kSizes +
                             "--data-dir @marked.tsv --seq-length 8 --no-validation --epochs 1 "
                             "--micro-batch-size 2 --threads 1 --precision 32 --seed 5 ";
    const auto splits = [&](const std::string& options) {
        return tasks::text_settings(parsed(Command::train, line + options).settings).text.splits_special_tokens;
    };
    EXPECT_TRUE(splits("--vocab-file @vocab.txt"));
    EXPECT_FALSE(splits("--vocab-file @vocab.txt --no-split-special-tokens"));
    for (const char* beside : {"config.json", "tokenizer.json", "tokenizer_config.json"}) {
        EXPECT_TRUE(splits("--vocab-file @hf/vocab.txt"));
        folder_.write(std::string("hf/") + beside, "{}");
        EXPECT_FALSE(splits("--vocab-file @hf/vocab.txt")) << beside;
        EXPECT_TRUE(splits("--vocab-file @hf/vocab.txt --split-special-tokens"));
        posix_files().remove(path(std::string("hf/") + beside));
    }
    folder_.write("hf/tokenizer_config.json", R"({"split_special_tokens": true})");
    EXPECT_TRUE(splits("--vocab-file @hf/vocab.txt"));
    posix_files().remove(path("hf/tokenizer_config.json"));

    run(Command::train, line + "--vocab-file @hf/vocab.txt --no-split-special-tokens --logs-path @whole");
    const auto recorded = [&](const std::string& folder) {
        return tasks::text_settings(parsed(Command::inference, "--restore-path @" + folder).settings).text;
    };
    EXPECT_FALSE(recorded("whole").splits_special_tokens) << "the run's, not that of a bare vocabulary";
    run(Command::train, line + "--vocab-file @hf/vocab.txt --logs-path @divided");
    folder_.write("hf/config.json", "{}");
    EXPECT_TRUE(recorded("divided").splits_special_tokens);
    const std::string arguments = folder_.read("divided/arguments.json");
    folder_.write("divided/arguments.json",
                  std::regex_replace(arguments, std::regex("\"split_special_tokens\"[^\n]*\n"), ""));
    EXPECT_TRUE(recorded("divided").splits_special_tokens) << "of an earlier version";
}

TEST_F(TextClassification, AFileOfTextsIsReadOnce) {
    folder_.write("long.tsv", "text\tlabel\ngood film good film good film good [SEP] film\tlike\nbad film\tdislike\n");
    ::testing::internal::CaptureStderr();
    tasks::dry_run_text(parsed(Command::train, kTask + kSizes + kTexts + "--validation-file @long.tsv --dry-run"));
    const std::string warnings = ::testing::internal::GetCapturedStderr();
    for (const std::string part : {"lost tokens", "--no-split-special-tokens"}) {
        EXPECT_NE(warnings.find(part), std::string::npos) << warnings;
        EXPECT_EQ(warnings.find(part), warnings.rfind(part)) << warnings;
    }
}

TEST_F(TextClassification, HoldsOutAShareThatNoSeedChanges) {
    const std::string line = kTask + kSizes + kTexts;
    EXPECT_THAT(tasks::dry_run_text(parsed(Command::train, line + "--dry-run")), HasSubstr("4 validation"));
    EXPECT_THAT(tasks::dry_run_text(parsed(Command::train, line + "--no-validation --dry-run")),
                HasSubstr("40 training texts"));
    const auto predictions = [&](const std::string& seed) {
        run(Command::train, line +
                                "--base-learning-rate 0 --epochs 1 --init-checkpoint @first/ckpt-0 --logs-path @run" +
                                seed + " --seed " + seed);
        run(Command::inference, "--restore-path @run" + seed + "/ckpt-4 --logs-path @judged" + seed);
        return folder_.read("judged" + seed + "/predictions.csv");
    };
    run(Command::train, line + "--epochs 1 --logs-path @first");
    const std::string one = predictions("1");
    EXPECT_THAT(one, HasSubstr("text,label,"));
    EXPECT_EQ(one, predictions("2"));
}

TEST_F(TextClassification, BeginsWithTheEncoderOfAPretraining) {
    pretrain("--layer-norm-epsilon 1e-6 --use-qkv-split --use-qkv-bias");
    const Outcome outcome =
        run(Command::train, kTask + kTexts + "--init-checkpoint @pretrained/ckpt-1 --logs-path @tuned");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, ContainsRegex("Drawn anew, because [^ ]*/pretrained[^ ]* does not have them: "
                                               "cls/classifier/output_bias, cls/classifier/output_weights\n"));
    EXPECT_THAT(outcome.console, HasSubstr("cls/predictions/"));
    const auto settings = parsed(Command::train, kTask + kTexts + "--init-checkpoint @pretrained/ckpt-1").settings;
    EXPECT_EQ(tasks::text_settings(settings).model.norm_epsilon, 1e-6);
    EXPECT_TRUE(tasks::text_settings(settings).model.qkv_bias);
    expect_pretrained_encoder("bert/pooler/dense/kernel");
}

TEST_F(TextClassification, ACheckpointOfPretrainingHasNoHead) {
    pretrain("");
    const std::string line = kTask +
                             "--restore-path @pretrained/ckpt-1 --data-dir @valid.tsv --vocab-file @vocab.txt "
                             "--seq-length 8 --no-logs";
    for (const Command command : {Command::validation, Command::inference}) {
        EXPECT_THAT(test::message_of(ErrorKind::data, [&] { run(command, line); }),
                    AllOf(HasSubstr("cls/classifier/"), HasSubstr("train first"), HasSubstr("--init-checkpoint")));
    }
}

TEST_F(TextClassification, BeginsWithAGroupBert) {
    pretrain("--groupbert --no-static-mask --groupbert-conv-kernel-size 3 --use-qkv-bias");
    const std::string line = kTask + kTexts + "--init-checkpoint @pretrained/ckpt-1 --logs-path @tuned";
    EXPECT_THAT(parsed(Command::train, line).notices, Contains(HasSubstr("GroupBERT")));
    EXPECT_EQ(run(Command::train, line).exit_code, 0);
    expect_pretrained_encoder("LayerNorm/gamma");
}

TEST_F(TextClassification, AHeadOfOtherClassesBeginsAnew) {
    train();
    folder_.write("three.tsv", "text\tlabel\ngood film\ta\nbad film\tb\nfilm\tc\ngood\ta\nbad\tb\nplot\tc\n");
    const Outcome other = run(Command::train, kTask + kTexts +
                                                  "--data-dir @three.tsv --no-validation --init-checkpoint "
                                                  "@run/ckpt-40 --micro-batch-size 2 --logs-path @three");
    EXPECT_THAT(other.console, HasSubstr("cls/classifier/output_bias, cls/classifier/output_weights\n"));
    EXPECT_EQ(loaded("three/ckpt-0").tensors.at("cls/classifier/output_bias").shape(), Shape({3}));
    const Outcome same =
        run(Command::train, kTask + kTexts + "--epochs 1 --init-checkpoint @run/ckpt-40 --logs-path @same");
    EXPECT_THAT(same.console, Not(HasSubstr("Drawn anew")));
}

TEST_F(TextClassification, AHeadKeepsTheClassesThatItKnows) {
    train();
    folder_.write("more.tsv", "text\tlabel\ngood film\tlike\nbad film\tdislike\nfilm\tdull\ngood\tlike\nplot\tdull\n");
    const Outcome more = run(Command::train, kTask + kTexts +
                                                 "--data-dir @more.tsv --no-validation --init-checkpoint "
                                                 "@run/ckpt-40 --micro-batch-size 2 --logs-path @more");
    EXPECT_EQ(more.exit_code, 0);
    for (const std::string name : {"cls/classifier/output_bias", "cls/classifier/output_weights"}) {
        const HostTensor before = loaded("run/ckpt-40").tensors.at(name);
        const HostTensor after = loaded("more/ckpt-0").tensors.at(name);  // dislike, dull, like
        ASSERT_EQ(after.shape()[0], 3);
        const std::int64_t width = after.elements() / 3;
        for (std::int64_t i = 0; i < width; ++i) {
            EXPECT_EQ(after.at(i), before.at(i)) << name;
            EXPECT_EQ(after.at(2 * width + i), before.at(width + i)) << name;
        }
    }
    EXPECT_THAT(more.console, AllOf(HasSubstr("2 classes"), HasSubstr("dull"), Not(HasSubstr("Drawn anew"))));
}

TEST_F(TextClassification, AHeadMayHaveAsManyClassesAsItIsWide) {
    train();
    std::string texts = "text\tlabel\ngood film\tlike\nbad film\tdislike\n";
    for (int i = 100; i < 162; ++i)
        texts += "film\ta" + std::to_string(i) + "\n";
    folder_.write("many.tsv", texts);
    run(Command::train, kTask + kTexts +
                            "--data-dir @many.tsv --validation-file @train.tsv --no-validation --init-checkpoint "
                            "@run/ckpt-40 --micro-batch-size 2 "
                            "--epochs 1 --logs-path @many");
    const HostTensor before = loaded("run/ckpt-40").tensors.at("cls/classifier/output_weights");
    const HostTensor after = loaded("many/ckpt-0").tensors.at("cls/classifier/output_weights");
    ASSERT_EQ(after.shape(), (Shape{64, 64}));
    for (std::int64_t i = 0; i < 2 * 64; ++i)
        EXPECT_EQ(after.at(62 * 64 + i), before.at(i));
}

TEST_F(TextClassification, ARunGoesOnWithItsVocabularyInAnotherPlace) {
    train("--epochs 1");
    posix_files().make_directories(path("moved"));
    std::filesystem::rename(path("vocab.txt"), path("moved/vocab.txt"));
    Host host;
    std::ostringstream console;
    host.console = &console;
    const options::ParseResult line =
        parsed(Command::restore, "--restore-path @run --epochs 2 --vocab-file @moved/vocab.txt");
    EXPECT_EQ(tasks::run_restored(line, host), 0);

    weights::average(posix_files(), {path("run/ckpt-5.safetensors"), path("run/ckpt-10.safetensors")}, {},
                     path("mean.safetensors"));
    EXPECT_TRUE(is_vocabulary_of(posix_files(), path("mean.safetensors"), path("moved/vocab.txt")));
    folder_.write("moved/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    EXPECT_EQ(kind_of([&] { is_vocabulary_of(posix_files(), path("mean.safetensors"), path("moved/vocab.txt")); }),
              ErrorKind::data);
}

TEST_F(TextClassification, SizesComeFromAConfigOfTransformers) {
    posix_files().make_directories(path("hf"));
    folder_.write("hf/model.safetensors", "");
    folder_.write("hf/vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    folder_.write("hf/config.json",
                  R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 128, "num_hidden_layers": 3,
                      "num_attention_heads": 2, "intermediate_size": 100, "max_position_embeddings": 20,
                      "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu_new"})");
    const std::string line = kTask + "--data-dir @train.tsv --seq-length 20 --init-checkpoint @hf/model.safetensors ";
    const options::Settings settings = parsed(Command::train, line).settings;
    const nn::BertSettings& model = tasks::text_settings(settings).model;
    EXPECT_EQ(model.hidden, 128);
    EXPECT_EQ(model.layers, 3);
    EXPECT_EQ(model.head_activation, graph::Activation::gelu_tanh);
    EXPECT_TRUE(model.qkv_split && model.qkv_bias);
    EXPECT_EQ(tasks::text_settings(settings).text.vocabulary_file, path("hf/vocab.txt"));
    EXPECT_EQ(tasks::text_settings(parsed(Command::train, line + "--num-hidden-layers 2").settings).model.layers, 2);

    folder_.write("hf/config.json", R"({"vocab_size": "many"})");
    EXPECT_THAT(message(ErrorKind::data, Command::train, line), HasSubstr("vocab_size"));
    folder_.write("hf/config.json", R"({"hidden_act": "relu"})");
    EXPECT_THAT(message(ErrorKind::unsupported, Command::train, line), HasSubstr("relu"));
}

TEST_F(TextClassification, AnEncoderOfTransformersWithNarrowHeadsAndNoPooler) {
    posix_files().make_directories(path("hf"));
    folder_.write("hf/config.json",
                  R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": 10, "hidden_size": 24,
                      "num_hidden_layers": 1, "num_attention_heads": 3, "intermediate_size": 20,
                      "max_position_embeddings": 9, "layer_norm_eps": 1e-12, "hidden_act": "gelu"})");
    folder_.write("hf/tokenizer.json",
                  R"({"normalizer": {"type": "BertNormalizer", "lowercase": true},
                      "pre_tokenizer": {"type": "BertPreTokenizer"},
                      "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                                "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "good": 5,
                                          "bad": 6, "film": 7, "plot": 8, "cast": 9}}})");
    const std::string line = kTask +
                             "--data-dir @train.tsv --validation-file @valid.tsv --seq-length 8 --precision 32 "
                             "--seed 5 --threads 1 --micro-batch-size 8 --epochs 8 --base-learning-rate 0.003 "
                             "--init-checkpoint @hf/model.safetensors ";
    // A run without the file's weights makes them; its pooler and its classifier are left out of the file.
    run(Command::train,
        kTask + kTexts +
            "--vocab-size 10 --hidden-size 24 --num-attention-heads 3 --num-hidden-layers 1 "
            "--intermediate-size 20 --max-position-embeddings 9 --use-qkv-split --use-qkv-bias --no-validation "
            "--layer-norm-epsilon 1e-12 --logs-path @drawn");
    weights::Checkpoint encoder = loaded("drawn/ckpt-0");
    std::erase_if(encoder.tensors, [](const auto& tensor) {
        return tensor.first.starts_with("cls/") || tensor.first.starts_with("bert/pooler/") ||
               tensor.first.ends_with("_m") || tensor.first.ends_with("_v");
    });
    encoder.metadata.clear();
    weights::save(posix_files(), path("hf/model.safetensors"), encoder);
    const tasks::TextSettings settings = tasks::text_settings(parsed(Command::train, line).settings);
    EXPECT_EQ(settings.model.heads, 3);
    EXPECT_EQ(settings.text.vocabulary_file, path("hf/tokenizer.json"));
    const auto lower_case = [&](const std::string& option) {
        return tasks::text_settings(parsed(Command::train, line + option).settings).text.lower_case;
    };
    EXPECT_FALSE(lower_case("--no-do-lower-case"));
    folder_.write("hf/tokenizer.json",
                  std::regex_replace(folder_.read("hf/tokenizer.json"), std::regex("true"), "false"));
    EXPECT_FALSE(lower_case("")) << "a cased vocabulary";
    EXPECT_TRUE(lower_case("--do-lower-case"));
    const Outcome outcome = run(Command::train, line + "--logs-path @tuned");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                HasSubstr("does not have them: bert/pooler/dense/bias, bert/pooler/dense/kernel, cls/"));
    const std::string word = "bert/embeddings/word_embeddings";
    EXPECT_TRUE(same(loaded("tuned/ckpt-0").tensors.at(word), encoder.tensors.at(word)));
    encoder.tensors.insert(*loaded("drawn/ckpt-0").tensors.find("bert/pooler/dense/kernel"));
    weights::save(posix_files(), path("hf/model.safetensors"), encoder);
    EXPECT_THAT(test::message_of(ErrorKind::data, [&] { run(Command::train, line + "--logs-path @half"); }),
                HasSubstr("bert/pooler/dense/bias"))
        << "half a pooler";
}

TEST_F(TextClassification, AnEncoderOfTransformersWithOneTypeOfTokens) {
    posix_files().make_directories(path("hf"));
    run(Command::train, kTask + kTexts + kSizes +
                            "--type-vocab-size 1 --use-qkv-split --use-qkv-bias --no-validation --epochs 1 "
                            "--logs-path @drawn");
    weights::Checkpoint encoder = loaded("drawn/ckpt-0");
    std::erase_if(encoder.tensors, [](const auto& tensor) {
        return tensor.first.starts_with("cls/") || tensor.first.ends_with("_m") || tensor.first.ends_with("_v");
    });
    encoder.metadata.clear();
    weights::save(posix_files(), path("hf/model.safetensors"), encoder);
    folder_.write("hf/vocab.txt", folder_.read("vocab.txt"));
    folder_.write("hf/config.json",
                  R"({"model_type": "bert", "vocab_size": 10, "hidden_size": 64, "num_hidden_layers": 1,
                      "num_attention_heads": 1, "intermediate_size": 64, "max_position_embeddings": 16,
                      "type_vocab_size": 1, "layer_norm_eps": 1e-12, "hidden_act": "gelu"})");
    const std::string line = kTask +
                             "--data-dir @train.tsv --validation-file @valid.tsv --seq-length 8 --precision 32 "
                             "--seed 5 --threads 1 --micro-batch-size 8 --epochs 8 --base-learning-rate 0.003 "
                             "--init-checkpoint @hf/model.safetensors --logs-path @tuned";
    EXPECT_EQ(tasks::text_settings(parsed(Command::train, line).settings).model.segment_types, 1);
    EXPECT_EQ(run(Command::train, line).exit_code, 0);
    const std::string types = "bert/embeddings/token_type_embeddings";
    EXPECT_EQ(loaded("tuned/ckpt-0").tensors.at(types).shape(), Shape({1, 64}));
    EXPECT_TRUE(same(loaded("tuned/ckpt-0").tensors.at(types), encoder.tensors.at(types)));
    EXPECT_THAT(run(Command::validation, "--restore-path @tuned/ckpt-40 --no-logs").console,
                HasSubstr("accuracy: 100.000 %"))
        << "the texts can be learnt";
}

TEST_F(TextClassification, SaysWhatIsNotGiven) {
    EXPECT_THAT(usage_error(Command::train, kTask + kTexts), HasSubstr("model"));
    EXPECT_THAT(usage_error(Command::train, kTask + kSizes),
                AllOf(HasSubstr("give --data-dir"), HasSubstr("--vocab-file")));
    EXPECT_THAT(usage_error(Command::train, kTask + kSizes + kTexts + "--seq-length 17"), HasSubstr("--seq-length 17"));
}

TEST_F(TextClassification, CurvesOfAGlueTaskHaveTheNamesOfTheOriginalProgram) {
    const std::string glue = kTask + kSizes + "--task-name mrpc --data-dir " + CNNTRAIN_SOURCE_DIR +
                             "/tests/data/glue --vocab-file @vocab.txt --seq-length 8 --precision 32 --seed 5 "
                             "--threads 1 --micro-batch-size 1 --epochs 4 --steps-per-logs 1 ";
    const std::string console = run(Command::train, glue + "--phases --do-training --logs-path @run").console;
    const auto curve = [&](const std::string& tag) { return test::curve(posix_files(), path("run/event"), tag); };
    for (const char* tag : {"epoch", "loss", "learning_rate", "througput"})
        EXPECT_THAT(curve(tag), AllOf(SizeIs(8), Each(Gt(0)))) << tag;
    EXPECT_THAT(curve("acc"), AllOf(SizeIs(8), Each(AnyOf(0, 1))));  // shares of one text
    EXPECT_THAT(console, ContainsRegex("\nstep: +8, iteration: +8 \\(0\\.875%\\),  epoch: +4\\.00, lr: +[0-9e.-]+, "
                                       "loss: +[0-9.]+, accuracy: +[01]\\.000 %, throughput: +"));
}

TEST_F(TextClassification, AFolderIsNoFileOfTexts) {
    const auto line = parsed(Command::train, kTask + kSizes + "--vocab-file @vocab.txt --seq-length 8 --data-dir @");
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { tasks::dry_run_text(line); }), HasSubstr("TSV"));
}

TEST_F(TextClassification, AStoppedRunGoesOnToTheSameWeights) {
    const std::string line = kTask + kSizes + kTexts + "--validation-file @valid.tsv ";
    run(Command::train, line + "--logs-path @whole");
    int asked = 0;
    const Outcome stopped = run(Command::train, line + "--logs-path @parts", [&] { return ++asked > 20; });
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_FALSE(exists(posix_files(), path("parts/ckpt-40.safetensors")));
    std::ostringstream console;
    Host host;
    host.console = &console;
    tasks::run_restored(
        tasks::parse_command_line(Command::restore, {"--restore-path", path("parts")}, options::Environment{}), host);
    const weights::Checkpoint parts = loaded("parts/ckpt-40"), whole = loaded("whole/ckpt-40");
    ASSERT_EQ(parts.tensors.size(), whole.tensors.size());
    for (const auto& [name, tensor] : whole.tensors)
        EXPECT_TRUE(same(tensor, parts.tensors.at(name))) << name;
    EXPECT_THAT(console.str(), HasSubstr("ckpt-40"));
}

}  // namespace
}  // namespace cnntrain::run
