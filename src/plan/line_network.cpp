#include "plan/line_network.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::plan {

namespace {

/// What is measured depends neither on the splits nor on what stages keep.
config::ParseResult unsplit(config::ParseResult arguments) {
    train::TrainingSettings& training = arguments.settings.training;
    training.pipeline = false;
    training.pipeline_splits.clear();
    training.shards = 1;
    training.recomputation = false;
    return arguments;
}

}  // namespace

NetworkOfLine network_of_line(const train::TaskRow& row, const config::ParseResult& arguments,
                              const backend::Backend& backend) {
    const config::Settings& settings = arguments.settings;
    const std::unique_ptr<train::Task> task = row.make(unsplit(arguments), backend, 0);
    const std::vector<data::Field> fields = task->fields_of_generated(train::placement(settings, backend).samples);
    NetworkOfLine result{FunctionNames(row.functions(settings)), task->training_graph(fields), {}, {}};
    PlannedNetwork& network = result.network;
    network.threads = train::compute_threads(settings.run);
    network.lanes = settings.training.lanes;
    if (settings.training.recomputation) network.kept = Kept::inputs;
    network.facts = function_facts(result.graph, result.names);
    const bool told_apart =
        std::ranges::any_of(network.facts, [](const FunctionFacts& facts) { return facts.parameters > 0; });
    if (!told_apart) {
        throw Error(ErrorKind::unsupported, "cnntrain plan: the variables of --task " + std::string(row.options.name) +
                                                " are not named by the functions of its network, so that stages "
                                                "cannot be planned");
    }
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
