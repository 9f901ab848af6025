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
#include <optional>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/facts.h"

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

/// A value that alone is needed of everything before it.
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

    /// With the least limit, by bisection.
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

/// Inputs and forward values, where nothing is recomputed.
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

}  // namespace cnntrain::graph
