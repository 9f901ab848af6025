#include "plan/line.h"

#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::plan {

std::int64_t PlannedLine::legal_accumulation(const schedule::Pipeline& pipeline) const {
    const std::int64_t unit = schedule::micro_batch_unit(pipeline);
    return (accumulation + unit - 1) / unit * unit;
}

PlannedLine line_of(const config::ParseResult& arguments) {
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
    return line;
}

}  // namespace cnntrain::plan
