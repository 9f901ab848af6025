// The trainer, its logs and its validation know no images: a task of the test's own runs through all of them.
#include "cnntrain/run/task.h"

#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/run/compile_request.h"
#include "run/evaluator.h"
#include "run/training.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"
#include "train/point_fitting.h"

namespace cnntrain::run::testing {
namespace {

/// Eight updates per epoch, host steps of two.
Outcome fit(FileSystem& files, const std::string& options = "", const std::function<bool()>& stop = {}) {
    const auto arguments = parse(
        "--dataset cifar-10 --generated-data --model-size 8 --backend ref --micro-batch-size 8 --seed 7 "
        "--warmup-epochs 0 --optimiser momentum --weight-decay 0 --lr-schedule cosine --logs-per-epoch 4 "
        "--abs-learning-rate 0.05 --epochs 10 " +
        options);
    std::ostringstream console;
    Host host;
    host.command_line = "cnntrain test";
    host.files = &files;
    host.console = &console;
    host.stop_requested = stop;
    const auto backend = make_backend(arguments.settings.run.backend);
    const PointFitting task(arguments.settings, *backend);
    const int exit_code = cnntrain::run::train(task, *backend, run_start(arguments, host), host);
    return {exit_code, console.str()};
}

/// Column `index` (from 0) of the last row of a CSV file.
double last_value(const FileSystem& files, const std::string& path, int index) {
    std::istringstream lines(read_text(files, path));
    std::string row;
    for (std::string line; std::getline(lines, line);)
        row = line;
    std::istringstream columns(row);
    std::string value;
    for (int i = 0; i <= index; ++i)
        std::getline(columns, value, ',');
    return std::stod(value);
}

/// Counts the streams that are made of it.
class CountedSamples final : public Samples {
public:
    explicit CountedSamples(std::unique_ptr<Samples> samples) : samples_(std::move(samples)) {}
    std::int64_t count() const override { return samples_->count(); }
    data::Origin origin() const override { return samples_->origin(); }
    std::vector<data::Field> fields(std::int64_t micro_batch) const override { return samples_->fields(micro_batch); }
    std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const override {
        ++streams;
        return samples_->stream(settings);
    }
    mutable int streams = 0;

private:
    std::unique_ptr<Samples> samples_;
};

TEST(OwnTask, ItsColumnsReadOutputsOfItsGraphs) {
    const auto arguments =
        parse("--dataset cifar-10 --generated-data --model-size 8 --backend ref --micro-batch-size 8");
    const auto backend = make_backend(arguments.settings.run.backend);
    const PointFitting task(arguments.settings, *backend);
    const graph::Graph graph = task.graph(GraphUse::evaluation, task.batch_fields(data::Split::train, 8));
    check_columns(graph, task.columns().validation);
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { check_columns(graph, {{.name = "hits", .output = "hit"}}); }),
                HasSubstr("'hit'"));
}

TEST(OwnTask, NoBatchOfAnEvaluationIsReadyWhenItsClockStarts) {
    const auto arguments =
        parse("--dataset cifar-10 --generated-data --model-size 8 --backend ref --micro-batch-size 8");
    const auto backend = make_backend(arguments.settings.run.backend);
    const PointFitting task(arguments.settings, *backend);
    const CountedSamples samples(task.open(data::Split::validation));
    const Host host;
    Evaluator evaluator(task, *backend, samples, arguments.settings, 1, host);
    evaluator.load_random(1);
    EXPECT_EQ(samples.streams, 0);
    metrics::Observers observers;
    for (int run = 1; run <= 2; ++run) {
        EXPECT_EQ(evaluator.run({.name = "random"}, observers)->val_size, samples.count());
        EXPECT_EQ(samples.streams, run);
    }
}

TEST(OwnTask, IsTrainedLoggedAndValidated) {
    MemoryFiles files;
    const Outcome outcome = fit(files, "--logs-path run --weight-avg-N 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("\nA plane through points\nTraining\n Batch Size: 8\n"));
    EXPECT_THAT(outcome.console, HasSubstr("\nTotal Parameters:4\n"));
    EXPECT_THAT(outcome.console, HasSubstr("2 times"));
    EXPECT_THAT(outcome.console, HasSubstr("\nSaved checkpoint to run/ckpt-80 in "));
    EXPECT_THAT(outcome.console, ContainsRegex("\nckpt-80 misses by 0\\.[0-9]+\n"));
    EXPECT_THAT(outcome.console, HasSubstr("weight_avg_N_2"));
    EXPECT_THAT(outcome.console, Not(HasSubstr("accuracy: ")));
    EXPECT_THAT(read_text(files, "run/log.txt"), HasSubstr("fitted 80 times"));
    EXPECT_THAT(read_text(files, "run/arguments.json"), HasSubstr("\"axes\": 3"));
    EXPECT_THAT(read_text(files, "run/training.csv"),
                StartsWith("step,iteration,epoch,lr,squared_error_batch,squared_error_avg,relative_batch,relative_avg,"
                           "it_time,pt_per_sec,total_time\r\n1,2,0.25,"));
    const std::string validation = read_text(files, "run/validation.csv");
    EXPECT_THAT(validation, StartsWith("name,iteration,epoch,squared_error,val_time,val_size,pt_per_sec,latency\r\n"));
    EXPECT_THAT(validation, ContainsRegex("\nckpt-8,8,1,[0-9.]+,[0-9.e-]+,19,"));
    EXPECT_LT(last_value(files, "run/training.csv", 4), 1);
    EXPECT_GT(last_value(files, "run/training.csv", 4), 0);
    EXPECT_LT(last_value(files, "run/training.csv", 6), 100.0 / 15) << "of targets of 20 on average";
}

TEST(OwnTask, TensorBoardHasItsColumns) {
    MemoryFiles files;
    fit(files, "--logs-path run --no-validation");
    for (const std::string& name : files.list("run")) {
        if (name.starts_with("events.")) {
            EXPECT_THAT(read_text(files, "run/" + name), HasSubstr("training/squared_error_avg"));
            return;
        }
    }
    FAIL() << "no event file";
}

TEST(OwnTask, NamesItsFolders) {
    MemoryFiles files;
    EXPECT_THAT(fit(files, "--log-dir logs --iterations 2 --epochs 0").console,
                ContainsRegex("Saved checkpoint to logs/plane_[A-Z0-9]+/ckpt-2 in "));
}

TEST(OwnTask, ContinuesAfterAStopAsItWouldHave) {
    MemoryFiles whole;
    fit(whole, "--logs-path run");
    MemoryFiles stopped;
    const Outcome first = fit(stopped, "--logs-path run", stop_after(19));
    EXPECT_EQ(first.exit_code, kInterruptedExitCode);
    EXPECT_THAT(first.console, HasSubstr("--restore-path"));
    const Outcome second = fit(stopped, "--restore-path run");
    EXPECT_EQ(second.exit_code, 0);
    EXPECT_THAT(second.console, HasSubstr("\nRestoring training from latest checkpoint: run/ckpt-"));
    EXPECT_EQ(loss_rows(whole).size(), loss_rows(stopped).size());
    // The ref backend computes in 64 bits, of which a checkpoint keeps 32.
    for (const int column : {1, 4, 5, 6, 7}) {
        EXPECT_NEAR(last_value(whole, "run/training.csv", column), last_value(stopped, "run/training.csv", column),
                    1e-5);
    }
    EXPECT_NEAR(last_value(whole, "run/validation.csv", 3), last_value(stopped, "run/validation.csv", 3), 1e-5);
}

TEST(OwnTask, DivergesByItsOwnLoss) {
    MemoryFiles files;
    EXPECT_THAT(message_of(ErrorKind::diverged, [&] { fit(files, "--logs-path run --abs-learning-rate 1e30"); }),
                Not(IsEmpty()));
}

TEST(OwnTask, IsNoBenchmarkOfMlperf) {
    MemoryFiles files;
    EXPECT_EQ(kind_of([&] { fit(files, "--logs-path run --mlperf-logging"); }), ErrorKind::unsupported);
}

}  // namespace
}  // namespace cnntrain::run::testing
