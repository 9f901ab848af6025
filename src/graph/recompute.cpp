// Choice of the forward values that are stashed when backward recomputes the others.
//
// Candidates are the values through which the whole network flows: all later values can be recomputed from one of them
// alone. In a residual network these are the values between blocks (and between the layers of the stem), after fusion.
// Let s_0, s_1, ... be the stashed ones. While backward is in the segment from s_i to s_j, memory holds the stashed
// values up to s_i, the values of the segment that backward reads, and a few gradients. Many points make the first sum
// large, few points the second one; neither is best in general, because early blocks have large activations and late
// ones small. So the choice minimises the largest of these sums.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
#include "graph/rewriter.h"

namespace cnntrain::graph {
namespace {

/// Forward intermediates that are new with every micro-batch.
class DataFlow {
public:
    DataFlow(const Graph& graph, std::int32_t forward_nodes)
        : graph_(graph), forward_nodes_(forward_nodes), facts_(graph) {}

    bool is_data(ValueId value) const {
        return graph_.value(value).role == Role::intermediate && !facts_.follows_weights(value);
    }
    /// Position of the last forward node that reads it; -1: none.
    std::int32_t last_reader(ValueId value) const {
        std::int32_t last = -1;
        for (const NodeId user : graph_.value(value).users) {
            if (user.index < forward_nodes_) last = std::max(last, user.index);
        }
        return last;
    }

private:
    const Graph& graph_;
    std::int32_t forward_nodes_;
    Facts facts_;
};

/// A value that is all that later nodes need of everything before it.
struct Cut {
    ValueId value;
    std::int32_t node = 0;  // after which it is the only one
    double bytes = 0;
};

std::vector<Cut> find_cuts(const Graph& graph, const DataFlow& flow, std::int32_t forward_nodes) {
    std::vector<Cut> cuts;
    std::set<ValueId> live;
    for (std::int32_t i = 0; i < forward_nodes; ++i) {
        const Node& node = graph.node(NodeId{i});
        for (const ValueId input : node.inputs) {
            if (flow.last_reader(input) == i) live.erase(input);
        }
        for (const ValueId output : node.outputs) {
            if (flow.is_data(output) && flow.last_reader(output) > i) live.insert(output);
        }
        if (live.size() != 1) continue;
        const ValueId value = *live.begin();
        if (!cuts.empty() && cuts.back().value == value) continue;
        cuts.push_back({value, i, static_cast<double>(graph.desc(value).bytes())});
    }
    return cuts;
}

/// Bytes that the backward pass of a segment needs besides the kept values.
class SegmentCosts {
public:
    SegmentCosts(const Graph& graph, const DataFlow& flow, const std::set<ValueId>& read_by_backward,
                 std::int32_t forward_nodes) {
        for (std::int32_t i = 0; i < forward_nodes; ++i) {
            double stashed = 0;
            double largest = 0;
            for (const ValueId output : graph.node(NodeId{i}).outputs) {
                if (!flow.is_data(output)) continue;
                const auto bytes = static_cast<double>(graph.desc(output).bytes());
                if (read_by_backward.contains(output)) stashed += bytes;
                largest = std::max(largest, bytes);
            }
            stashed_until_.push_back((stashed_until_.empty() ? 0 : stashed_until_.back()) + stashed);
            largest_.push_back(largest);
        }
    }

    /// Nodes first + 1 .. last; two gradients are alive at a time.
    double of(std::int32_t first, std::int32_t last) const {
        const double before = first < 0 ? 0 : stashed_until_[static_cast<std::size_t>(first)];
        const double gradients = 2 * *std::max_element(largest_.begin() + first + 1, largest_.begin() + last + 1);
        return stashed_until_[static_cast<std::size_t>(last)] - before + gradients;
    }

private:
    std::vector<double> stashed_until_;  // by forward node: bytes up to and including it
    std::vector<double> largest_;
};

/// The choice of cuts with the least kept bytes among those that never need more than `limit`; of the end, too.
class Chooser {
public:
    Chooser(const std::vector<Cut>& cuts, const SegmentCosts& costs, std::int32_t forward_nodes)
        : cuts_(cuts), costs_(costs), last_node_(forward_nodes - 1) {}

    /// Indices of the chosen cuts, ascending; empty optional: nothing fits.
    std::optional<std::vector<std::size_t>> within(double limit) const {
        constexpr double kNever = std::numeric_limits<double>::infinity();
        const std::size_t count = cuts_.size();
        std::vector<double> kept(count + 1, kNever);  // bytes when this is the last kept; [count]: the end
        std::vector<std::size_t> previous(count + 1, count);
        for (std::size_t j = 0; j <= count; ++j) {
            const std::int32_t to = j < count ? cuts_[j].node : last_node_;
            const double own = j < count ? cuts_[j].bytes : 0;
            if (costs_.of(-1, to) <= limit) kept[j] = own;
            for (std::size_t i = 0; i < j; ++i) {
                if (kept[i] + costs_.of(cuts_[i].node, to) > limit || kept[i] + own >= kept[j]) continue;
                kept[j] = kept[i] + own;
                previous[j] = i;
            }
        }
        if (kept[count] == kNever) return std::nullopt;
        std::vector<std::size_t> chosen;
        for (std::size_t j = previous[count]; j != count; j = previous[j])
            chosen.insert(chosen.begin(), j);
        return chosen;
    }

    /// Finds the choice with the least limit, by bisection.
    std::vector<std::size_t> best() const {
        double low = 0;
        double high = costs_.of(-1, last_node_);
        std::vector<std::size_t> chosen;  // everything in one segment fits into `high`
        while (high - low > 1 + 1e-6 * high) {
            const double middle = (low + high) / 2;
            if (const auto found = within(middle)) {
                chosen = *found;
                high = middle;
            } else {
                low = middle;
            }
        }
        return chosen;
    }

private:
    const std::vector<Cut>& cuts_;
    const SegmentCosts& costs_;
    std::int32_t last_node_;
};

/// Inputs and forward values that backward reads where nothing is recomputed.
std::set<ValueId> read_by_backward(const Graph& graph, const Objective& objective) {
    CNNTRAIN_CHECK(objective.recompute_points.empty(), "recompute points have been chosen already");
    Graph plan = graph;
    return build_backward(plan, objective).stashed;
}

}  // namespace

std::vector<ValueId> choose_recompute_points(const Graph& graph, const Objective& objective) {
    const std::int32_t forward_nodes = graph.node_count();
    const std::set<ValueId> read = read_by_backward(graph, objective);
    const DataFlow flow(graph, forward_nodes);
    const std::vector<Cut> cuts = find_cuts(graph, flow, forward_nodes);
    const SegmentCosts costs(graph, flow, read, forward_nodes);
    std::vector<ValueId> points;
    std::int32_t last_cut = -1;
    for (const std::size_t chosen : Chooser(cuts, costs, forward_nodes).best()) {
        points.push_back(cuts[chosen].value);
        last_cut = cuts[chosen].node;
    }
    // The backward pass begins with the last segment, whose values have only just been computed.
    for (const ValueId value : read) {
        if (flow.is_data(value) && graph.value(value).producer.index > last_cut) points.push_back(value);
    }
    return points;
}

std::vector<ValueId> values_of_last_stage(const Graph& graph, const Objective& objective) {
    StageId last = graph.node(graph.value(objective.loss).producer).stage;
    for (const auto& [loss, seed] : objective.more_losses)
        last = std::max(last, graph.node(graph.value(loss).producer).stage);
    std::vector<ValueId> points;
    for (const ValueId value : read_by_backward(graph, objective)) {
        const NodeId producer = graph.value(value).producer;
        if (producer.valid() && graph.node(producer).stage == last) points.push_back(value);
    }
    return points;
}

std::vector<ValueId> all_but_cheap_values(const Graph& graph, const Objective& objective) {
    const std::set<ValueId> read = read_by_backward(graph, objective);
    const auto at_hand = [&](ValueId value) {
        return graph.value(value).role != Role::intermediate || read.contains(value);
    };
    const auto is_cheap = [&](ValueId value) {
        if (graph.value(value).role != Role::intermediate) return false;
        const Node& producer = graph.node(graph.value(value).producer);
        return graph.def(producer).cheap_to_recompute && std::ranges::all_of(producer.inputs, at_hand);
    };
    std::vector<ValueId> points;
    std::ranges::remove_copy_if(read, std::back_inserter(points), is_cheap);
    return points.size() < read.size() ? points : std::vector<ValueId>{};
}

// Results of norms that backward computes again instead of reading what forward has computed.
//
// Backward reads the input x of every norm, and many results y, too, for the weight gradients of the convolutions after
// them. y follows from x, the statistics, which are small, and the residual, in one sweep over memory and with the same
// numbers. Only norms whose activation takes next to no time are computed again.
//
// Memory peaks where backward begins: all kept values are alive. It begins with the last layers, so results of the last
// norms are kept: they are read before memory has become free. Of residual networks, backward computes several results
// at a time, each from the one before. Both limit how much recomputation saves; the choice is the number of first norms
// with the least peak.

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
        if (!is_piecewise_linear(node.as<NormAttrs>().activation)) return;
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

    /// Returns the backward node before which the result of each of the first `count` norms is computed again, or
    /// kNever.
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
