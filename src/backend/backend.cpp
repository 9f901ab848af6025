#include "cnntrain/backend/backend.h"

#include "cnntrain/base/error.h"

namespace cnntrain::backend {

namespace {

void check_fed(const graph::Graph& graph, graph::Role role, const std::vector<std::string>& known,
               std::string& refusals) {
    for (const graph::ValueId id : graph.values_with_role(role)) {
        const std::string& name = graph.value(id).name;
        bool fed = false;
        for (const std::string& candidate : known)
            fed = fed || candidate == name;
        if (!fed) refusals += "\n  " + name + ": a step has nothing to fill it with";
    }
}

}  // namespace

std::span<const std::byte> input_bytes(const data::Batch& batch, std::string_view input, const TensorDesc& desc) {
    std::span<const std::byte> bytes;
    if (input == "images") bytes = batch.images;
    if (input == "labels") bytes = std::as_bytes(batch.labels);
    if (input == "mixup") bytes = std::as_bytes(batch.mixing.mixup);
    if (input == "cutmix_box") bytes = std::as_bytes(batch.mixing.cutmix_box);
    if (input == "target_shares") bytes = std::as_bytes(batch.mixing.target_shares);
    CNNTRAIN_CHECK(bytes.size() == desc.bytes(), "the data pipeline delivers " + std::to_string(bytes.size()) +
                                                     " bytes as " + std::string(input) +
                                                     ", the graph was compiled for " + to_string(desc));
    return bytes;
}

void check_supported(const Backend& backend, const graph::Graph& graph) {
    std::string refusals;
    check_fed(graph, graph::Role::input, {"images", "labels", "mixup", "cutmix_box", "target_shares"}, refusals);
    check_fed(graph, graph::Role::scalar, {"learning_rate"}, refusals);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node(graph::NodeId{i});
        const std::string reason = backend.why_unsupported(graph, node);
        if (!reason.empty()) {
            refusals += "\n  " + node.name + " (" + std::string(graph.def(node).name) + "): " + reason;
        }
    }
    if (refusals.empty()) return;
    throw Error(ErrorKind::unsupported,
                "the " + std::string(backend.name()) + " backend cannot execute this graph:" + refusals);
}

void check_request(const Backend& backend, const CompileRequest& request) {
    CNNTRAIN_CHECK(request.graph != nullptr && request.plan.micro_batches >= 1 && request.plan.stages >= 1,
                   "a compile request needs a graph, a micro-batch and a stage");
    for (std::int32_t i = 0; i < request.graph->node_count(); ++i) {
        const graph::Node& node = request.graph->node(graph::NodeId{i});
        CNNTRAIN_CHECK(node.stage.index < request.plan.stages, node.name + " is in stage " +
                                                                   std::to_string(node.stage.index) + " of " +
                                                                   std::to_string(request.plan.stages));
    }
    check_supported(backend, *request.graph);
}

}  // namespace cnntrain::backend
