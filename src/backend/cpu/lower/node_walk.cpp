#include "backend/cpu/lower/node_walk.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

NodeWalk::NodeWalk(const graph::Graph& graph, const Program& program) : graph_(graph), facts_(graph) {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i)
        order_.push_back(NodeId{i});
    std::stable_sort(order_.begin(), order_.end(), [&](NodeId a, NodeId b) {
        return program.position(section_of(a)) < program.position(section_of(b));
    });
    position_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
        position_[static_cast<std::size_t>(order_[i].index)] = static_cast<std::int32_t>(i);
}

void NodeWalk::go_to(NodeId id) {
    current_ = id;
    check_order();
}

void NodeWalk::check_order() const {
    for (const ValueId input : node().inputs) {
        const graph::Value& value = graph_.value(input);
        if (!value.producer.valid() || position_of(value.producer) < position_of(current_)) continue;
        throw Error(ErrorKind::internal, "cpu backend: " + node().name + ", in stage " +
                                             std::to_string(node().stage.index) + ", reads " + value.name +
                                             ", which a section that runs later computes, in stage " +
                                             std::to_string(graph_.node(value.producer).stage.index));
    }
}

Section NodeWalk::section_of(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.phase == Phase::update) return Section::update();
    if (!node.outputs.empty() && facts_.follows_weights(node.outputs[0])) return Section::prepare();
    return node.phase == Phase::forward ? Section::forward(node.stage.index, pipeline_)
                                        : Section::backward(node.stage.index, pipeline_);
}

bool is_output(const graph::Graph& graph, ValueId value) {
    return std::ranges::any_of(graph.outputs(), [&](const graph::Output& output) { return output.value == value; });
}

bool is_read(const graph::Graph& graph, ValueId result) {
    return is_output(graph, result) || !graph.value(result).users.empty();
}

}  // namespace cnntrain::cpu
