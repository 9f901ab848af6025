#include "train/plan/line.h"

#include "cnntrain/base/error.h"
#include "cnntrain/train/assemble.h"

namespace cnntrain::train {

using schedule::PipelineSchedule;

namespace {

PipelineSchedule schedule_named(std::string_view name) {
    for (const auto candidate :
         {PipelineSchedule::grouped, PipelineSchedule::interleaved, PipelineSchedule::sequential}) {
        if (schedule::name(candidate) == name) return candidate;
    }
    throw Error(ErrorKind::internal, "no pipeline schedule is called " + std::string(name));
}

}  // namespace

std::int64_t PlannedLine::legal_accumulation(const schedule::Pipeline& pipeline) const {
    const std::int64_t unit = schedule::micro_batch_unit(pipeline);
    return (accumulation + unit - 1) / unit * unit;
}

PlannedLine line_of(const config::ParseResult& arguments) {
    const TrainingSettings& training = arguments.settings.training;
    const schedule::BatchPlan batch = batch_plan(arguments.settings);
    PlannedLine line;
    line.pipelined = training.pipeline;
    if (training.pipeline) line.splits = training.pipeline_splits;
    line.shards = training.shards;
    line.schedule = schedule_named(std::get<std::string>(arguments.at("pipeline_schedule").value));
    line.micro_batch = batch.micro_batch;
    line.accumulation = batch.accumulation;
    line.replicas = batch.micro_batches() / batch.accumulation;
    return line;
}

}  // namespace cnntrain::train
