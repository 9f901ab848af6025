// Small pretraining runs in memory, on generated sequences.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <thread>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/tasks/tasks.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/bf16_products.h"
#include "support/errors.h"
#include "support/event_files.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "support/thread_communicators.h"
#include "support/words.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::run {
namespace {

const std::string kModel =
    "--vocab-size 50 --hidden-size 64 --num-attention-heads 1 --num-hidden-layers 2 --intermediate-size 64 "
    "--max-position-embeddings 16 --use-qkv-split --no-use-cls-layer ";
const std::string kSequences =
    "--seq-length 16 --max-predictions-per-seq 3 --static-mask --generated-data --precision 32 --seed 5 --threads 1 ";
const std::string kRun =
    kModel + kSequences +
    "--micro-batch-size 2 --gradient-accumulation-count 2 --num-train-steps 4 --optimizer lamb --epsilon 1e-6 "
    "--base-learning-rate 0.01 --warmup 0 --hidden-dropout-prob 0.1 --attention-probs-dropout-prob 0.1 "
    "--logs-path run ";
const std::string kEvaluation = kModel + kSequences + "--micro-batch-size 100 --evaluate --logs-path results ";

options::ParseResult parse(const std::string& line, const options::Environment& environment = {}) {
    return tasks::parse_command_line(options::Command::pretrain, test::words(line), environment);
}

struct Outcome {
    int exit_code = 0;
    std::string console;
};

Outcome run(FileSystem& files, const std::string& line, const std::function<bool()>& stop = {}) {
    std::ostringstream console;
    Host host;
    host.command_line = "cnntrain test";
    host.files = &files;
    host.console = &console;
    host.stop_requested = stop;
    const int code = tasks::run(parse(line), host);
    return {code, console.str()};
}

Outcome pretrain(FileSystem& files, const std::string& options = "", const std::function<bool()>& stop = {}) {
    return run(files, kRun + options, stop);
}

std::vector<std::string> checkpoints(const FileSystem& files, const std::string& folder = "run") {
    std::vector<std::string> names;
    for (const auto& found : weights::find_checkpoints(files, folder))
        names.push_back(found.name);
    return names;
}

weights::Checkpoint loaded(const FileSystem& files, const std::string& path) {
    return weights::load(files, path + ".safetensors");
}

/// The losses in training.csv, one text per row.
std::vector<std::string> losses(const FileSystem& files) {
    std::istringstream table(read_text(files, "run/training.csv"));
    std::vector<std::string> rows;
    for (std::string row; std::getline(table, row);) {
        std::istringstream line(row);
        std::string field;
        std::string kept;
        for (int column = 0; std::getline(line, field, ','); ++column) {
            if (column >= 1 && column <= 11) kept += field + " ";
        }
        rows.push_back(kept);
    }
    return rows;
}

TEST(Pretrain, WritesTheDocumentedLinesAndFiles) {
    MemoryFiles files;
    const Outcome outcome = pretrain(files, "--steps-per-ckpts 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                ContainsRegex("\n20[-0-9]+ [:0-9]+\\.000[0-9]+: I step:      3, epoch: +[0-9.]+, lr: 0\\.0000001, "
                              "mlm_loss: +[0-9.]+, nsp_loss: +[0-9.]+,        mlm_acc: [0-9.]+ %, nsp_acc: [0-9.]+ %, "
                              "throughput: +[0-9.]+ samples/sec, time: [0-9.]+, total_time: +[0-9.]+\n"));
    EXPECT_THAT(outcome.console, HasSubstr("Total Parameters:"));
    EXPECT_THAT(outcome.console, HasSubstr(": I Saved checkpoint to run/ckpt-3 in "));
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-2", "ckpt-3"));
    EXPECT_EQ(loaded(files, "run/ckpt-3").iteration, 4);
    EXPECT_EQ(losses(files).size(), 5U);  // header and four steps
    const std::string arguments = read_text(files, "run/arguments.json");
    EXPECT_THAT(arguments, HasSubstr("\"optimizer\": \"lamb\""));
    EXPECT_THAT(arguments, HasSubstr("\"global_batch_size\": 4"));
    EXPECT_THAT(arguments, HasSubstr("\"compute_acc\": true"));
}

/// The log and the tables count steps from 0, and so do curves (see rows_test and tensorboard_test).
TEST(Pretrain, StepsAndEpochsAreTheSameInLogAndTable) {
    MemoryFiles files;
    const Outcome outcome = pretrain(files, "--device-iterations 2");
    std::istringstream table(read_text(files, "run/training.csv"));
    std::string row;
    std::getline(table, row);
    for (const int step : {0, 2}) {
        std::getline(table, row);
        const std::size_t line = outcome.console.find(formatted("step: %6d, epoch: ", step));
        ASSERT_NE(line, std::string::npos) << step;
        const std::string epoch = outcome.console.substr(line + 21, 6);
        EXPECT_THAT(row, StartsWith(formatted("%d,%d,", step, step + 2)));
        EXPECT_EQ(formatted("%6.2f", std::stod(row.substr(4))), epoch);
    }
}

TEST(Pretrain, TheFirstLossIsThatOfAGuess) {
    MemoryFiles files;
    pretrain(files, "--num-train-steps 1 --steps-per-ckpts 0");
    std::istringstream row(losses(files).at(1));
    double iteration = 0, epoch = 0, rate = 0, masked = 0;
    row >> iteration >> epoch >> rate >> masked;
    EXPECT_NEAR(masked, std::log(50.0), 0.2);
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0"));
    EXPECT_EQ(loaded(files, "run/ckpt-0").iteration, 1);  // the last step's number is 0, too
}

TEST(Pretrain, RunFoldersAreNamedByTaskOptimiserAndTime) {
    MemoryFiles files;
    std::string line = kRun + "--num-train-steps 1 --save-path saved";
    line.erase(line.find("--logs-path run "), 16);
    run(files, line);
    ASSERT_EQ(files.list("saved").size(), 1U);
    EXPECT_THAT(files.list("saved").front(), ContainsRegex("^pretraining_lamb_[0-9]+_[0-9]+\\.[0-9][0-9][0-9]$"));
}

TEST(Pretrain, FoldersOfEvaluationsNameNoOptimiser) {
    MemoryFiles files;
    pretrain(files, "--num-train-steps 1");
    std::string line = kEvaluation + "--init-checkpoint run/ckpt-0 --save-path saved";
    line.erase(line.find("--logs-path results "), 20);
    run(files, line);
    ASSERT_EQ(files.list("saved").size(), 1U);
    EXPECT_THAT(files.list("saved").front(), ContainsRegex("^pretraining_evaluation_[0-9]+_[0-9]+\\.[0-9][0-9][0-9]$"));
}

TEST(Pretrain, WithoutAccuraciesTheyAreNan) {
    MemoryFiles files;
    const Outcome outcome = pretrain(files, "--disable-acc --num-train-steps 1");
    EXPECT_THAT(outcome.console, ContainsRegex("mlm_acc: +nan %, nsp_acc: +nan %"));
}

TEST(Pretrain, AllLayoutsAndBothKindsOfWeightsTrain) {
    for (const char* options :
         {"--no-static-mask", "--no-static-mask --packed", "--no-use-qkv-split", "--use-cls-layer --use-qkv-bias",
          "--optimizer adamw --use-debiasing", "--optimizer sgd", "--use-nvlamb --use-mpclip", "--precision 16",
          "--precision 16.16", "--enable-recomputation"}) {
        MemoryFiles files;
        EXPECT_EQ(pretrain(files, std::string("--num-train-steps 2 ") + options).exit_code, 0) << options;
    }
}

std::map<std::string, HostTensor> tensors_after(const std::string& options, const std::string& more) {
    MemoryFiles files;
    pretrain(files, options + more);
    return loaded(files, "run/ckpt-3").tensors;
}

void expect_same_bits(const std::map<std::string, HostTensor>& tensors, const std::map<std::string, HostTensor>& others,
                      const std::string& what) {
    ASSERT_EQ(tensors.size(), others.size()) << what;
    for (const auto& [name, tensor] : tensors)
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), others.at(name).bytes())) << name << " with " << what;
}

/// A loss scaling that is a power of two, multiplied in and divided out again, leaves every bit.
TEST(Pretrain, LossScalingsChangeNoBit) {
    for (const char* options :
         {"--precision 32 --optimizer lamb --use-mpclip ", "--precision 16 --compute-type bf16 --optimizer sgd ",
          "--precision 16.16 --compute-type bf16 --optimizer adamw --use-debiasing "}) {
        if (std::string_view(options).find("bf16") != std::string_view::npos && !test::has_bf16_products()) continue;
        const auto plain = tensors_after(options, "");
        expect_same_bits(plain, tensors_after(options, R"(--loss-scaling-by-step {"0":1,"1":512,"3":32768})"), options);
        expect_same_bits(plain, tensors_after(options, "--loss-scaling 32768"), options);
    }
}

std::vector<float> curve(const FileSystem& files, const std::string& tag) {
    return test::curve(files, "run/event", tag);
}

TEST(Pretrain, TheLossScalingOfEachStepIsTold) {
    MemoryFiles files;
    const Outcome outcome = pretrain(files, R"(--loss-scaling-by-step {"0":1,"1":512,"3":32768})");
    EXPECT_THAT(outcome.console, HasSubstr("32768"));
    EXPECT_THAT(curve(files, "loss_scaling"), ElementsAre(1, 512, 512, 32768));
    EXPECT_THAT(read_text(files, "run/training.csv"),
                AllOf(HasSubstr(",total_time,loss_scaling\r\n"), HasSubstr(",32768\r\n")));
    MemoryFiles pairs;
    pretrain(pairs, R"(--device-iterations 2 --loss-scaling-by-step {"0":1,"1":512,"3":32768})");
    EXPECT_THAT(curve(pairs, "loss_scaling"), ElementsAre(1, 512));  // of the first step of each host call
    MemoryFiles fixed;
    EXPECT_THAT(pretrain(fixed, "--loss-scaling 256").console, HasSubstr("256"));
    EXPECT_THAT(curve(fixed, "loss_scaling"), ElementsAre(256, 256, 256, 256));
}

/// Powers of two leave every bit, in slots, too; other factors are divided out up to rounding.
TEST(Pretrain, TheLossScalingOfEachStepIsDividedOutAgain) {
    for (const std::string optimiser :
         {"--optimizer lamb --use-nvlamb ", "--optimizer adamw ", "--optimizer momentum "}) {
        SCOPED_TRACE(optimiser);
        const auto trained = [&](const std::string& options) {
            MemoryFiles files;
            pretrain(files, optimiser + options);
            return loaded(files, "run/ckpt-3").tensors;
        };
        const auto unscaled = trained("");
        const auto by_two = trained(R"(--loss-scaling-by-step {"0":1,"1":512,"3":32768})");
        const auto by_three = trained(R"(--loss-scaling-by-step {"0":3,"2":1000.5})");
        for (const auto& [name, tensor] : unscaled) {
            EXPECT_TRUE(std::ranges::equal(tensor.bytes(), by_two.at(name).bytes())) << name;
            for (std::int64_t i = 0; i < tensor.elements(); ++i)
                ASSERT_NEAR(by_three.at(name).at(i), tensor.at(i), 1e-4 + 1e-3 * std::abs(tensor.at(i))) << name;
        }
    }
}

TEST(Pretrain, CurvesHaveEveryStepHoweverFewAreLogged) {
    MemoryFiles files;
    pretrain(files, "--steps-per-logs 3");
    EXPECT_EQ(losses(files).size(), 3U);  // header, steps 0 and 3
    EXPECT_EQ(curve(files, "loss/MLM").size(), 4U);
    EXPECT_EQ(curve(files, "accuracy/NSP").size(), 4U);
    EXPECT_EQ(curve(files, "samples_per_sec").size(), 4U);
    EXPECT_THAT(curve(files, "samples"), ElementsAre(0, 4, 8, 12));
    EXPECT_EQ(curve(files, "poplar/compile_time").size(), 1U);
    MemoryFiles pairs;
    pretrain(pairs, "--device-iterations 2");
    EXPECT_THAT(curve(pairs, "samples"), ElementsAre(0, 8));
    MemoryFiles compiled;
    pretrain(compiled, "--compile-only");
    EXPECT_EQ(curve(compiled, "poplar/compile_time").size(), 1U);
    EXPECT_TRUE(curve(compiled, "loss/MLM").empty());
}

/// Expects histograms of steps 0 and 2; the checkpoint of step 2 is there because of them.
void expect_histograms(const FileSystem& files) {
    const auto saved = loaded(files, "run/ckpt-2").tensors;
    EXPECT_GT(saved.size(), 100U);
    for (const auto& [name, tensor] : saved) {
        const std::vector<float> norms = curve(files, "L2/" + name);
        ASSERT_EQ(norms.size(), 2U) << name;
        double squares = 0;
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            squares += tensor.at(i) * tensor.at(i);
        EXPECT_EQ(norms[1], static_cast<float>(std::sqrt(squares))) << name;
    }
}

TEST(Pretrain, HistogramsOfAllVariablesComeWithCheckpoints) {
    const std::string every_second = "--steps-per-tensorboard 2 --steps-per-ckpts 0 ";
    MemoryFiles files;
    pretrain(files, every_second);
    EXPECT_FALSE(exists(files, "run/ckpt-1.safetensors"));
    expect_histograms(files);
    for (const char* none : {"", "--steps-per-tensorboard -1"}) {
        MemoryFiles plain;
        pretrain(plain, none);
        EXPECT_TRUE(curve(plain, "L2/bert/embeddings/word_embeddings").empty());
    }
}

TEST(Pretrain, StagesAndRecomputationChangeNothing) {
    for (const std::string layout : {"", "--no-static-mask --packed "}) {
        const std::string stages = layout +
                                   "--gradient-accumulation-count 8 --pipeline-schedule Grouped "
                                   "--micro-batch-size 1 --num-train-steps 2 ";
        MemoryFiles whole;
        pretrain(whole, stages);
        MemoryFiles recomputed;
        pretrain(recomputed, stages + "--enable-recomputation");
        MemoryFiles split;
        pretrain(split,
                 stages + R"(--enable-recomputation --pipeline-stages [["emb","pos"],["hid"],["hid"],["mlm","nsp"]])");
        EXPECT_EQ(losses(whole), losses(recomputed)) << layout;
        EXPECT_EQ(losses(whole), losses(split)) << layout;
    }
}

TEST(Pretrain, AStoppedRunGoesOnExactly) {
    MemoryFiles whole;
    pretrain(whole);
    MemoryFiles stopped;
    int asked = 0;
    EXPECT_EQ(pretrain(stopped, "", [&] { return ++asked > 5; }).exit_code, kInterruptedExitCode);
    ASSERT_FALSE(exists(stopped, "run/ckpt-3.safetensors"));
    std::string again = kRun + "--restore-dir run";
    again.erase(again.find("--logs-path run "), 16);
    std::ostringstream console;
    Host host;
    host.files = &stopped;
    host.console = &console;
    EXPECT_EQ(tasks::run(parse(again), host), 0);
    const auto before = loaded(whole, "run/ckpt-3");
    const auto after = loaded(stopped, "run/ckpt-3");
    for (const auto& [name, tensor] : before.tensors) {
        const auto own = tensor.bytes();
        const auto other = after.tensors.at(name).bytes();
        EXPECT_TRUE(std::ranges::equal(own, other)) << name;
    }
}

/// Full disks and kills leave runs without a checkpoint.
TEST(Pretrain, ARunBeginsAnewInItsOwnFolder) {
    MemoryFiles files;
    pretrain(files);
    EXPECT_EQ(kind_of([&] { pretrain(files); }), ErrorKind::usage);
    EXPECT_EQ(pretrain(files, "--overwrite").exit_code, 0);
    const auto lose_the_end = [&] {
        for (const char* name : {"run/ckpt-0.safetensors", "run/ckpt-3.safetensors"})
            files.remove(name);
        const std::string rows = read_text(files, "run/training.csv");
        write_text(files, "run/training.csv", rows.substr(0, rows.find("\n2,") + 1));
    };
    lose_the_end();
    EXPECT_EQ(pretrain(files).exit_code, 0) << "the same line";
    lose_the_end();
    EXPECT_EQ(kind_of([&] { pretrain(files, "--num-train-steps 5"); }), ErrorKind::usage) << "another line";
    EXPECT_EQ(pretrain(files, "--num-train-steps 5 --overwrite").exit_code, 0);
}

TEST(Pretrain, AnEarlyStopLeavesTheInitialWeights) {
    MemoryFiles files;
    const auto after_one_update = [&] {
        return exists(files, "run/training.csv") &&
               read_text(files, "run/training.csv").find("\n0,") != std::string::npos;
    };
    EXPECT_EQ(pretrain(files, "", after_one_update).exit_code, kInterruptedExitCode);
    EXPECT_EQ(loaded(files, "run/ckpt-0").iteration, 0);
    std::string again = kRun + "--restore-dir run";
    again.erase(again.find("--logs-path run "), 16);
    int asked = 0;
    EXPECT_EQ(run(files, again, [&] { return ++asked > 0; }).exit_code, kInterruptedExitCode);
    EXPECT_EQ(run(files, again).exit_code, 0);
    EXPECT_EQ(loaded(files, "run/ckpt-0").iteration, 0);
    EXPECT_EQ(loaded(files, "run/ckpt-1").iteration, 1);
    EXPECT_EQ(loaded(files, "run/ckpt-3").iteration, 4);
}

TEST(Pretrain, ARecordWithoutItsBatchIsDamaged) {
    MemoryFiles files;
    pretrain(files);
    const std::string record = read_text(files, "run/arguments.json");
    const std::string key = "\"gradient_accumulation_count\": 2";
    ASSERT_THAT(record, HasSubstr(key));
    for (const char* other : {"\"gradient_accumulation_count\": null", "\"mine\": 2"}) {
        std::string damaged = record;
        write_text(files, "run/arguments.json", damaged.replace(record.find(key), key.size(), other));
        const options::ParseResult line =
            tasks::parse_command_line(options::Command::restore, {"--restore-path", "run"}, {});
        EXPECT_EQ(kind_of([&] { tasks::restored_arguments(line, files); }), ErrorKind::data) << other;
    }
}

/// Returns the advice of a stopped run on how to continue it.
std::string hint_of(const Outcome& stopped) {
    const std::string before = "; continue with ";
    const std::size_t at = stopped.console.find(before) + before.size();
    return stopped.console.substr(at, stopped.console.find('\n', at) - at);
}

TEST(Pretrain, AStoppedRunWithoutLogsGoesOnAsItSays) {
    MemoryFiles files;
    pretrain(files);
    std::string line = kRun + "--no-logs --init-checkpoint run/ckpt-3";
    line.erase(line.find("--logs-path run "), 16);
    int asked = 0;
    const Outcome stopped = run(files, line, [&] { return ++asked > 5; });
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    const std::string hint = hint_of(stopped);
    const std::string same = "the same options and ";
    ASSERT_THAT(hint, StartsWith(same + "--restore-dir /tmp/pretraining_lamb_"));
    ::testing::internal::CaptureStderr();
    const Outcome second = run(files, line + " " + hint.substr(same.size()));
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("was written with other options")));
    EXPECT_EQ(second.exit_code, 0);
    EXPECT_THAT(second.console, HasSubstr(": I Restoring training from latest checkpoint: /tmp/pretraining_lamb_"));
    EXPECT_THAT(second.console, HasSubstr(" step:      3, "));
    EXPECT_THAT(second.console, Not(HasSubstr(" step:      0, ")));
}

TEST(Pretrain, ASecondPhaseTakesOverWeightsAndMoments) {
    MemoryFiles files;
    pretrain(files);
    std::string second = kRun + "--init-checkpoint run/ckpt-3 --num-train-steps 1 --logs-path second --seed 9";
    std::ostringstream console;
    Host host;
    host.files = &files;
    host.console = &console;
    EXPECT_EQ(tasks::run(parse(second + " --device-iterations 2"), host), 0);  // no step: the start alone is saved
    const auto first = loaded(files, "run/ckpt-3");
    const auto start = loaded(files, "second/ckpt-0");
    EXPECT_EQ(start.iteration, 0);
    for (const auto& [name, tensor] : first.tensors)
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), start.tensors.at(name).bytes())) << name;
    EXPECT_TRUE(start.tensors.contains("bert/pooler/dense/kernel/lamb_m"));
}

TEST(Pretrain, ACheckpointOfAnotherSizeIsRefused) {
    MemoryFiles files;
    pretrain(files, "--num-train-steps 1");
    EXPECT_THAT(message_of(ErrorKind::data,
                           [&] { pretrain(files, "--init-checkpoint run/ckpt-0 --logs-path other --vocab-size 60"); }),
                HasSubstr("bert/embeddings/word_embeddings"));
}

TEST(Pretrain, MistakesNameItsOwnOptionsAndLeaveNoFolder) {
    MemoryFiles files;
    const auto message = [&](const std::string& options) -> std::string {
        return refusal_of(ErrorKind::not_found, [&] { pretrain(files, options); });
    };
    EXPECT_THAT(message("--init-checkpoint /nowhere/ckpt-3"), HasSubstr("'/nowhere/ckpt-3'"));
    EXPECT_FALSE(exists(files, "run"));
    EXPECT_THAT(message("--restore-dir /nowhere"), HasSubstr("--restore-dir /nowhere"));
    files.make_directories("/empty");
    EXPECT_THAT(message("--restore-dir /empty"), HasSubstr("--restore-dir /empty"));
}

TEST(Pretrain, ACheckpointOfTheOnlyRunInAFolderIsFound) {
    MemoryFiles files;
    pretrain(files, "--logs-path phase1/run --num-train-steps 1");
    pretrain(files, "--init-checkpoint phase1/ckpt-0 --logs-path second --num-train-steps 1");
    EXPECT_TRUE(exists(files, "second/ckpt-0.safetensors"));
}

TEST(Pretrain, EvaluatesCheckpointsOnHeldOutSequences) {
    MemoryFiles files;
    pretrain(files);
    const std::string before = read_text(files, "run/training.csv");
    const Outcome one = run(files, kEvaluation + "--init-checkpoint run/ckpt-3");
    EXPECT_EQ(one.exit_code, 0);
    EXPECT_THAT(one.console, ContainsRegex("Validation mlm_loss: +[0-9.]+, nsp_loss: +[0-9.]+, mlm_acc: [0-9.]+, "
                                           "nsp_acc: [0-9.]+ \\[ckpt-3\\]"));
    EXPECT_THAT(one.console, Not(HasSubstr("\nTraining\n")));
    const std::string table = read_text(files, "results/validation.csv");
    EXPECT_THAT(table, HasSubstr("name,iteration,epoch,mlm_loss,nsp_loss,mlm_acc"));
    EXPECT_THAT(table, HasSubstr("\nckpt-3,4,"));
    EXPECT_THAT(table, Not(HasSubstr("\nckpt-0,")));
    const std::string arguments = read_text(files, "results/arguments.json");
    EXPECT_THAT(arguments, HasSubstr("\"training\": false"));
    EXPECT_THAT(arguments, Not(HasSubstr("total_steps")));

    EXPECT_EQ(run(files, kEvaluation + "--logs-path all --restore-dir run").exit_code, 0);
    EXPECT_THAT(read_text(files, "all/validation.csv"), AllOf(HasSubstr("\nckpt-0,0,"), HasSubstr("\nckpt-3,4,")));
    EXPECT_EQ(read_text(files, "run/training.csv"), before);
}

/// Evaluation reads no option that says how long or how a training goes.
TEST(Pretrain, EvaluationDoesNotDependOnOptionsOfTraining) {
    MemoryFiles files;
    pretrain(files, "--num-train-steps 1");
    const auto results = [&](const std::string& folder, const std::string& options) {
        run(files, kEvaluation + "--init-checkpoint run/ckpt-0 --logs-path " + folder + " " + options);
        const std::string table = read_text(files, folder + "/validation.csv");
        std::istringstream row(table.substr(table.find("\nckpt-0,") + 1));
        std::string kept;
        std::string field;
        for (int column = 0; column < 7 && std::getline(row, field, ','); ++column)  // the times come later
            kept += field + " ";
        return kept;
    };
    const std::string alone = results("alone", "");
    EXPECT_THAT(alone, ContainsRegex("^ckpt-0 1 [0-9.e-]+ [0-9.]+ [0-9.]+ [0-9.]+ [0-9.]+ $"));
    EXPECT_EQ(alone, results("more", "--num-train-steps 3 --gradient-accumulation-count 7 --optimizer adamw"));
}

/// The files of two processes that train together.
std::array<MemoryFiles, 2> pretrain_by_two(const std::string& options) {
    std::array<MemoryFiles, 2> files;
    auto communicators = comm::make_thread_communicators(2, {.timeout_seconds = 60});
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < 2; ++i) {
        threads.emplace_back([&, i] {
            std::ostringstream console;
            Host host;
            host.files = &files[i];
            host.console = &console;
            host.communicator = std::move(communicators[i]);
            options::Environment environment;
            environment.launch = {.processes = 2, .index = static_cast<std::int64_t>(i)};
            tasks::run(parse(kRun + options, environment), host);
            host.communicator->finish();
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return files;
}

void expect_close(const std::map<std::string, HostTensor>& tensors, const std::map<std::string, HostTensor>& others,
                  double tolerance, const std::string& what) {
    for (const auto& [name, tensor] : tensors) {
        double squares = 0;
        double differences = 0;
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            squares += tensor.at(i) * tensor.at(i);
            differences += std::pow(tensor.at(i) - others.at(name).at(i), 2);
        }
        EXPECT_LE(std::sqrt(differences), tolerance * std::sqrt(squares)) << name << " with " << what;
    }
}

/// Each of two processes has half of the micro-batches; dropout and data follow the samples, whoever has them.
TEST(Pretrain, TwoProcessesComputeWhatOneDoes) {
    for (const std::string layout : {"--use-nvlamb", "--use-nvlamb --no-static-mask --packed"}) {
        MemoryFiles alone;
        pretrain(alone, layout + " --gradient-accumulation-count 4");
        const std::array<MemoryFiles, 2> files = pretrain_by_two(layout + " --gradient-accumulation-count 2");
        expect_close(loaded(alone, "run/ckpt-3").tensors, loaded(files[0], "run/ckpt-3").tensors, 1e-4, layout);
    }
}

/// The norm of all gradients, by which these divide, is made of the pieces that the processes have.
TEST(Pretrain, ProcessesThatShareTheStateLimitTheNormOfAllGradients) {
    for (const std::string options :
         {"--optimizer adamw", "--use-mpclip", "--use-nvlamb", "--use-nvlamb --use-mpclip"}) {
        const std::array<MemoryFiles, 2> whole = pretrain_by_two(options);
        const std::array<MemoryFiles, 2> shared = pretrain_by_two(options + " --replicated-tensor-sharding");
        expect_close(loaded(whole[0], "run/ckpt-3").tensors, loaded(shared[0], "run/ckpt-3").tensors, 1e-5, options);
    }
}

Host quiet_host(MemoryFiles& files, std::ostringstream& console) {
    Host host;
    host.files = &files;
    host.console = &console;
    return host;
}

options::ParseResult restore_line(const std::string& run) {
    return tasks::parse_command_line(options::Command::restore, {"--restore-path", run, "--threads", "1"}, {});
}

TEST(Pretrain, RestoreFindsOutWhatRan) {
    MemoryFiles files;
    pretrain(files);
    std::ostringstream console;
    const Host host = quiet_host(files, console);
    const options::ParseResult line = restore_line("run");
    const options::ParseResult recorded = tasks::restored_arguments(line, files);
    EXPECT_EQ(recorded.command, options::Command::pretrain);
    EXPECT_EQ(tasks::pretraining_settings(recorded.settings).model.hidden, 64);
    EXPECT_EQ(recorded.settings.training.gradient_accumulation_count, 2);
    EXPECT_EQ(tasks::run_restored(line, host), 0);  // all steps are done
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-3"));
}

/// The checkpoint with which it began is one of its options, and no reason to warn of others.
TEST(Pretrain, ASecondPhaseIsRestoredWithItsOwnOptions) {
    MemoryFiles files;
    pretrain(files);
    pretrain(files, "--init-checkpoint run/ckpt-3 --logs-path second");
    std::ostringstream console;
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(tasks::run_restored(restore_line("second"), quiet_host(files, console)), 0);
    EXPECT_THAT(::testing::internal::GetCapturedStderr(), Not(HasSubstr("was written with other options")));
}

TEST(Pretrain, ADryRunSaysWhatWouldHappen) {
    const std::string text = tasks::dry_run_text(parse(kRun));
    EXPECT_THAT(text, HasSubstr("BERT of 2 layers, 64 wide, "));
    EXPECT_THAT(text, HasSubstr("2 (micro-batch) x 2 (accumulated) x 1 (replicas) = 4"));
    EXPECT_THAT(text, HasSubstr("0.0075 at 0"));
    EXPECT_THAT(text, HasSubstr("after steps 3\n"));
}

TEST(Pretrain, ADryRunOfAnEvaluationSaysWhatIsEvaluated) {
    const test::TemporaryFolder folder;
    pretrain(posix_files(), "--num-train-steps 1 --logs-path " + (folder / "run"));
    const std::string line = kEvaluation + "--restore-dir " + (folder / "run");
    const std::string text = tasks::dry_run_text(parse(line));
    EXPECT_THAT(text, HasSubstr("16 tokens"));
    EXPECT_THAT(text, ContainsRegex("Validation: +10 batches of 100\n"));
    EXPECT_THAT(text, ContainsRegex("Weights: .*/run\n"));
    EXPECT_THAT(text, AllOf(HasSubstr("validation.csv"), Not(HasSubstr("training.csv")), Not(HasSubstr("Optimiser"))));
    const std::string files =
        tasks::dry_run_text(parse(line + " --no-generated-data --train-file a*.tfrecord --valid-file b*.tfrecord"));
    EXPECT_THAT(files, HasSubstr("'b*.tfrecord'"));
    EXPECT_THAT(files, HasSubstr("10000000 sequences"));
    EXPECT_THAT(tasks::dry_run_text(parse(kEvaluation + "--restore-dir nowhere")), HasSubstr("no checkpoint yet"));
}

/// Each process has half of the optimiser's state.
TEST(Pretrain, HistogramsOfTwoProcessesAreOfTheirWholeState) {
    const std::array<MemoryFiles, 2> files =
        pretrain_by_two("--steps-per-tensorboard 2 --steps-per-ckpts 0 --replicated-tensor-sharding");
    expect_histograms(files[0]);
    EXPECT_FALSE(is_directory(files[1], "run"));  // the first one writes for both
}

}  // namespace
}  // namespace cnntrain::run
