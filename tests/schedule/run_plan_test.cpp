#include "cnntrain/parallel/run_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::schedule {
namespace {

constexpr std::int64_t kCifar = 50000;
constexpr std::int64_t kImageNet = 1281167;
constexpr std::int64_t kStart = 1552;  // of the step of the CIFAR run in which the first epoch ends

std::vector<HostStep> steps_from(const RunPlan& plan, std::int64_t start) {
    std::vector<HostStep> steps;
    for (std::int64_t i = start; i < plan.iterations; i = steps.back().end())
        steps.push_back(plan.host_step(i));
    return steps;
}

std::vector<std::int64_t> checkpoints(const RunPlan& plan) {
    std::vector<std::int64_t> result;
    for (const HostStep& step : plan.checkpoint_steps())
        result.push_back(step.end());
    return result;
}

RunShape cifar_shape(double epochs) {
    RunShape shape;
    shape.images = kCifar;
    shape.micro_batch_size = 32;
    shape.epochs = epochs;
    return shape;
}

RunShape imagenet_shape(std::int64_t global_batch, double epochs, std::int64_t logs_per_epoch) {
    RunShape shape;
    shape.images = kImageNet;
    shape.micro_batch_size = global_batch;
    shape.epochs = epochs;
    shape.logs_per_epoch = logs_per_epoch;
    return shape;
}

RunShape with_checkpoints(RunShape shape, std::int64_t ckpts_per_epoch, std::int64_t epochs_per_ckpt,
                          std::int64_t offset) {
    shape.ckpts_per_epoch = ckpts_per_epoch;
    shape.epochs_per_ckpt = epochs_per_ckpt;
    shape.ckpt_epochs_offset = offset;
    return shape;
}

RunShape by_iterations(std::int64_t iterations, std::int64_t device_iterations, std::int64_t ckpts_per_epoch) {
    RunShape shape = cifar_shape(0);
    shape.iterations = iterations;
    shape.device_iterations = device_iterations;
    shape.ckpts_per_epoch = ckpts_per_epoch;
    return shape;
}

/// One worked run, in the arithmetic of the original programs. The run ends at T here, so the final iteration, the
/// final epoch and the last checkpoint are those of T; and checkpoints stand where their period ends, and not at the
/// end of that host step (1649 for 1562). All other columns are the reference's.
struct WorkedValues {
    std::string name;
    RunShape shape;
    std::int64_t global_batch;
    std::int64_t iterations_per_epoch;
    std::int64_t iterations;
    std::int64_t log_freq;
    std::int64_t iterations_per_host_step;
    std::int64_t host_steps;
    double final_epoch;  // two decimals
    std::int64_t log_lines;
    std::size_t checkpoint_count;
    std::vector<std::int64_t> first_checkpoints;
    std::vector<std::int64_t> last_checkpoints;
};

void PrintTo(const WorkedValues& row, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << row.name;
}

const std::vector<WorkedValues>& worked_values() {
    static const RunShape resnet8_test = [] {
        RunShape shape = cifar_shape(10);
        shape.logs_per_epoch = 1;
        return shape;
    }();
    // clang-format off
    static const std::vector<WorkedValues> rows = {
        {"cifar10_defaults", cifar_shape(160), 32, 1562, 250000, 97, 97, 2578, 160.00, 2578, 160, {1562, 3124, 4686},
         {248358, 250000}},
        {"cifar10_10_epochs", cifar_shape(10), 32, 1562, 15625, 97, 97, 162, 10.00, 162, 10, {1562, 3124}, {14058,
         15625}},
        {"resnet8_test", resnet8_test, 32, 1562, 15625, 1562, 781, 21, 10.00, 12, 10, {1562, 3124}, {14058, 15625}},
        {"iterations_10", by_iterations(10, 1000, 1), 32, 1562, 10, 500, 500, 1, 0.01, 1, 1, {10}, {10}},
        {"iterations_10_device_10", by_iterations(10, 10, 1), 32, 1562, 10, 500, 10, 1, 0.01, 1, 1, {10}, {10}},
        {"iterations_4_device_2", by_iterations(4, 2, 1000000), 32, 1562, 4, 500, 2, 2, 0.00, 2, 2, {2, 4}, {2, 4}},
        {"resnet50_gn_16ipus", imagenet_shape(1024, 65, 1), 1024, 1251, 81324, 1251, 1251, 66, 65.00, 66, 65, {1251},
         {80064, 81324}},
        {"resnet50_bn_16ipus", imagenet_shape(16384, 100, 1), 16384, 78, 7819, 78, 78, 101, 99.99, 101, 100, {78},
         {7722, 7819}},
        {"resnet50_mlperf_pod16_bs20", with_checkpoints(imagenet_shape(1920, 40, 5), 1, 4, 0), 1920, 667, 26690, 133,
         133, 201, 40.00, 201, 10, {2668, 5336}, {24012, 26690}},
        {"resnet50_mlperf_pod64_bs20", with_checkpoints(imagenet_shape(2560, 41, 5), 1, 4, 1), 2560, 500, 20518, 100,
         100, 206, 41.00, 206, 11, {500, 2500, 4500}, {18500, 20518}},
        {"resnet50_mlperf_pod16_lars", with_checkpoints(imagenet_shape(3520, 38, 5), 1, 4, 2), 3520, 363, 13830, 72,
         72, 193, 38.00, 193, 10, {726, 2178}, {12342, 13830}},
        {"resnext101_16ipus", imagenet_shape(768, 120, 16), 768, 1668, 200182, 104, 104, 1925, 120.00, 1925, 120,
         {1668, 3336}, {200182}},
        {"efficientnet_b4_g1_16ipus", imagenet_shape(768, 350, 16), 768, 1668, 583865, 104, 104, 5615, 350.00, 5615,
         350, {1668}, {583865}},
        {"efficientnet_b4_g16_16ipus", imagenet_shape(6144, 350, 16), 6144, 208, 72983, 13, 13, 5615, 350.00, 5615,
         351, {208}, {72800, 72983}},
        {"pod16_one_epoch", with_checkpoints(imagenet_shape(16384, 1, 16), 0, 0, 0), 16384, 78, 78, 4, 4, 20, 1.00,
         20, 0, {}, {}},
    };
    // clang-format on
    return rows;
}

class WorkedValuesTest : public testing::TestWithParam<WorkedValues> {};
INSTANTIATE_TEST_SUITE_P(Spec, WorkedValuesTest, testing::ValuesIn(worked_values()),
                         [](const auto& row) { return row.param.name; });

TEST_P(WorkedValuesTest, PlanHasTheNumbers) {
    const WorkedValues& row = GetParam();
    const RunPlan plan = make_run_plan(row.shape);
    EXPECT_EQ(plan.global_batch, row.global_batch);
    EXPECT_EQ(plan.iterations_per_epoch, row.iterations_per_epoch);
    EXPECT_EQ(plan.iterations, row.iterations);
    EXPECT_EQ(plan.log_freq, row.log_freq);
    EXPECT_EQ(plan.iterations_per_host_step, row.iterations_per_host_step);
}

TEST_P(WorkedValuesTest, StepsHaveTheDecisions) {
    const WorkedValues& row = GetParam();
    const RunPlan plan = make_run_plan(row.shape);
    const auto steps = steps_from(plan, 0);
    EXPECT_EQ(std::ranges::count(steps, true, &HostStep::ends_host_step), row.host_steps);
    EXPECT_EQ(steps.back().end(), row.iterations);
    EXPECT_NEAR(steps.back().epoch_after, row.final_epoch, 0.005);
    EXPECT_EQ(std::ranges::count(steps, true, &HostStep::log), row.log_lines);
    EXPECT_TRUE(steps.front().log);
    EXPECT_TRUE(steps.back().log);

    const auto saved = checkpoints(plan);
    EXPECT_EQ(saved.size(), row.checkpoint_count);
    ASSERT_GE(saved.size(), row.first_checkpoints.size());
    const auto first = static_cast<std::ptrdiff_t>(row.first_checkpoints.size());
    const auto last = static_cast<std::ptrdiff_t>(row.last_checkpoints.size());
    EXPECT_EQ(std::vector(saved.begin(), saved.begin() + first), row.first_checkpoints);
    EXPECT_EQ(std::vector(saved.end() - last, saved.end()), row.last_checkpoints);
    std::vector<HostStep> saving;
    for (const HostStep& step : steps) {
        EXPECT_EQ(step.validate, step.checkpoint);
        if (step.checkpoint) saving.push_back(step);
    }
    EXPECT_EQ(plan.checkpoint_steps(), saving);
}

TEST_P(WorkedValuesTest, ResumeAnywhereGivesTheRemainingSteps) {
    const RunPlan plan = make_run_plan(GetParam().shape);
    const auto all = steps_from(plan, 0);
    for (std::size_t k = 0; k < all.size(); k += 1 + all.size() / 20) {
        const auto rest = steps_from(plan, all[k].first_iteration);
        ASSERT_EQ(rest, std::vector(all.begin() + static_cast<std::ptrdiff_t>(k), all.end()));
    }
}

TEST(RunPlan, AStepStoppedInTheMiddleIsFinishedWithItsOwnDecisions) {
    const RunPlan plan = make_run_plan(cifar_shape(10));
    const HostStep whole = plan.host_step(kStart);
    HostStep rest = plan.host_step(kStart + 4);
    EXPECT_TRUE(rest.checkpoint);
    EXPECT_EQ(rest.first_iteration, kStart + 4);
    EXPECT_EQ(rest.end(), whole.end());
    rest.first_iteration = whole.first_iteration;
    rest.iterations = whole.iterations;
    EXPECT_EQ(rest, whole);
}

TEST(RunPlan, TheRateIsTakenInTheMiddleOfAStep) {
    const RunPlan plan = make_run_plan(cifar_shape(10));
    EXPECT_EQ(plan.host_step(0).lr_iteration, 48);
    EXPECT_EQ(plan.host_step(97).lr_iteration, 97 + 48);
    const HostStep last = plan.host_step(15617);
    EXPECT_EQ(last.iterations, 8);
    EXPECT_EQ(last.lr_iteration, 15621);
}

TEST(RunPlan, FewImagesAndFrequentLogsAreClamped) {
    RunShape shape;
    shape.images = 20;
    shape.micro_batch_size = 32;
    shape.epochs = 10;
    const RunPlan plan = make_run_plan(shape);
    EXPECT_EQ(plan.iterations_per_epoch, 0);
    EXPECT_EQ(plan.iterations, 6);
    EXPECT_EQ(plan.log_freq, 1);
    EXPECT_EQ(plan.iterations_per_host_step, 1);
    EXPECT_EQ(plan.averaging_window(), 1);
    EXPECT_EQ(plan.iterations_per_checkpoint, 1);
    EXPECT_EQ(steps_from(plan, 0).size(), 6u);

    shape = by_iterations(5, 1000, 1);
    shape.log_freq = 0;
    EXPECT_EQ(make_run_plan(shape).log_freq, 1);
}

TEST(RunPlan, HostStepIsALogIntervalOrAnEvenPartOfIt) {
    RunShape shape = by_iterations(5000, 1000, 1);
    const auto host_step = [&](std::int64_t log_freq) {
        shape.log_freq = log_freq;
        return make_run_plan(shape).iterations_per_host_step;
    };
    EXPECT_EQ(host_step(999), 999);
    EXPECT_EQ(host_step(1000), 1000);
    EXPECT_EQ(host_step(1500), 750);   // 1.5 rounds to 2
    EXPECT_EQ(host_step(2500), 1250);  // 2.5 rounds to 2
    EXPECT_EQ(host_step(2600), 866);
}

TEST(RunPlan, AllBatchFactorsCount) {
    RunShape shape = cifar_shape(1);
    shape.micro_batch_size = 2;
    shape.gradient_accumulation_count = 3;
    shape.replicas = 5;
    shape.processes = 7;
    EXPECT_EQ(make_run_plan(shape).global_batch, 210);
}

TEST(RunPlan, EpochsOfARunGivenInIterations) {
    const RunPlan plan = make_run_plan(by_iterations(3125, 1000, 1));
    EXPECT_DOUBLE_EQ(plan.epochs, 2.0);
}

TEST(RunPlan, CheckpointsWithoutValidation) {
    RunShape shape = cifar_shape(2);
    shape.validate = false;
    const RunPlan plan = make_run_plan(shape);
    EXPECT_THAT(checkpoints(plan), ElementsAre(1562, 3125));
    for (const HostStep& step : steps_from(plan, 0))
        EXPECT_FALSE(step.validate);
}

TEST(RunPlan, OfSeveralCheckpointsPerEpochTheLastIsLeftToTheEndOfTheRun) {
    RunShape shape = cifar_shape(2);
    shape.ckpts_per_epoch = 2;
    EXPECT_THAT(checkpoints(make_run_plan(shape)), ElementsAre(781, 1562, 2343, 3125));
    shape = by_iterations(2800, 1000, 2);
    EXPECT_THAT(checkpoints(make_run_plan(shape)), ElementsAre(781, 1562, 2343, 2800));
}

/// Host steps of 500 iterations and epochs of 1562: the checkpoints stand at the epochs' ends, and rates, decisions and
/// log lines are those of whole host steps.
TEST(RunPlan, AnEpochsCheckpointCutsItsHostStep) {
    const RunPlan plan = make_run_plan(by_iterations(4200, 1000, 1));
    EXPECT_THAT(checkpoints(plan), ElementsAre(1562, 3124, 4200));
    const HostStep before = plan.host_step(1500);
    const HostStep behind = plan.host_step(1562);
    EXPECT_EQ(before.end(), 1562);
    EXPECT_TRUE(before.checkpoint && before.validate && !before.log && !before.ends_host_step);
    EXPECT_NEAR(before.epoch_after, 1, 1e-3);
    EXPECT_EQ(behind.end(), 2000);
    EXPECT_TRUE(!behind.checkpoint && !behind.validate && behind.log && behind.ends_host_step);
    EXPECT_EQ(before.lr_iteration, 1750);
    EXPECT_EQ(behind.lr_iteration, 1750);
    EXPECT_THAT(checkpoints(make_run_plan(by_iterations(4000, 1000, 1))), ElementsAre(1562, 3124, 4000));
    // Several epochs in a host step have one checkpoint, at the end of the last of them.
    RunShape shape = by_iterations(1200, 1000, 1);
    shape.images = 32 * 150;
    EXPECT_THAT(checkpoints(make_run_plan(shape)), ElementsAre(450, 900, 1200));
}

TEST(BatchPlan, CountsSamplesAndMicroBatches) {
    ScheduleSettings settings;
    settings.micro_batch_size = 2;
    settings.gradient_accumulation_count = 3;
    settings.replicas = 5;
    settings.processes = 7;
    settings.pipeline_splits = {"a", "b"};
    EXPECT_EQ(batch_plan(settings).micro_batches(), 105);
    EXPECT_EQ(batch_plan(settings).global_batch(), 210);
    EXPECT_EQ(batch_plan(settings).stages, 1);
    settings.pipeline = true;
    EXPECT_EQ(batch_plan(settings).stages, 3);
    EXPECT_EQ(batch_plan(settings).global_batch(), 210);  // every sample goes through all stages
}

TEST(BatchPlan, ReplicasShareStatistics) {
    const BatchPlan plan{.micro_batch = 3, .accumulation = 4, .replicas = 6, .norm_span = 2, .processes = 5};
    EXPECT_EQ(plan.norm_samples(), 6);
    EXPECT_EQ(plan.micro_batches(), 120);
    EXPECT_EQ(plan.global_batch(), 360);
}

void expect_usage_error(const RunShape& shape, const std::string& part) {
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { make_run_plan(shape); }), HasSubstr(part))
        << "no error about " << part;
}

TEST(RunPlan, NonsenseIsRefused) {
    expect_usage_error(by_iterations(0, 1000, 1), "--iterations");
    expect_usage_error(by_iterations(10, 0, 1), "--device-iterations");
    expect_usage_error(by_iterations(10, 1, -1), "--ckpts-per-epoch");
    expect_usage_error(cifar_shape(0), "--epochs");
    expect_usage_error(cifar_shape(0.0001), "global");
    RunShape shape = cifar_shape(1);
    shape.images = 0;
    expect_usage_error(shape, "training");
    shape = cifar_shape(1);
    shape.logs_per_epoch = 0;
    expect_usage_error(shape, "--logs-per-epoch");
}

TEST(RunPlan, ProductsThatDoNotFitAreRefused) {
    constexpr std::int64_t kHuge = std::int64_t{1} << 32;
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    RunShape shape = cifar_shape(1);
    shape.micro_batch_size = kHuge;
    shape.gradient_accumulation_count = kHuge;
    expect_usage_error(shape, "4294967296 x");
    shape = cifar_shape(1);
    shape.gradient_accumulation_count = kHuge;
    shape.replicas = kHuge;
    expect_usage_error(shape, "micro-batches");
    expect_usage_error(by_iterations(kLargest, 1000, 1), "--iterations");
    expect_usage_error(by_iterations(kLargest / 8, 1000, 1), "samples");
    expect_usage_error(cifar_shape(1e308), "--epochs");
    expect_usage_error(with_checkpoints(cifar_shape(1), 1, kLargest, 0), "--epochs-per-ckpt");
    expect_usage_error(with_checkpoints(cifar_shape(1), 1, 0, kLargest), "--ckpt-epochs-offset");
}

/// Visits every step, as the plan itself must not.
void expect_the_checkpoints_of_all_steps(const RunPlan& plan) {
    std::vector<HostStep> visited;
    for (const HostStep& step : steps_from(plan, 0)) {
        if (step.checkpoint) visited.push_back(step);
    }
    EXPECT_EQ(plan.checkpoint_steps(), visited);
    EXPECT_EQ(plan.checkpoint_count(), static_cast<std::int64_t>(visited.size()));
    for (std::int64_t start = 0; start <= plan.iterations; start += 1 + plan.iterations / 40) {
        const auto next = std::ranges::find_if(visited, [&](const HostStep& step) { return step.end() > start; });
        const auto found = plan.next_checkpoint(start);
        ASSERT_EQ(found.has_value(), next != visited.end()) << start;
        if (found) {
            EXPECT_EQ(*found, *next) << start;
        }
    }
}

TEST(RunPlan, FindsItsCheckpointsWithoutVisitingAllSteps) {
    Rng rng(7, RngStream::test);
    for (int i = 0; i < 3000; ++i) {
        RunShape shape;
        shape.images = rng.integer(1, 2000);
        shape.micro_batch_size = rng.integer(1, 64);
        if (rng.uniform() < 0.5) shape.iterations = rng.integer(1, 3000);
        shape.epochs = static_cast<double>(rng.integer(1, 40)) / (rng.uniform() < 0.5 ? 1 : 4);
        shape.device_iterations = rng.integer(1, 200);
        shape.logs_per_epoch = rng.integer(1, 20);
        shape.log_freq = rng.integer(1, 700);
        shape.ckpts_per_epoch = rng.integer(0, 4);
        if (rng.uniform() < 0.3) shape.epochs_per_ckpt = rng.integer(0, 5);
        if (rng.uniform() < 0.5) shape.ckpt_epochs_offset = rng.integer(0, 12);
        const bool too_short = !shape.iterations && static_cast<double>(shape.images) * shape.epochs <
                                                        static_cast<double>(shape.micro_batch_size);
        if (too_short) continue;
        SCOPED_TRACE(i);
        expect_the_checkpoints_of_all_steps(make_run_plan(shape));
        if (testing::Test::HasFailure()) return;
    }
}

TEST(RunPlan, KnowsTheCheckpointsOfEndlessRuns) {
    const RunPlan plan = make_run_plan(by_iterations(1'000'000'000'000, 10, 1));
    EXPECT_EQ(plan.checkpoint_count(), 640'204'866);  // 10^12 / 1562, of which those of the last epoch are one
    EXPECT_EQ(plan.next_checkpoint(0)->end(), 1562);
    EXPECT_EQ(plan.next_checkpoint(plan.iterations - 1)->end(), plan.iterations);
}

TEST(RunPlan, StepsOutsideTheRunAreDefects) {
    const RunPlan plan = make_run_plan(cifar_shape(1));
    EXPECT_THROW(plan.host_step(plan.iterations), Error);
    EXPECT_THROW(plan.host_step(-1), Error);
}

TEST(ValidationPlan, CountsEveryImageOnce) {
    for (const auto& [images, batch] : {std::pair{10000, 32}, {50000, 128}, {1, 8}, {64, 64}, {65, 64}}) {
        const ValidationPlan plan = make_validation_plan(images, batch);
        EXPECT_EQ(plan.images, images);
        EXPECT_GE(plan.batches * plan.batch, images);
        EXPECT_LT((plan.batches - 1) * plan.batch, images);
    }
    EXPECT_THROW(make_validation_plan(0, 8), Error);
    EXPECT_THROW(make_validation_plan(8, 0), Error);
}

StepShape steps(std::int64_t count, std::int64_t at_once = 1) {
    StepShape shape;
    shape.micro_batch_size = 8;
    shape.gradient_accumulation_count = 4;
    shape.replicas = 2;
    shape.iterations = count;
    shape.device_iterations = at_once;
    shape.samples = 640;
    shape.steps_per_log = 1;
    shape.steps_per_checkpoint = 100;
    return shape;
}

/// The numbers of the steps after which the plan saves.
std::vector<std::int64_t> saved_steps(const RunPlan& plan) {
    std::vector<std::int64_t> numbers;
    for (const HostStep& step : plan.checkpoint_steps())
        numbers.push_back(step.first_iteration);
    EXPECT_EQ(plan.checkpoint_count(), std::ssize(numbers));
    for (std::int64_t start = 0; start < plan.iterations; start += plan.iterations_per_host_step) {
        const bool listed = std::ranges::find(numbers, start) != numbers.end();
        EXPECT_EQ(plan.host_step(start).checkpoint, listed) << start;
    }
    return numbers;
}

TEST(StepPlan, SavesAfterStepsWhoseNumberIsAMultipleAndAfterTheLast) {
    const RunPlan plan = make_step_plan(steps(402));
    EXPECT_EQ(plan.global_batch, 64);
    EXPECT_EQ(plan.iterations_per_epoch, 10);
    EXPECT_EQ(saved_steps(plan), (std::vector<std::int64_t>{100, 200, 300, 400, 401}));
    EXPECT_EQ(saved_steps(make_step_plan(steps(401))), (std::vector<std::int64_t>{100, 200, 300, 400}));
    EXPECT_EQ(saved_steps(make_step_plan(steps(1))), (std::vector<std::int64_t>{0}));
    StepShape never = steps(402);
    never.steps_per_checkpoint = 0;
    EXPECT_EQ(saved_steps(make_step_plan(never)), (std::vector<std::int64_t>{401}));
}

TEST(StepPlan, PeriodsAreWholeHostSteps) {
    StepShape shape = steps(22, 4);
    shape.steps_per_checkpoint = 7;  // 8
    shape.steps_per_log = 5;         // 8
    const RunPlan plan = make_step_plan(shape);
    EXPECT_EQ(plan.iterations, 20);
    EXPECT_EQ(saved_steps(plan), (std::vector<std::int64_t>{8, 16}));
    std::vector<std::int64_t> logged;
    for (std::int64_t start = 0; start < plan.iterations; start += 4) {
        const HostStep step = plan.host_step(start);
        EXPECT_EQ(step.lr_iteration, start);
        EXPECT_EQ(step.iterations, 4);
        if (step.log) logged.push_back(start);
    }
    EXPECT_EQ(logged, (std::vector<std::int64_t>{0, 8, 16}));
}

TEST(StepPlan, HistogramsAreOfTheFirstStepTooAndOthersAreSaved) {
    StepShape shape = steps(402);
    shape.steps_per_histogram = 150;
    const RunPlan plan = make_step_plan(shape);
    EXPECT_EQ(saved_steps(plan), (std::vector<std::int64_t>{100, 150, 200, 300, 400, 401}));
    for (std::int64_t step = 0; step < 402; ++step)
        EXPECT_EQ(plan.host_step(step).histograms, step % 150 == 0) << step;
    EXPECT_FALSE(make_step_plan(steps(402)).host_step(0).histograms);

    for (const std::int64_t checkpoints : {0, 1, 6, 7, 100}) {
        for (const std::int64_t histograms : {0, 1, 4, 6, 11, 500}) {
            StepShape both = steps(90, 2);
            both.steps_per_checkpoint = checkpoints;
            both.steps_per_histogram = histograms;
            saved_steps(make_step_plan(both));  // holds the count against the steps
        }
    }
    shape.steps_per_histogram = -1;
    EXPECT_FALSE(make_step_plan(shape).host_step(0).histograms);
}

TEST(StepPlan, ARunOfNoStepIsOne) {
    const RunPlan plan = make_step_plan(steps(3, 4));
    EXPECT_EQ(plan.iterations, 0);
    EXPECT_EQ(plan.checkpoint_count(), 0);
    EXPECT_TRUE(plan.checkpoint_steps().empty());
    EXPECT_THROW(make_step_plan(steps(-1)), Error);
}

}  // namespace
}  // namespace cnntrain::schedule
