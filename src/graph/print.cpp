// Graphs as text, for logs and for tests that fail.
#include "cnntrain/base/text.h"
#include "cnntrain/graph/attr_text.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {
namespace {

std::string attrs_text(const OpDef& def, const Attrs& attrs) {
    AttrText text;
    if (def.describe != nullptr) def.describe(attrs, text);
    const std::string items = text.str();
    return items.empty() ? "" : " {" + items + "}";
}

std::string value_text(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return value.role == Role::intermediate ? "%" + std::to_string(id.index) : value.name;
}

std::string node_text(const Graph& graph, const Node& node) {
    const auto value = [&](ValueId id) { return value_text(graph, id); };
    const auto desc = [&](ValueId id) { return to_string(graph.desc(id)); };
    std::string line;
    if (!node.outputs.empty()) line += joined(node.outputs, ", ", value) + " = ";
    line += std::string(graph.def(node).name) + "(" + joined(node.inputs, ", ", value) + ")" +
            attrs_text(graph.def(node), node.attrs);
    if (!node.outputs.empty()) line += " : " + joined(node.outputs, ", ", desc);
    line += "  # " + node.name;
    if (node.phase == Phase::backward) line += ", backward";
    if (node.phase == Phase::update) line += ", update";
    if (node.stage.index != 0) line += ", stage " + std::to_string(node.stage.index);
    if (node.recomputed) line += ", recomputed";
    return line + "\n";
}

}  // namespace

std::string Graph::to_text() const {
    std::string text;
    for (const Node& n : nodes_)
        text += node_text(*this, n);
    for (const Output& output : outputs_)
        text += "output " + output.name + " = " + value_text(*this, output.value) + "\n";
    return text;
}

}  // namespace cnntrain::graph
