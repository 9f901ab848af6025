#include "insight/plan/line.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/insight/plan.h"
#include "cnntrain/run/compile_request.h"
#include "insight/plan/report.h"

namespace cnntrain::plan {
namespace {

std::string written_splits(const options::Settings& /*settings*/, const std::vector<std::string>& splits) {
    return "--pipeline-splits" + each_behind(" ", splits);
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

namespace {

constexpr double kMsPerSecond = 1e3;

Link link_of(const comm::LinkFit& fit) {
    return {fit.latency_seconds * kMsPerSecond, fit.bytes_per_second / kMsPerSecond};
}

ReduceMethod method_of(const comm::ReduceOptions& options) {
    return {.wire_bits = options.wire == comm::Wire::bf16 ? 16 : 32,
            .hierarchical = options.route == comm::Route::hierarchical};
}

std::string fit_text(const std::vector<comm::TimedMessage>& messages, const std::string& where) {
    if (messages.empty()) return "";
    const comm::LinkFit fit = comm::fit_link(messages);
    return where + " " + link_text(link_of(fit)) + " (residual " + percent(fit.residual) + "); ";
}

}  // namespace

Network network_of(const comm::NetworkTimes& times) {
    Network network;
    if (!times.between_nodes.empty()) network.between_nodes = link_of(comm::fit_link(times.between_nodes));
    if (!times.inside_node.empty()) network.inside_node = link_of(comm::fit_link(times.inside_node));
    network.adding_ms_per_byte = times.adding_seconds_per_byte * kMsPerSecond;
    return network;
}

std::string link_text(const Link& link) {
    return formatted("latency %.3g us, %.3g GB/s", link.latency_ms * 1e3, link.bytes_per_ms * kMsPerSecond / 1e9);
}

std::string measured_text(const comm::NetworkTimes& times) {
    return fit_text(times.between_nodes, "between nodes") + fit_text(times.inside_node, "inside a node") +
           formatted("adding %.3g GB/s", 1e-9 / times.adding_seconds_per_byte);
}

std::string sums_text(const comm::NetworkTimes& times, const ProcessGrid& grid) {
    const Network network = network_of(times);
    TextRows rows = {{"bucket bytes"}};
    for (const comm::TimedSum& sum : times.sums) {
        const std::string bytes = formatted("%.0f", sum.bytes);
        const bool next_size = rows.size() == 1 || rows.back().front() != bytes;
        if (next_size) rows.push_back({bytes});
        const ReduceMethod method = method_of(sum.options);
        if (rows.size() == 2) {
            const std::string name =
                (method.hierarchical ? "hierarchical " : "flat ") + std::to_string(method.wire_bits);
            rows.front().insert(rows.front().end(), {name + " us", "model us", "ratio"});
        }
        const double model_seconds = all_reduce_ms(network, grid, method, sum.bytes) / kMsPerSecond;
        rows.back().insert(rows.back().end(),
                           {formatted("%.1f", sum.seconds * 1e6), formatted("%.1f", model_seconds * 1e6),
                            formatted("%.2f", model_seconds / sum.seconds)});
    }
    return in_columns(rows);
}

}  // namespace cnntrain::plan
