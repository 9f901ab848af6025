#include "cnntrain/graph/samples.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/facts.h"

namespace cnntrain::graph {
namespace {

/// Does the op compute each sample by itself, or the sum over samples? Other kinds, such as views, may mix samples.
bool is_by_sample(const Node& node) {
    switch (node.kind) {
        case OpKind::cast:
        case OpKind::add:
        case OpKind::activation:
        case OpKind::scale_channels:
        case OpKind::normalise_image:
        case OpKind::conv2d:
        case OpKind::max_pool:
        case OpKind::global_average_pool:
        case OpKind::shortcut_pad:
        case OpKind::dense:
        case OpKind::batch_norm_inference:
        case OpKind::group_norm:
        case OpKind::standardise:
        case OpKind::top_k_correct:
            return true;
        case OpKind::softmax_cross_entropy:
            return node.as<SoftmaxAttrs>().class_weights.empty();
        default:
            return false;
    }
}

/// Copies a graph, with `samples` as the leading axis of its inputs.
class Resized {
public:
    Resized(const Graph& source, std::int64_t samples)
        : source_(source), facts_(source), samples_(samples), result_(source.ops()) {}

    std::optional<Graph> make() {
        for (std::int32_t i = 0; i < source_.value_count(); ++i) {
            if (!add(ValueId{i})) return std::nullopt;
        }
        for (const Output& output : source_.outputs()) {
            const TensorDesc& desc = result_.desc(output.value);
            const bool is_sum = desc.shape.empty() && desc.dtype == DType::f32;
            const bool is_part = !desc.shape.empty() && desc != source_.desc(output.value);
            if (!is_sum && !is_part) return std::nullopt;
            result_.mark_output(output.name, output.value);
        }
        return std::move(result_);
    }

private:
    /// False if this value cannot belong to a part of a batch.
    bool add(ValueId id) {
        const Value& value = source_.value(id);
        switch (value.role) {
            case Role::input: {
                TensorDesc desc = value.desc;
                desc.shape[0] = samples_;
                result_.add_input(value.name, std::move(desc));
                return true;
            }
            case Role::parameter:
                result_.add_parameter(value.name, value.desc, value.initialiser);
                return true;
            case Role::moving_average:
                result_.add_moving_average(value.name, value.desc, value.initialiser);
                return true;
            case Role::intermediate:
                return value.producer_output > 0 || add(source_.node(value.producer));
            default:  // of updates
                return false;
        }
    }

    bool add(const Node& node) {
        const bool is_weight = !node.outputs.empty() && facts_.follows_weights(node.outputs[0]);
        if (node.phase != Phase::forward || (!is_weight && !is_by_sample(node))) return false;
        result_.set_stage(node.stage);
        const std::vector<ValueId> made = result_.add(node.kind, node.attrs, node.inputs, node.name);
        CNNTRAIN_CHECK(made == node.outputs, "a copy of " + node.name + " has other results");
        return true;
    }

    const Graph& source_;
    Facts facts_;
    std::int64_t samples_;
    Graph result_;
};

}  // namespace

std::optional<std::int64_t> samples_of(const Graph& graph) {
    std::optional<std::int64_t> samples;
    for (const ValueId input : graph.values_with_role(Role::input)) {
        const Shape& shape = graph.desc(input).shape;
        if (shape.empty() || (samples && *samples != shape[0])) return std::nullopt;
        samples = shape[0];
    }
    return samples;
}

std::optional<Graph> with_samples(const Graph& graph, std::int64_t samples) {
    if (!samples_of(graph)) return std::nullopt;
    return Resized(graph, samples).make();
}

}  // namespace cnntrain::graph
