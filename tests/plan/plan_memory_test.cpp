// The memory that `plan` predicts for stages against that of the compiled stages.
#include <gtest/gtest.h>

#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/stages.h"
#include "plan/line.h"
#include "plan/line_network.h"
#include "train/fixtures.h"
#include "train/staged.h"

namespace cnntrain::train::testing {
namespace {

std::vector<double> predicted_bytes(const std::string& line) {
    const config::ParseResult arguments = parse(line);
    const TrainingSettings& training = arguments.settings.training;
    const auto backend = make_backend(arguments.settings.run.backend);
    plan::NetworkOfLine of_line = plan::network_of_line(tasks::row_of(arguments), arguments, *backend);
    EXPECT_EQ(of_line.without_copies, "");
    plan::PlannedNetwork& network = of_line.network;
    for (const int threads : {1, 2})
        network.profile.times[threads] = plan::times_of_flops(network.facts, threads);
    std::vector<std::size_t> splits;
    for (const std::string& split : training.pipeline_splits)
        splits.push_back(of_line.names.of("all/" + split).value());
    const plan::PlannedLine planned = plan::line_of(arguments);
    const plan::Prediction plan =
        predict(network, {planned.stages(), planned.schedule}, planned.micro_batches(), std::move(splits));
    std::vector<double> stages;
    for (const plan::StageCost& stage : plan.stages)
        stages.push_back(static_cast<double>(stage.memory_bytes()));
    return stages;
}

std::vector<double> compiled_bytes(const std::string& line) {
    const config::Settings settings = parse(line).settings;
    const auto backend = make_backend(settings.run.backend);
    const data::InputData input(data_settings(settings, *backend, 1), data::Split::train);
    const std::vector<data::Field> fields = input.fields(placement(settings, *backend).samples);
    const graph::Graph graph = training_graph(settings, *backend, data::field_desc(fields, data::kImages));
    const auto executable = backend->compile(training_request(graph, settings, fields, 1));
    const backend::CompileReport& report = executable->report();
    std::vector<double> stages;
    for (std::size_t i = 0; i < report.stage_variable_bytes.size(); ++i)
        stages.push_back(static_cast<double>(report.stage_variable_bytes[i] + report.stage_held_bytes[i]));
    return stages;
}

void expect_predicted(const std::string& line) {
    SCOPED_TRACE(line);
    const std::vector<double> predicted = predicted_bytes(line);
    const std::vector<double> compiled = compiled_bytes(line);
    ASSERT_EQ(predicted.size(), compiled.size());
    constexpr double kTolerance = 0.02;
    for (std::size_t i = 0; i < compiled.size(); ++i)
        EXPECT_NEAR(predicted[i], compiled[i], kTolerance * compiled[i]) << "stage " << i;
}

class PlannedMemory : public ::testing::TestWithParam<const StagedNet*> {};

TEST_P(PlannedMemory, IsThatOfTheCompiledStages) {
    const StagedNet& net = *GetParam();
    const std::string common = net.options + "--generated-data --optimiser momentum --gradient-accumulation-count 8 ";
    for (const std::string& splits : {net.one_split, net.three_splits}) {
        for (const std::string schedule : {"Grouped", "Interleaved", "Sequential"}) {
            for (const std::string lanes : {"1", "2"}) {
                for (const std::string kept :
                     {"--precision 32.32", "--precision 16.16", "--precision 16.32 --group-norm --enable-recomputation",
                      "--precision 32.32 --batch-norm --enable-recomputation"})
                    expect_predicted(common + kept + " --pipeline --pipeline-splits " + splits +
                                     " --pipeline-schedule " + schedule + " --threads 2 --lanes " + lanes);
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, PlannedMemory, ::testing::Values(&kResnet8, &kResnet50, &kEfficientNet));

TEST(PlannedMemoryOfALine, OfFullSizeImagesIsThatOfTheCompiledStages) {
    const std::string line =
        "--dataset imagenet --model-size 50 --micro-batch-size 2 --generated-data --pipeline --pipeline-splits " +
        kResnet50.three_splits + " --gradient-accumulation-count 8 --threads 2 ";
    expect_predicted(line);
    expect_predicted(line + "--precision 32.32 --enable-recomputation");
}

}  // namespace
}  // namespace cnntrain::train::testing
