// Convolutions and dense layers of evaluation graphs in 8 bits.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
#include "graph/rewriter.h"

namespace cnntrain::graph {
namespace {

/// Can this convolution be computed in 8 bits, if its operands have bits?
bool is_candidate(const Graph& graph, const Facts& facts, const Node& node) {
    return node.kind == OpKind::conv2d && node.phase == Phase::forward && node.as<ConvAttrs>().bias &&
           facts.follows_weights(node.inputs[1]) && facts.follows_weights(node.inputs[2]) &&
           graph.desc(node.inputs[2]).elements() == graph.desc(node.outputs[0]).shape.back();
}

/// Can this dense layer be computed in 8 bits? The layers of an encoder can, whose rows are tokens; heads have few rows
/// or few outputs.
bool is_dense_candidate(const Graph& graph, const Facts& facts, const Node& node) {
    constexpr std::int64_t kFewestOutputs = 32;
    if (node.kind != OpKind::dense || node.phase != Phase::forward || node.as<DenseAttrs>().transposed) return false;
    const TensorDesc& y = graph.desc(node.outputs[0]);
    return y.shape.size() == 3 && y.shape.back() >= kFewestOutputs && facts.follows_weights(node.inputs[1]);
}

class EightBitRewrite {
public:
    EightBitRewrite(const Graph& graph, const EightBitPlan& plan)
        : graph_(graph), facts_(graph), plan_(plan), rewriter_(graph) {}

    Graph run() {
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            const Node& node = graph_.node(NodeId{i});
            if (is_in_eight_bits(node)) {
                add_convolution(node);
            } else if (is_dense_candidate(graph_, facts_, node) && !plan_.wide.contains(node.name)) {
                add_dense(node);
            } else if (node.kind == OpKind::max_pool && only_numbers_.contains(node.inputs[0])) {
                const ValueId x = numbers_.at(node.inputs[0]);
                define_numbers(node.outputs[0], rewriter_.add(node, node.kind, node.attrs, {x}, node.name)[0]);
            } else {
                for (const ValueId input : node.inputs)
                    need_values(input);
                rewriter_.copy(NodeId{i});
            }
        }
        for (const Output& output : graph_.outputs())
            need_values(output.value);
        return remove_dead_nodes(rewriter_.finish());
    }

private:
    /// A max pooling has the bits of its input.
    const EightBits* bits_of(ValueId value) const {
        const auto found = plan_.bits.find(graph_.value(value).name);
        if (found != plan_.bits.end()) return &found->second;
        const NodeId producer = graph_.value(value).producer;
        if (!producer.valid() || graph_.node(producer).kind != OpKind::max_pool) return nullptr;
        return bits_of(graph_.node(producer).inputs[0]);
    }

    bool is_in_eight_bits(const Node& node) const {
        if (!is_candidate(graph_, facts_, node) || plan_.wide.contains(node.name)) return false;
        if (bits_of(node.inputs[0]) == nullptr) return false;
        const bool has_residual = node.as<ConvAttrs>().residual;
        return !has_residual || (bits_of(node.inputs[3]) != nullptr && bits_of(node.outputs[0]) != nullptr);
    }

    /// Does a convolution in 8 bits read this value, perhaps through a max pooling?
    bool is_read_as_numbers(ValueId value) const {
        return std::ranges::any_of(graph_.value(value).users, [&](NodeId user) {
            const Node& node = graph_.node(user);
            if (node.kind == OpKind::max_pool) return is_read_as_numbers(node.outputs[0]);
            return is_in_eight_bits(node) && node.inputs[1] != value && node.inputs[2] != value;
        });
    }

    /// The value in 8 bits.
    ValueId numbers_of(ValueId value, const Node& reader) {
        const auto found = numbers_.find(value);
        if (found != numbers_.end()) return found->second;
        const QuantiseAttrs attrs{*bits_of(value), graph_.desc(value).dtype};
        return numbers_[value] = rewriter_.add(reader, OpKind::quantise, attrs, {rewriter_.at(value)},
                                               graph_.value(value).name + "/quantised")[0];
    }

    void define_numbers(ValueId value, ValueId numbers) {
        numbers_[value] = numbers;
        only_numbers_.insert(value);
    }

    /// Makes the value in its floating type, for a reader of another kind.
    void need_values(ValueId value) {
        if (only_numbers_.erase(value) == 0) return;
        const Node& producer = graph_.node(graph_.value(value).producer);
        const QuantiseAttrs attrs{*bits_of(value), graph_.desc(value).dtype};
        rewriter_.replace(value, rewriter_.add(producer, OpKind::dequantise, attrs, {numbers_.at(value)},
                                               graph_.value(value).name + "/dequantised")[0]);
    }

    /// The weight in f32, so that it is rounded once.
    ValueId wide_weight(const Node& reader) {
        const ValueId stored = strip_casts(graph_, reader.inputs[1]);
        const NodeId producer = graph_.value(stored).producer;
        if (graph_.desc(stored).dtype == DType::f32 || !producer.valid()) return rewriter_.at(stored);
        const Node& fold = graph_.node(producer);
        if (fold.kind != OpKind::fold_norm_weight) return rewriter_.at(stored);
        auto attrs = fold.as<FoldNormAttrs>();
        attrs.type = DType::f32;
        return rewriter_.add(fold, fold.kind, attrs, rewriter_.at(fold.inputs), fold.name + "/f32")[0];
    }

    /// The numbers of its weight and their scales.
    std::vector<ValueId> eight_bit_weight(const Node& node) {
        return rewriter_.add(node, OpKind::quantise_weight, NoAttrs{}, {wide_weight(node)},
                             node.name + "/8_bit_weight");
    }

    void add_convolution(const Node& node) {
        const ValueId y = node.outputs[0];
        QuantisedConvAttrs attrs;
        attrs.conv = node.as<ConvAttrs>();
        attrs.x = *bits_of(node.inputs[0]);
        const std::vector<ValueId> weight = eight_bit_weight(node);
        std::vector<ValueId> inputs = {numbers_of(node.inputs[0], node), weight[0], weight[1],
                                       rewriter_.at(strip_casts(graph_, node.inputs[2]))};
        if (attrs.conv.residual) {
            attrs.residual = *bits_of(node.inputs[3]);
            inputs.push_back(numbers_of(node.inputs[3], node));
        }
        const bool in_numbers = attrs.conv.residual || (bits_of(y) != nullptr && is_read_as_numbers(y));
        attrs.type = in_numbers ? DType::u8 : graph_.desc(y).dtype;
        if (in_numbers) attrs.y = *bits_of(y);
        const ValueId result = rewriter_.add(node, OpKind::quantised_conv2d, attrs, std::move(inputs), node.name)[0];
        if (in_numbers) {
            define_numbers(y, result);
        } else {
            rewriter_.replace(y, result);
        }
    }

    /// The value's rows in 8 bits and their bits, each row with its own, which are found when it is computed. An
    /// activation is applied meanwhile.
    const std::vector<ValueId>& quantised_rows(ValueId value, const Node& reader) {
        const auto [rows, is_new] = rows_.try_emplace(value);
        if (!is_new) return rows->second;
        ValueId x = value;
        ActivationAttrs attrs{Activation::none};
        const NodeId producer = graph_.value(value).producer;
        if (producer.valid() && graph_.node(producer).kind == OpKind::activation) {
            attrs = graph_.node(producer).as<ActivationAttrs>();
            x = graph_.node(producer).inputs[0];
        }
        need_values(x);
        return rows->second = rewriter_.add(reader, OpKind::quantise_rows, attrs, {rewriter_.at(x)},
                                            graph_.value(value).name + "/quantised");
    }

    void add_dense(const Node& node) {
        const std::vector<ValueId>& rows = quantised_rows(node.inputs[0], node);
        const std::vector<ValueId> weight = eight_bit_weight(node);
        std::vector<ValueId> inputs = {rows[0], rows[1], weight[0], weight[1]};
        const bool has_bias = node.as<DenseAttrs>().bias;
        if (has_bias) inputs.push_back(rewriter_.at(node.inputs[2]));
        const DenseAttrs attrs{.bias = has_bias, .result_type = graph_.desc(node.outputs[0]).dtype};
        rewriter_.replace(node.outputs[0],
                          rewriter_.add(node, OpKind::quantised_dense, attrs, std::move(inputs), node.name)[0]);
    }

    const Graph& graph_;
    const Facts facts_;
    const EightBitPlan& plan_;
    Rewriter rewriter_;
    std::map<ValueId, ValueId> numbers_;            // values in 8 bits, by the value in a floating type
    std::set<ValueId> only_numbers_;                // of these, those that are not there in a floating type
    std::map<ValueId, std::vector<ValueId>> rows_;  // quantised rows and their bits, by the value in a floating type
};

}  // namespace

Graph with_folded_norms(const Graph& graph) {
    constexpr Rewrite kFolding[] = {kFuseNormActivation, kFoldInferenceNorms, kRemoveDeadNodes};
    return apply_rewrites(graph, kFolding);
}

std::vector<ValueId> eight_bit_values(const Graph& graph) {
    const Facts facts(graph);
    std::vector<ValueId> values;
    const auto add = [&](ValueId value) {
        const NodeId producer = graph.value(value).producer;
        if (producer.valid() && graph.node(producer).kind == OpKind::max_pool) value = graph.node(producer).inputs[0];
        if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    };
    for (const Node& node : graph.nodes()) {
        if (!is_candidate(graph, facts, node)) continue;
        add(node.inputs[0]);
        if (node.as<ConvAttrs>().residual) add(node.inputs[3]);
        add(node.outputs[0]);
    }
    return values;
}

std::vector<std::string> eight_bit_layers(const Graph& graph) {
    const Facts facts(graph);
    std::vector<std::string> names;
    for (const Node& node : graph.nodes()) {
        if (is_candidate(graph, facts, node) || is_dense_candidate(graph, facts, node)) names.push_back(node.name);
    }
    return names;
}

Graph in_eight_bits(const Graph& graph, const EightBitPlan& plan) {
    return EightBitRewrite(with_folded_norms(graph), plan).run();
}

}  // namespace cnntrain::graph
