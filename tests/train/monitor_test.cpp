// Validation during training: rows, the best weights, early ends, the average of the weights; and that none of them
// depends on where a run was stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kOften = "--validate-every 0.5 ";
const std::string kBest = "run/ckpt-best.safetensors";
const std::string kClasses = "run/validation_classes.csv";

std::vector<std::vector<std::string>> table(const FileSystem& files, const std::string& path) {
    std::vector<std::vector<std::string>> rows;
    std::istringstream text(read_text(files, path));
    for (std::string line; std::getline(text, line);) {
        if (line.ends_with('\r')) line.pop_back();
        std::istringstream fields(line);
        std::vector<std::string>& row = rows.emplace_back();
        for (std::string field; std::getline(fields, field, ',');)
            row.push_back(field);
    }
    return rows;
}

/// The columns of validation.csv that do not depend on time.
std::vector<std::string> results(const FileSystem& files) {
    std::vector<std::string> rows;
    for (const auto& row : table(files, "run/validation.csv")) {
        std::string text;
        for (const std::size_t column : {0, 1, 2, 3, 4, 6, 9, 10, 11})
            text += row.at(column) + " ";
        rows.push_back(text);
    }
    return rows;
}

std::vector<std::string> column(const FileSystem& files, const std::string& path, std::size_t number) {
    std::vector<std::string> values;
    for (const auto& row : table(files, path))
        values.push_back(row.at(number));
    return values;
}

std::string tensors_of(const FileSystem& files, const std::string& path) {
    std::string all;
    for (const auto& [name, tensor] : weights::load(files, path).tensors) {
        const auto bytes = tensor.bytes();
        all += name;
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return all;
}

/// A disk on which one table has no room.
class NoRoomForClasses : public MemoryFiles {
public:
    void append(const std::string& path, std::string_view text) override {
        if (path == kClasses && !has_room) throw Error(ErrorKind::storage, path);
        MemoryFiles::append(path, text);
    }
    bool has_room = false;
};

TEST(DuringTraining, AValidationThatFailsLosesNoUpdates) {
    NoRoomForClasses files;
    EXPECT_EQ(kind_of([&] { train(files, kOften); }), ErrorKind::storage);
    EXPECT_EQ(weights::latest(files, "run")->iteration, 10);
    files.has_room = true;
    EXPECT_EQ(restore(files).exit_code, 0);
    MemoryFiles whole;
    train(whole, kOften);
    EXPECT_EQ(weights(files, 40), weights(whole, 40));
    EXPECT_EQ(column(files, "run/validation.csv", 0), column(whole, "run/validation.csv", 0));
}

TEST(DuringTraining, ValidationsAreRowsWithLossTopFiveAndBalancedAccuracy) {
    MemoryFiles files;
    const Outcome outcome = train(files, kOften);
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(read_text(files, "run/validation.csv"),
                StartsWith("name,iteration,epoch,val_acc,raw_acc,val_time,val_size,img_per_sec,latency,val_top5_acc,"
                           "val_loss,balanced_acc\r\n"));
    EXPECT_THAT(column(files, "run/validation.csv", 0),
                ElementsAre("name", "iteration-10", "ckpt-20", "iteration-30", "ckpt-40"));
    EXPECT_THAT(outcome.console, HasSubstr("% [iteration-30]"));
    EXPECT_LT(outcome.console.find("[ckpt-20]"), outcome.console.find("iteration:     40"));

    MemoryFiles after;
    train(after);
    EXPECT_EQ(loss_rows(files), loss_rows(after)) << "validation does not change the training";
    EXPECT_EQ(weights(files, 40), weights(after, 40));
    EXPECT_EQ(accuracy_rows(after).back(), accuracy_rows(files).back()) << "and says what it says afterwards";
    EXPECT_FALSE(exists(after, kClasses));
    EXPECT_FALSE(exists(after, kBest));
}

TEST(DuringTraining, TheTableOfClassesAddsUpToTheRow) {
    MemoryFiles files;
    train(files, kOften + "--abs-learning-rate 0.5");
    const auto rows = table(files, "run/validation.csv");
    const auto classes = table(files, kClasses);
    ASSERT_EQ(classes.size(), 1 + 4 * 10U);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        double samples = 0;
        double correct = 0;
        double predicted = 0;
        double recalls = 0;
        double seen = 0;
        for (const auto& row : classes) {
            if (row.at(0) != rows[i].at(0)) continue;
            const double of_class = std::stod(row.at(4));
            samples += of_class;
            correct += std::stod(row.at(5));
            predicted += std::stod(row.at(6));
            if (of_class > 0) recalls += std::stod(row.at(5)) / of_class;
            if (of_class > 0) seen += 1;
        }
        EXPECT_EQ(samples, 37);
        EXPECT_EQ(predicted, 37);
        EXPECT_NEAR(100 * correct / samples, std::stod(rows[i].at(3)), 1e-9);
        EXPECT_NEAR(100 * recalls / seen, std::stod(rows[i].at(11)), 1e-9);
    }
}

TEST(DuringTraining, TheBestWeightsAreKeptUnderOneName) {
    MemoryFiles files;
    const Outcome outcome = train(files, kOften + "--keep-best loss --keep-ckpts 1 --precision 32.32");
    const auto rows = table(files, "run/validation.csv");
    std::size_t best = 1;
    for (std::size_t i = 2; i < rows.size(); ++i) {
        if (std::stod(rows[i].at(10)) < std::stod(rows[best].at(10))) best = i;
    }
    const auto kept = weights::load(files, kBest);
    EXPECT_EQ(std::to_string(kept.iteration), rows[best].at(1));
    EXPECT_THAT(kept.metadata.at("best"), HasSubstr(rows[best].at(1)));
    EXPECT_THAT(outcome.console, HasSubstr("Best weights: loss "));
    EXPECT_FALSE(kept.tensors.contains("all/fc1/weight/Momentum"));

    // Validation and inference know it, and it gives the same results.
    validate(files, "--restore-path run/ckpt-best --precision 32.32 --logs-path check");
    const auto again = table(files, "check/validation.csv");
    EXPECT_EQ(again.at(1).at(0), "ckpt-best");
    EXPECT_EQ(again.at(1).at(3), rows[best].at(3));
    EXPECT_EQ(infer(files, "--restore-path run/ckpt-best --precision 32.32 --no-logs").exit_code, 0);
    EXPECT_EQ(train(files,
                    "--init-path run/ckpt-best --precision 32.32 --iterations 1 --epochs 0 --no-logs "
                    "--ckpts-per-epoch 0 --no-validation")
                  .exit_code,
              0);
}

TEST(DuringTraining, UnknownResultsAreRefusedWithThoseThatThereAre) {
    MemoryFiles files;
    const std::string message = message_of(ErrorKind::usage, [&] { train(files, kOften + "--keep-best accuracies"); });
    EXPECT_THAT(message, HasSubstr("balanced-accuracy"));
}

// ---- The end ----

/// The rate is too small for any result to change.
const std::string kStands = "--group-norm --precision 32.32 --abs-learning-rate 1e-30 --keep-best accuracy ";

TEST(EarlyStop, EndsTheTrainingAfterValidationsWithoutABetterResult) {
    MemoryFiles files;
    const Outcome outcome = train(files, kOften + kStands + "--early-stop 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("30 of 40"));
    EXPECT_TRUE(exists(files, "run/ckpt-30.safetensors"));
    EXPECT_EQ(weights::load(files, kBest).iteration, 10);
    EXPECT_THAT(column(files, "run/validation.csv", 1), ElementsAre("iteration", "10", "20", "30"));

    const auto before = results(files);
    const Outcome again = restore(files);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_THAT(again.console, HasSubstr("--early-stop"));
    EXPECT_EQ(results(files), before);
    EXPECT_FALSE(exists(files, "run/ckpt-40.safetensors"));

    EXPECT_EQ(restore(files, "--early-stop 0").exit_code, 0);
    EXPECT_TRUE(exists(files, "run/ckpt-40.safetensors"));
    EXPECT_THAT(column(files, "run/validation.csv", 1), ElementsAre("iteration", "10", "20", "30", "40"));
}

TEST(EarlyStop, GoesOnWhileResultsGetBetter) {
    MemoryFiles files;
    train(files, kOften + "--early-stop 40 --keep-best loss");
    EXPECT_TRUE(exists(files, "run/ckpt-40.safetensors"));
}

// ---- Stops ----

class StoppedAnywhere : public ::testing::TestWithParam<std::string> {};

TEST_P(StoppedAnywhere, IsTheRunThatWasNotStopped) {
    const std::string options = kOften + "--keep-best balanced-accuracy --micro-batch-size 8 " + GetParam();
    MemoryFiles whole;
    ASSERT_EQ(train(whole, options).exit_code, 0);
    // Stops within updates, within each of the validations, and between them.
    for (const int asked : {3, 13, 17, 26, 31, 35, 47, 66}) {
        SCOPED_TRACE(asked);
        MemoryFiles parts;
        int stops = 0;
        int exit_code = train(parts, options, stop_after(asked)).exit_code;
        for (; exit_code == kInterruptedExitCode && stops < 2; ++stops)
            exit_code = restore(parts, "", stop_after(asked)).exit_code;
        if (exit_code == kInterruptedExitCode) exit_code = restore(parts).exit_code;
        ASSERT_EQ(exit_code, 0);
        EXPECT_EQ(loss_rows(parts), loss_rows(whole));
        EXPECT_EQ(results(parts), results(whole));
        EXPECT_EQ(read_text(parts, kClasses), read_text(whole, kClasses));
        EXPECT_EQ(tensors_of(parts, kBest), tensors_of(whole, kBest));
        EXPECT_EQ(weights(parts, 40), weights(whole, 40));
    }
}

INSTANTIATE_TEST_SUITE_P(All, StoppedAnywhere,
                         ::testing::Values("", "--ema-decay 0.9", "--precision 16.32 --early-stop 3 --keep-ckpts 2"));

TEST(StoppedValidation, LeavesItDueAndSaysHowToGoOn) {
    MemoryFiles files;
    const Outcome outcome = train(files, kOften, stop_after(23));  // twice in an update: the second batch at 10
    EXPECT_EQ(outcome.exit_code, kInterruptedExitCode);
    EXPECT_THAT(outcome.console, HasSubstr("10 of 40"));
    EXPECT_TRUE(exists(files, "run/ckpt-10.safetensors"));
    EXPECT_FALSE(exists(files, kClasses));
    EXPECT_THAT(column(files, "run/validation.csv", 1), ElementsAre("iteration"));
}

TEST(KilledRun, AfterAValidationRepeatsItsRow) {
    MemoryFiles files;
    train(files, kOften + "--keep-best accuracy", stop_after(70));
    MemoryFiles whole;
    train(whole, kOften + "--keep-best accuracy");
    // The folder as a kill leaves it: rows and the best weights of updates whose checkpoint was not written.
    for (const weights::Found& found : weights::numbered_checkpoints(files, "run")) {
        if (found.iteration > 20) files.remove(found.path);
    }
    files.append(kClasses, "ckpt-40,40,3");
    EXPECT_EQ(restore(files).exit_code, 0);
    EXPECT_EQ(results(files), results(whole));
    EXPECT_EQ(read_text(files, kClasses), read_text(whole, kClasses));
    EXPECT_EQ(tensors_of(files, kBest), tensors_of(whole, kBest));
}

TEST(FullDisk, WhileTheBestWeightsAreWrittenLeavesWhatWasSaved) {
    MemoryFiles files;
    int asked = 0;
    const auto fill_the_disk = [&] {
        if (++asked == 22) files.set_capacity_bytes(files.used_bytes() + 10000);
        return false;
    };
    const std::string options = kOften + "--keep-best accuracy";
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { train(files, options, fill_the_disk); }),
                HasSubstr("run/ckpt-best"));
    EXPECT_FALSE(exists(files, kBest));
    files.set_capacity_bytes(UINT64_MAX);
    EXPECT_EQ(restore(files).exit_code, 0);
    MemoryFiles whole;
    train(whole, options);
    EXPECT_EQ(results(files), results(whole));
    EXPECT_EQ(tensors_of(files, kBest), tensors_of(whole, kBest));
}

// ---- Processes ----

TEST(SeveralProcesses, ValidateTogetherAndEndTogether) {
    std::vector<Process> processes(2);
    train_together(processes, kOften + kStands + "--early-stop 1 --micro-batch-size 4");
    for (const Process& process : processes) {
        EXPECT_FALSE(process.error) << process.message;
        EXPECT_EQ(process.outcome.exit_code, 0);
    }
    const MemoryFiles& files = processes.front().files;
    EXPECT_THAT(column(files, "run/validation.csv", 1), ElementsAre("iteration", "10", "20"));
    EXPECT_THAT(column(files, "run/validation.csv", 6), ElementsAre("val_size", "37", "37"));
    EXPECT_EQ(table(files, kClasses).size(), 21U);
    EXPECT_EQ(weights::load(files, kBest).iteration, 10);
    EXPECT_FALSE(exists(processes.back().files, kBest));
    EXPECT_FALSE(exists(processes.back().files, "run/validation.csv"));
}

TEST(SeveralProcesses, KeepTheAverageAndResumeWithIt) {
    const std::string options = kOften + "--ema-decay 0.8 --keep-best loss --micro-batch-size 4 --rts";
    std::vector<Process> whole(2);
    train_together(whole, options);
    std::vector<Process> parts(2);
    for (Process& process : parts)
        process.stop = stop_after(31);
    train_together(parts, options);
    ASSERT_EQ(parts.front().outcome.exit_code, kInterruptedExitCode) << parts.front().message;
    for (Process& process : parts)
        process.stop = {};
    restore_together(parts);
    ASSERT_EQ(parts.front().outcome.exit_code, 0) << parts.front().message;
    EXPECT_EQ(results(parts.front().files), results(whole.front().files));
    EXPECT_EQ(tensors_of(parts.front().files, kBest), tensors_of(whole.front().files, kBest));
}

// ---- The average of the weights ----

/// The average after all updates, by the formula, from the weights after each of them.
std::vector<double> plain_average(const FileSystem& files, const std::string& variable, double decay) {
    std::vector<double> average;
    for (const weights::Found& found : weights::numbered_checkpoints(files, "run")) {
        const HostTensor weights = weights::load(files, found.path).tensors.at(variable);
        if (average.empty()) {
            for (std::int64_t i = 0; i < weights.elements(); ++i)
                average.push_back(weights.at(i));
            continue;
        }
        for (std::size_t i = 0; i < average.size(); ++i)
            average[i] = decay * average[i] + (1 - decay) * weights.at(static_cast<std::int64_t>(i));
    }
    return average;
}

void expect_near(const HostTensor& tensor, const std::vector<double>& expected) {
    ASSERT_EQ(tensor.elements(), std::ssize(expected));
    double most = 0;
    for (std::size_t i = 0; i < expected.size(); ++i)
        most = std::max(most, std::abs(tensor.at(static_cast<std::int64_t>(i)) - expected[i]));
    EXPECT_LT(most, 1e-5);
}

/// Precisions, and the suffix of the most precise weights' names.
struct Stored {
    std::string options;
    std::string suffix;
};

TEST(WeightAverage, IsThatOfTheFormula) {
    for (const Stored& stored : {Stored{"--precision 32.32", ""}, Stored{"--precision 16.16", ""},
                                 Stored{"--precision 16.16 --offload-fp32-weight-copy", "/fp32"}}) {
        SCOPED_TRACE(stored.options);
        MemoryFiles files;
        train(files,
              "--no-validation --batch-norm --ema-decay 0.9 --epochs 1 --ckpts-per-epoch 20 "
              "--device-iterations 1 " +
                  stored.options);
        EXPECT_EQ(weights::numbered_checkpoints(files, "run").size(), 21U);
        const auto result = weights::load(files, "run/ckpt/weight_avg_ema.safetensors");
        const std::string weight = "all/fc1/weight";
        expect_near(result.tensors.at(weight), plain_average(files, weight + stored.suffix, 0.9));
        const auto statistic = std::ranges::find_if(
            result.tensors, [](const auto& tensor) { return tensor.first.find("moving_mean") != std::string::npos; });
        ASSERT_NE(statistic, result.tensors.end());
        expect_near(statistic->second, plain_average(files, statistic->first, 0.9));
        EXPECT_FALSE(result.tensors.contains(weight + "/Momentum"));
    }
}

TEST(WeightAverage, DoesNotChangeTheTraining) {
    MemoryFiles plain;
    train(plain);
    MemoryFiles averaged;
    train(averaged, "--ema-decay 0.99");
    EXPECT_EQ(loss_rows(averaged), loss_rows(plain));
    EXPECT_EQ(weights(averaged, 40, "/ema"), weights(plain, 40));
    EXPECT_EQ(column(averaged, "run/validation.csv", 0).back(), "weight_avg_ema");
}

TEST(WeightAverage, IsReadFromCheckpointsByEma) {
    MemoryFiles files;
    train(files, kOften + "--ema-decay 0.9 --precision 32.32 --keep-best accuracy");
    EXPECT_THAT(column(files, "run/validation.csv", 0),
                ElementsAre("name", "iteration-10", "weight_avg_ema-10", "ckpt-20", "weight_avg_ema-20", "iteration-30",
                            "weight_avg_ema-30", "ckpt-40", "weight_avg_ema-40"));
    const auto rows = table(files, "run/validation.csv");
    validate(files, "--restore-path run/ckpt-40 --precision 32.32 --logs-path raw");
    validate(files, "--restore-path run/ckpt-40 --ema --precision 32.32 --logs-path ema");
    validate(files, "--restore-path run/ckpt/weight_avg_ema --precision 32.32 --logs-path file");
    EXPECT_EQ(table(files, "raw/validation.csv").at(1).at(3), rows[7].at(3));
    EXPECT_EQ(table(files, "ema/validation.csv").at(1).at(3), rows[8].at(3));
    EXPECT_EQ(table(files, "file/validation.csv").at(1).at(3), rows[8].at(3));
    EXPECT_EQ(infer(files, "--restore-path run/ckpt-40 --ema --precision 32.32 --no-logs").exit_code, 0);
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [&] { validate(files, "--restore-path run/ckpt/weight_avg_ema --ema --no-logs"); }),
                HasSubstr("run/ckpt/weight_avg_ema.safetensors"));
    EXPECT_EQ(train(files,
                    "--init-path run/ckpt-40 --precision 32.32 --iterations 1 --epochs 0 --no-logs "
                    "--ckpts-per-epoch 0 --no-validation")
                  .exit_code,
              0);
}

// ---- Other tasks and backends ----

TEST(OnBackends, ValidationAndAverageAgree) {
    std::vector<std::string> rows;
    const std::string options =
        "--validate-every-updates 2 --iterations 4 --epochs 0 --log-freq 1 --ema-decay 0.5 "
        "--keep-best loss --precision 32.32 --batch-norm --backend ";
    for (const std::string backend : {"cpu", "ref"}) {
        MemoryFiles files;
        ASSERT_EQ(train(files, options + backend).exit_code, 0) << backend;
        std::string losses;
        for (const auto& row : table(files, "run/validation.csv"))
            losses += row.at(0) + " " + row.at(10).substr(0, 5) + "\n";
        rows.push_back(losses);
    }
    EXPECT_EQ(rows.front(), rows.back());
}

TEST(Options, AskForValidationDuringTraining) {
    const auto period = [](const std::string& line) {
        return parse("--generated-data --dataset cifar-10 " + line).settings.validation.epochs_per_validation;
    };
    EXPECT_EQ(period(""), 0);
    EXPECT_EQ(period("--keep-best loss"), 1);
    EXPECT_EQ(period("--early-stop 3"), 1);
    EXPECT_EQ(period("--early-stop 3 --validate-every 0.25"), 0.25);
    EXPECT_EQ(period("--early-stop 3 --validate-every-updates 7"), 0);
    EXPECT_EQ(period("--no-validation"), 0);
    const auto refusal = [&](const std::string& line) { return message_of(ErrorKind::usage, [&] { period(line); }); };
    EXPECT_THAT(refusal("--validate-every 1 --validate-every-updates 2"), HasSubstr("choose"));
    EXPECT_THAT(refusal("--validate-every 1 --no-validation"), HasSubstr("choose"));
    EXPECT_THAT(refusal("--keep-best loss --no-validation"), HasSubstr("--no-validation"));
    EXPECT_THAT(refusal("--early-stop 1 --no-validation"), HasSubstr("--no-validation"));
    EXPECT_THAT(refusal("--ema-decay 1"), HasSubstr("--ema-decay"));
}

}  // namespace
}  // namespace cnntrain::run::testing
