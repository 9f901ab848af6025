#include "run/reports/run_report.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "support/matchers.h"
#include "support/metric_rows.h"
#include "train/by_task.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

/// Squares of decayed weights: 9 + 16.
std::map<std::string, HostTensor> weights() {
    return {{"all/fc1/weight", HostTensor::of<float>({2}, {3, -4})},
            {"all/fc1/weight/Momentum", HostTensor::of<float>({2}, {70, 80})},
            {"all/bn/batch_norm/gamma", HostTensor::of<float>({1}, {5})},
            {"all/bn/batch_norm/beta", HostTensor::of<float>({1}, {6})},
            {"all/bn/batch_norm/moving_variance", HostTensor::of<float>({1}, {7})}};
}

/// Text of a log with a weight decay of 0.08, for the progress and for a row with results in percent and a loss.
struct Said {
    std::string of_progress;
    std::string of_row;
};
Said said(std::int64_t batches, std::vector<double> results) {
    MemoryFiles files;
    weights::Checkpoint checkpoint;
    checkpoint.iteration = 15625;
    checkpoint.tensors = weights();
    const std::string path = weights::checkpoint_path("run", checkpoint.iteration);
    weights::save(files, path, checkpoint);
    std::ostringstream out;
    metrics::Console console(out, {});
    EstimatorLog log(0.08, {{path, "ckpt-15625", 15625}}, weights::Edited::refused, files, console);
    for (std::int64_t done = 1; done <= batches; ++done)
        log.on(metrics::Progress{.done = done, .total = batches});
    Said result{out.str(), ""};
    const auto backend = make_backend(backend::BackendKind::ref);
    const ImageClassification task(parse("--dataset imagenet --generated-data --model-size 18"), *backend, 1);
    log.on(metrics::Row{reported(task, metrics::testing::validation_row(std::move(results)))});
    result.of_row = out.str().substr(result.of_progress.size());
    return result;
}

TEST(EstimatorLog, TellsEveryTenthPart) {
    EXPECT_EQ(said(250, {75, 75, 92, 1}).of_progress,
              "Evaluation [25/250]\nEvaluation [50/250]\nEvaluation [75/250]\nEvaluation [100/250]\nEvaluation "
              "[125/250]\nEvaluation [150/250]\nEvaluation [175/250]\nEvaluation [200/250]\nEvaluation "
              "[225/250]\nEvaluation [250/250]\n");
    EXPECT_EQ(said(3, {75, 75, 92, 1}).of_progress, "Evaluation [1/3]\nEvaluation [2/3]\nEvaluation [3/3]\n");
    EXPECT_THAT(said(47, {75, 75, 92, 1}).of_progress, HasSubstr("44/47"));
}

/// The numbers of the recipe's own log, one of its loss being that of the weights.
TEST(EstimatorLog, SaysTheResultsAsTheRecipesLogDoes) {
    const std::string text = said(1, {75.232, 75.232, 92.41, 0.9024274}).of_row;
    EXPECT_THAT(text, ContainsRegex("Finished evaluation at [0-9]{4}-[0-9]{2}-[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}\n"));
    EXPECT_THAT(text, HasSubstr("'Top-1 accuracy'"));
    EXPECT_THAT(said(1, {0, 0, 100, 1}).of_row, HasSubstr("1 accuracy"));
}

TEST(EstimatorLog, TheWeightsLossIsOfWhatDecays) {
    EXPECT_DOUBLE_EQ(weight_loss(weights(), 5e-5), 5e-5 / 2 * 25);
}

}  // namespace
}  // namespace cnntrain::run::testing
