#include "insight/plan/line.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/run/compile_request.h"

namespace cnntrain::plan {
namespace {

std::string written_splits(const options::Settings& /*settings*/, const std::vector<std::string>& splits) {
    std::string text = "--pipeline-splits";
    for (const std::string& split : splits)
        text += " " + split;
    return text;
}

/// Options that a line without a pipeline needs besides its stages.
std::string options_before(const PlannedLine& line, const run::TaskRow& row) {
    if (line.pipelined) return "";
    const std::string schedule = "--pipeline-schedule " + std::string(spelling(line.schedule)) + " ";
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

PlannedLine line_of(const run::TaskRow& row, const options::ParseResult& arguments) {
    const run::TrainingSettings& training = arguments.settings.training;
    const schedule::BatchPlan batch = run::batch_plan(arguments.settings);
    PlannedLine line;
    line.pipelined = training.pipeline;
    if (training.pipeline) line.splits = training.pipeline_splits;
    line.shards = training.shards;
    line.schedule = training.pipeline_schedule;
    const schedule::Placement placement = schedule::in_one_lane(run::update_plan(arguments.settings));
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

namespace {

/// A pipeline whose only stage is the whole network: measurements depend neither on splits nor on stashes.
options::ParseResult unsplit(options::ParseResult arguments) {
    run::TrainingSettings& training = arguments.settings.training;
    training.pipeline = true;
    training.pipeline_splits.clear();
    training.shards = 1;
    training.recomputation = false;
    return arguments;
}

}  // namespace

NetworkOfLine network_of_line(const run::TaskRow& row, const options::ParseResult& arguments,
                              const backend::Backend& backend) {
    const options::Settings& settings = arguments.settings;
    const std::unique_ptr<run::Task> task = row.make(unsplit(arguments), backend, 0);
    const std::vector<data::Field> fields =
        task->batch_fields(data::Split::train, run::placement(settings, backend).samples);
    NetworkOfLine result{
        FunctionNames(row.functions(settings), row.scopes), task->graph(run::GraphUse::training, fields), {}, {}};
    PlannedNetwork& network = result.network;
    network.threads = run::compute_threads(settings.run);
    network.lanes = settings.training.lanes;
    if (settings.training.recomputation) network.kept = Kept::inputs;
    network.facts = function_facts(result.graph, result.names);
    network.results = pass_results(result.graph, result.names);
    try {
        constexpr std::int64_t kLeast = 2;    // so that gradients are summed
        constexpr std::int64_t kMost = 1024;  // the backend lists them
        backend::CompileRequest request = run::compile_request(result.graph, settings, fields, 0);
        // The number of micro-batches decides which copies pay off.
        const schedule::Placement update = schedule::in_one_lane(run::update_plan(settings));
        request.plan.accumulation = std::clamp(update.micro_batches, kLeast, kMost);
        const auto executable = backend.compile(request);
        add_copies(result.graph, result.names, executable->report(), network.facts, network.results);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        result.without_copies = error.what();
    }
    return result;
}

}  // namespace cnntrain::plan
