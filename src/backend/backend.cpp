#include "cnntrain/backend/backend.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::backend {
namespace {

auto field_named(const std::vector<data::Field>& fields, std::string_view name) {
    return std::ranges::find(fields, name, &data::Field::name);
}

/// Reasons why the fields do not fit the graph's inputs: one line for each such input.
std::string unfilled_inputs(const graph::Graph& graph, const std::vector<data::Field>& fields) {
    std::string lines;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const graph::Value& input = graph.value(id);
        const auto field = field_named(fields, input.name);
        if (field != fields.end() && field->desc == input.desc) continue;
        const std::string got =
            field == fields.end() ? "no field has this name" : "the field is " + to_string(field->desc);
        lines += "\n  " + input.name + ": expected " + to_string(input.desc) + ", " + got;
    }
    if (lines.empty()) return "";
    lines += "\n  the fields are:";
    for (const data::Field& field : fields)
        lines += " " + field.name + " " + to_string(field.desc);
    return fields.empty() ? lines + " none" : lines;
}

std::string unknown_scalars(const graph::Graph& graph) {
    std::string lines;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::scalar)) {
        const std::string& name = graph.value(id).name;
        if (std::ranges::find(kScalarNames, name) == kScalarNames.end())
            lines += "\n  " + name + ": a step has nothing to fill it with";
    }
    return lines;
}

}  // namespace

std::size_t scalar_position(std::string_view name) {
    const auto* const found = std::ranges::find(kScalarNames, name);
    CNNTRAIN_CHECK(found != kScalarNames.end(), "a scalar that no step has: " + std::string(name));
    return static_cast<std::size_t>(found - kScalarNames.begin());
}

void refuse_name(const std::string& kind, const std::string& name, const std::vector<std::string>& names) {
    throw Error(ErrorKind::internal, "no " + kind + " is named '" + name + "'" + suggestion(name, names));
}

void check_supported(const Backend& backend, const CompileRequest& request) {
    const graph::Graph& graph = *request.graph;
    std::string refusals = unfilled_inputs(graph, request.fields) + unknown_scalars(graph);
    for (const graph::Node& node : graph.nodes()) {
        const std::string reason = backend.info().why_unsupported(graph, node);
        if (!reason.empty()) refusals += "\n  " + node.name + " (" + std::string(graph.def(node).name) + "): " + reason;
    }
    if (refusals.empty()) return;
    throw Error(ErrorKind::unsupported,
                "the " + std::string(backend.name()) + " backend cannot execute this graph:" + refusals);
}

void check_request(const Backend& backend, const CompileRequest& request) {
    CNNTRAIN_CHECK(request.graph != nullptr && request.plan.accumulation >= 1 && request.plan.stages() >= 1,
                   "a compile request needs a graph, a micro-batch and a stage");
    for (const graph::Node& node : request.graph->nodes()) {
        CNNTRAIN_CHECK(node.stage.index < request.plan.stages(), node.name + " is in stage " +
                                                                     std::to_string(node.stage.index) + " of " +
                                                                     std::to_string(request.plan.stages()));
    }
    check_supported(backend, request);
}

std::vector<std::size_t> match_fields(const graph::Graph& graph, const std::vector<data::Field>& fields) {
    std::vector<std::size_t> numbers;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const std::string& name = graph.value(id).name;
        const auto field = field_named(fields, name);
        CNNTRAIN_CHECK(field != fields.end(), "no field is called " + name);
        numbers.push_back(static_cast<std::size_t>(field - fields.begin()));
    }
    return numbers;
}

bool settle(const StepResult& result, bool check_finite) {
    const auto finite = [](const auto& sum) { return std::isfinite(sum.second); };
    return !result.stopped && (!check_finite || std::ranges::all_of(result.sums, finite));
}

void Executable::load(const std::string& name, HostTensor tensor) {
    NamedTensors one;
    one.emplace(name, std::move(tensor));
    load(one);
}

HostTensor Executable::store(const std::string& name) const {
    return std::move(store(std::span(&name, 1)).at(name));
}

StepResult Executable::train_step(data::BatchSource& source, const StepScalars& scalars, PartialUpdate* partial) {
    StepResult result;
    train(
        source, std::span(&scalars, 1), [&result](StepResult told) { result = std::move(told); }, partial);
    return result;
}

std::vector<std::string> Executable::variable_names() const {
    std::vector<std::string> names;
    for (const Variable& variable : report().variables)
        names.push_back(variable.name);
    return names;
}

void train_one_by_one(std::span<const StepScalars> updates, const std::function<StepResult(const StepScalars&)>& update,
                      const std::function<bool()>& stop_requested, const UpdateDone& done) {
    for (std::size_t i = 0; i < updates.size(); ++i) {
        if (i > 0 && stop_requested && stop_requested()) return;
        StepResult result = update(updates[i]);
        const bool goes_on = result.counts && !result.stop_requested;
        done(std::move(result));
        if (!goes_on) return;
    }
}

bool stops_before(std::int64_t micro_batch, const std::function<bool()>& stop_requested) {
    return micro_batch > 0 && stop_requested && stop_requested();
}

void check_partial(const PartialUpdate& partial, std::int64_t iteration, std::int64_t micro_batches) {
    if (partial.empty()) return;
    CNNTRAIN_CHECK(partial.iteration == iteration && partial.micro_batches <= micro_batches,
                   "update " + std::to_string(iteration) + " of " + std::to_string(micro_batches) +
                       " micro-batches cannot continue with " + std::to_string(partial.micro_batches) + " of update " +
                       std::to_string(partial.iteration));
}

std::span<const std::byte> field_bytes(const data::Batch& batch, std::size_t field, const TensorDesc& desc) {
    const bool there = field < batch.fields.size();
    CNNTRAIN_CHECK(there && batch.fields[field].size() == desc.bytes(),
                   "field " + std::to_string(field) + " of the batch has " +
                       std::to_string(there ? batch.fields[field].size() : 0) + " bytes, the graph was compiled for " +
                       to_string(desc));
    return batch.fields[field];
}

}  // namespace cnntrain::backend
