#include "plan/line.h"

#include <numeric>

#include "cnntrain/train/compile_request.h"

namespace cnntrain::plan {
namespace {

std::string written_splits(const config::Settings& /*settings*/, const std::vector<std::string>& splits) {
    std::string text = "--pipeline-splits";
    for (const std::string& split : splits)
        text += " " + split;
    return text;
}

/// What a line without a pipeline needs besides its stages.
std::string options_before(const PlannedLine& line, const train::TaskRow& row) {
    if (line.pipelined) return "";
    const std::string schedule = "--pipeline-schedule " + std::string(schedule::name(line.schedule)) + " ";
    return row.pipeline ? schedule : "--pipeline " + schedule;
}

}  // namespace

std::int64_t PlannedLine::micro_batch_unit(const schedule::Pipeline& pipeline) const {
    const std::int64_t unit = schedule::micro_batch_unit(pipeline);
    return unit_of_task ? std::lcm(unit, unit_of_task(pipeline.stages)) : unit;
}

std::int64_t PlannedLine::legal_accumulation(const schedule::Pipeline& pipeline) const {
    const std::int64_t unit = micro_batch_unit(pipeline);
    return (accumulation + unit - 1) / unit * unit;
}

PlannedLine line_of(const train::TaskRow& row, const config::ParseResult& arguments) {
    const train::TrainingSettings& training = arguments.settings.training;
    const schedule::BatchPlan batch = train::batch_plan(arguments.settings);
    PlannedLine line;
    line.pipelined = training.pipeline;
    if (training.pipeline) line.splits = training.pipeline_splits;
    line.shards = training.shards;
    line.schedule = training.pipeline_schedule;
    const schedule::Placement placement = schedule::in_one_lane(train::update_plan(arguments.settings));
    line.micro_batch = placement.samples;
    line.accumulation = batch.accumulation;
    line.replicas = placement.micro_batches / batch.accumulation;
    line.written_stages = [arguments, write = row.pipeline ? row.pipeline->stages : written_splits,
                           before = options_before(line, row)](const auto& splits) {
        return before + write(arguments.settings, splits);
    };
    if (row.pipeline) line.unit_of_task = row.pipeline->micro_batch_unit;
    return line;
}

}  // namespace cnntrain::plan
