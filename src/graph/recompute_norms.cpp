// Results of norms that backward computes again instead of reading what forward has computed.
//
// Backward reads the input x of every norm, and many results y, too, for the weight gradients of the convolutions
// behind them. y follows from x, the statistics, which are small, and the residual, in one sweep over memory and with
// the same numbers. Only norms whose activation takes next to no time are computed again.
//
// Memory peaks where backward begins: all kept values are alive. It begins with the last layers, so results of the last
// norms are kept: they are read before memory has become free. Of residual networks, backward computes several results
// at a time, each from the one before. Both limit how much recomputation saves; the choice is the number of first norms
// with the least peak.
#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/facts.h"
#include "cnntrain/graph/rewrites.h"
#include "graph/rewriter.h"

namespace cnntrain::graph {
namespace {

constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kResidual = 3;  // index of this input, if there is one

/// A norm of the forward pass whose result can be computed again.
struct Norm {
    NodeId node;
    std::int32_t first_reader = kNever;  // in backward
    std::size_t residual = 0;            // number of the norm that makes it; no norm: its own number
};

class RecomputableNorms {
public:
    explicit RecomputableNorms(const Graph& graph) : graph_(graph), facts_(graph) {
        for (std::int32_t i = 0; i < graph.node_count(); ++i)
            add_if_recomputable(NodeId{i});
    }

    const std::vector<Norm>& norms() const { return norms_; }

    /// The number of first norms with the least peak of memory if these are computed again; the least such number.
    std::size_t best_count() const {
        std::size_t best = 0;
        double least = peak_bytes(0);
        for (std::size_t count = 1; count <= norms_.size(); ++count) {
            const double peak = peak_bytes(count);
            if (peak >= least) continue;
            least = peak;
            best = count;
        }
        return best;
    }

private:
    std::int32_t first_backward_reader(ValueId value) const {
        for (const NodeId user : graph_.value(value).users) {
            if (graph_.node(user).phase == Phase::backward && !reads_places_only(graph_, user, value))
                return user.index;
        }
        return kNever;
    }

    void add_if_recomputable(NodeId id) {
        const Node& node = graph_.node(id);
        const bool is_norm = node.kind == OpKind::batch_norm || node.kind == OpKind::group_norm;
        if (!is_norm || node.phase != Phase::forward) return;
        if (flops(node.as<NormAttrs>().activation).value > flops(Activation::relu).value) return;
        if (first_backward_reader(node.inputs[0]) == kNever) return;
        Norm norm{id, first_backward_reader(node.outputs[0]), norms_.size()};
        if (node.as<NormAttrs>().residual) {
            const ValueId residual = node.inputs[kResidual];
            const auto maker = numbers_.find(residual);
            if (maker != numbers_.end()) {
                norm.residual = maker->second;
            } else if (first_backward_reader(residual) == kNever) {
                return;
            }
        }
        numbers_[node.outputs[0]] = norms_.size();
        norms_.push_back(norm);
    }

    /// For each of the first norms, the node of backward before which its result is computed again, or kNever.
    std::vector<std::int32_t> times(std::size_t count) const {
        std::vector<std::int32_t> times;
        for (std::size_t i = 0; i < count; ++i)
            times.push_back(norms_[i].first_reader);
        for (std::size_t i = count; i-- > 0;)
            times[norms_[i].residual] = std::min(times[norms_[i].residual], times[i]);
        return times;
    }

    /// The largest sum of bytes that are alive at one node. A result that overwrites an operand counts twice.
    double peak_bytes(std::size_t count) const {
        const std::vector<std::int32_t> again = times(count);
        std::vector<double> change(static_cast<std::size_t>(graph_.node_count()) + 1);
        const auto alive = [&](double bytes, std::int32_t first, std::int32_t last) {
            change[static_cast<std::size_t>(first)] += bytes;
            change[static_cast<std::size_t>(last) + 1] -= bytes;
        };
        for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
            const Value& value = graph_.value(ValueId{i});
            if (value.role != Role::intermediate || facts_.follows_weights(ValueId{i})) continue;
            const auto bytes = static_cast<double>(value.desc.bytes());
            const auto number = numbers_.find(ValueId{i});
            const bool is_again = number != numbers_.end() && number->second < count;
            std::int32_t last = value.producer.index;
            std::int32_t last_in_forward = last;
            for (const NodeId user : value.users) {
                if (reads_places_only(graph_, user, ValueId{i})) continue;
                last = user.index;
                if (graph_.node(user).phase == Phase::forward) last_in_forward = user.index;
            }
            if (is_again && again[number->second] != kNever) {
                alive(bytes, value.producer.index, last_in_forward);
                alive(bytes, again[number->second], std::max(last, again[number->second]));
            } else {
                alive(bytes, value.producer.index, last);
            }
        }
        double now = 0;
        double peak = 0;
        for (const double step : change)
            peak = std::max(peak, now += step);
        return peak;
    }

    const Graph& graph_;
    Facts facts_;
    std::vector<Norm> norms_;                 // in the order of the forward pass
    std::map<ValueId, std::size_t> numbers_;  // by result
};

class NormRecomputation {
public:
    NormRecomputation(const Graph& graph, std::span<const Norm> norms) : graph_(graph), rewriter_(graph) {
        for (const Norm& norm : norms)
            norms_[graph.node(norm.node).outputs[0]] = norm.node;
    }

    Graph run() {
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            const Node& node = graph_.node(NodeId{i});
            if (node.phase == Phase::backward) {
                copy_backward(NodeId{i});
            } else {
                rewriter_.copy(NodeId{i});
            }
        }
        return rewriter_.finish();
    }

private:
    void copy_backward(NodeId id) {
        const Node& node = graph_.node(id);
        std::vector<ValueId> inputs;
        for (const ValueId input : node.inputs)
            inputs.push_back(reads_places_only(graph_, id, input) ? rewriter_.at(input) : at_hand(input));
        const std::vector<ValueId> outputs = rewriter_.add(node, node.kind, node.attrs, std::move(inputs), node.name);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            rewriter_.replace(node.outputs[i], outputs[i]);
    }

    /// The value as backward reads it.
    ValueId at_hand(ValueId value) {
        if (const auto found = again_.find(value); found != again_.end()) return found->second;
        const auto norm = norms_.find(value);
        return norm == norms_.end() ? rewriter_.at(value) : again_[value] = compute_again(graph_.node(norm->second));
    }

    ValueId compute_again(Node norm) {
        std::vector<ValueId> inputs;
        for (const ValueId input : {norm.inputs[0], norm.inputs[1], norm.inputs[2], norm.outputs[1], norm.outputs[2]})
            inputs.push_back(rewriter_.at(input));
        if (norm.as<NormAttrs>().residual) inputs.push_back(at_hand(norm.inputs[kResidual]));
        norm.phase = Phase::backward;
        norm.recomputed = true;
        const OpKind kind =
            norm.kind == OpKind::group_norm ? OpKind::group_norm_inference : OpKind::batch_norm_inference;
        return rewriter_.add(norm, kind, norm.attrs, std::move(inputs), norm.name)[0];
    }

    const Graph& graph_;
    Rewriter rewriter_;
    std::map<ValueId, NodeId> norms_;   // by result
    std::map<ValueId, ValueId> again_;  // by forward result
};

}  // namespace

Graph recompute_norms(const Graph& graph) {
    const RecomputableNorms all(graph);
    const std::size_t count = all.best_count();
    return count == 0 ? graph : NormRecomputation(graph, std::span(all.norms()).first(count)).run();
}

}  // namespace cnntrain::graph
