#include "plan/line_network.h"

#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/data/image_fields.h"
#include "cnntrain/data/input.h"
#include "cnntrain/train/assemble.h"
#include "train/runs/compile_request.h"

namespace cnntrain::plan {

namespace {

/// The fields of a micro-batch; no data are looked for.
std::vector<data::Field> fields_of(const config::Settings& settings, const backend::Backend& backend) {
    config::Settings generated = settings;
    generated.data.kind = data::DataKind::generated;
    const data::InputData input(train::data_settings(generated, backend, 0), data::Split::train);
    return input.fields(train::placement(settings, backend).samples);
}

/// What is measured depends neither on the splits nor on what stages keep.
config::Settings unsplit(config::Settings settings) {
    settings.training.pipeline = false;
    settings.training.pipeline_splits.clear();
    settings.training.shards = 1;
    settings.training.recomputation = false;
    return settings;
}

}  // namespace

NetworkOfLine network_of_line(const config::Settings& settings, const backend::Backend& backend) {
    const std::vector<data::Field> fields = fields_of(settings, backend);
    NetworkOfLine result{FunctionNames(nn::split_points(train::network_settings(settings))),
                         train::training_graph(unsplit(settings), backend, data::field_desc(fields, data::kImages)),
                         {},
                         {}};
    PlannedNetwork& network = result.network;
    network.threads = compute_threads(settings.run);
    network.lanes = settings.training.lanes;
    if (settings.training.recomputation) network.kept = Kept::inputs;
    network.facts = function_facts(result.graph, result.names);
    network.results = pass_results(result.graph, result.names);
    try {
        constexpr std::int64_t kMicroBatches = 2;  // gradients are summed
        backend::CompileRequest request = train::compile_request(result.graph, settings, fields, 0);
        request.plan.accumulation = kMicroBatches;
        const auto executable = backend.compile(request);
        add_copies(result.graph, result.names, executable->report(), network.facts, network.results);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::unsupported) throw;
        result.without_copies = error.what();
    }
    return result;
}

}  // namespace cnntrain::plan
