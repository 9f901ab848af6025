// The memory that `plan` predicts for stages against that of the compiled stages.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "cnntrain/options/parse.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/tasks/tasks.h"
#include "insight/plan/line.h"

namespace cnntrain::run::testing {

inline std::vector<double> predicted_bytes(const options::ParseResult& line) {
    const TaskRow& row = tasks::row_of(line);
    const auto backend = make_backend(line.settings.run.backend);
    plan::NetworkOfLine of_line = plan::network_of_line(row, line, *backend);
    EXPECT_EQ(of_line.without_copies, "");
    plan::PlannedNetwork& network = of_line.network;
    for (const int threads : {1, 2})
        network.times[threads] = plan::times_of_flops(network.facts, threads);
    const plan::PlannedLine planned = plan::line_of(row, line);
    const plan::Prediction plan = predict(network, {planned.stages(), planned.schedule}, planned.micro_batches(),
                                          of_line.names.indices(planned.splits));
    std::vector<double> stages;
    for (const plan::StageCost& stage : plan.stages)
        stages.push_back(static_cast<double>(stage.memory_bytes()));
    return stages;
}

inline std::vector<double> compiled_bytes(const options::ParseResult& line) {
    const auto backend = make_backend(line.settings.run.backend);
    const auto task = tasks::row_of(line).make(line, *backend, 1);
    const std::vector<data::Field> fields =
        task->batch_fields(data::Split::train, placement(line.settings, *backend).samples);
    const graph::Graph graph = task->graph(run::GraphUse::training, fields);
    const auto executable = backend->compile(training_request(graph, line.settings, fields, 1));
    const backend::CompileReport& report = executable->report();
    std::vector<double> stages;
    for (std::size_t i = 0; i < report.stage_variable_bytes.size(); ++i)
        stages.push_back(static_cast<double>(report.stage_variable_bytes[i] + report.stage_held_bytes[i]));
    return stages;
}

inline void expect_memory_as_compiled(const options::ParseResult& line) {
    const std::vector<double> predicted = predicted_bytes(line);
    const std::vector<double> compiled = compiled_bytes(line);
    ASSERT_EQ(predicted.size(), compiled.size());
    constexpr double kTolerance = 0.02;
    constexpr double kScratchBytes = 32 << 10;  // of products, which differs between processors
    for (std::size_t i = 0; i < compiled.size(); ++i)
        EXPECT_NEAR(predicted[i], compiled[i], kTolerance * compiled[i] + kScratchBytes) << "stage " << i;
}

}  // namespace cnntrain::run::testing
