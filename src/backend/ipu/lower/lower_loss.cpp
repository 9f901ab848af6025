// Softmax cross entropy with smoothed labels, and how many labels are among the k likeliest classes.
#include "backend/ipu/lower/class_losses.h"
#include "backend/ipu/lower/node_context.h"

namespace cnntrain::ipu {
namespace {

TargetRule target_rule(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::SoftmaxAttrs>();
    return {attrs.label_smoothing, attrs.class_weights};
}

void lower_softmax_cross_entropy(const NodeContext& node) {
    node.set_output(0,
                    cross_entropy(node, node.input(0), node.input(1), {{.labels = node.input(1)}}, target_rule(node)));
    node.set_output(1, count_correct(node, node.input(0), node.input(1), 1));
}

void lower_softmax_cross_entropy_grad(const NodeContext& node) {
    node.set_output(0, cross_entropy_grad(node, node.input(0), node.input(1), {{.labels = node.input(1)}},
                                          target_rule(node), node.input(2)));
}

void lower_top_k_correct(const NodeContext& node) {
    const auto k = static_cast<std::size_t>(node.attrs<graph::TopKAttrs>().k);
    node.set_output(0, count_correct(node, node.input(0), node.input(1), k));
}

}  // namespace

std::span<const LoweringEntry> loss_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::softmax_cross_entropy, lower_softmax_cross_entropy},
        {OpKind::softmax_cross_entropy_grad, lower_softmax_cross_entropy_grad},
        {OpKind::top_k_correct, lower_top_k_correct},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
