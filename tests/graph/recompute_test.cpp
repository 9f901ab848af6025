// Forward values that recomputation keeps: choose_recompute_points on chains and blocks of toy ops.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/passes.h"
#include "graph/toy_ops.h"
#include "support/matchers.h"

namespace cnntrain::test {
namespace {

using graph::Gradients;
using graph::Objective;

/// value[i] = value[i - 1] * weight[i - 1]; backward reads every value but the last. All are equally large.
struct Chain {
    Graph graph;
    std::vector<ValueId> weights;
    std::vector<ValueId> values;  // after the input
    ValueId loss;

    explicit Chain(int length, const graph::OpTable& ops = toy_ops()) : graph(ops) {
        ValueId at = graph.add_input("x", kVector);
        for (int i = 1; i <= length; ++i) {
            const std::string name = std::to_string(i);
            weights.push_back(graph.add_parameter("w" + name, kVector, {}));
            at = graph.add_one(kMultiply, NoAttrs{}, {at, weights.back()}, "h" + name);
            values.push_back(at);
        }
        loss = graph.add_one(kSum, NoAttrs{}, {at}, "loss");
    }

    Objective objective() const { return {.loss = loss, .seed = 1, .targets = weights, .recompute_points = {}}; }
};

/// The most vectors that are alive at a time, weights, their gradients and the input aside, when the nodes run in
/// order.
int most_alive(const Graph& graph, const Gradients& gradients) {
    std::set<ValueId> results;
    for (const auto& [target, gradient] : gradients.of)
        results.insert(gradient);
    std::map<std::int32_t, int> change;  // by node: how many begin to live there, less those that ended before
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const graph::Value& value = graph.value(ValueId{i});
        if (value.role != graph::Role::intermediate || value.desc != kVector || results.contains(ValueId{i})) continue;
        std::int32_t last = value.producer.index;
        for (const NodeId user : value.users)
            last = std::max(last, user.index);
        ++change[value.producer.index];
        --change[last + 1];
    }
    int alive = 0;
    int most = 0;
    for (const auto& [node, by] : change)
        most = std::max(most, alive += by);
    return most;
}

int most_alive_with(Chain chain, const std::vector<ValueId>& points) {
    Objective objective = chain.objective();
    objective.recompute_points = points;
    const Gradients gradients = build_backward(chain.graph, objective);
    return most_alive(chain.graph, gradients);
}

/// Returns the number of forward values that backward computes again.
int recomputed(const Graph& graph) {
    int count = 0;
    for (const graph::Node& node : graph.nodes())
        count += node.recomputed ? 1 : 0;
    return count;
}

std::vector<double> ramp(double first) {
    return {first, first + 0.25, first + 0.5, first - 1};
}

/// The gradients of two chains that are alike, in which backward keeps different values.
void expect_same_numbers(const Chain& chain, const Gradients& gradients, const Chain& other, const Gradients& others) {
    std::map<std::string, std::vector<double>> given = {{"x", ramp(2)}};
    for (std::size_t i = 0; i < chain.weights.size(); ++i)
        given["w" + std::to_string(i + 1)] = ramp(1.1 + 0.1 * static_cast<double>(i));
    for (std::size_t i = 0; i < chain.weights.size(); ++i) {
        EXPECT_EQ(evaluate(chain.graph, given, gradients.of.at(chain.weights[i])),
                  evaluate(other.graph, given, others.of.at(other.weights[i])));
    }
}

TEST(RecomputePoints, OfAChainNeedOneVectorMoreThanTheBestChoiceAtMost) {
    for (const int length : {2, 3, 5, 8, 11}) {
        SCOPED_TRACE(length);
        const Chain chain(length);
        int least = most_alive_with(chain, {});
        const int everything = least;
        for (unsigned choice = 1; choice < 1U << static_cast<unsigned>(length); ++choice) {
            std::vector<ValueId> points;
            for (unsigned i = 0; i < static_cast<unsigned>(length); ++i) {
                if ((choice >> i & 1U) != 0) points.push_back(chain.values[i]);
            }
            least = std::min(least, most_alive_with(chain, points));
        }
        const int chosen = most_alive_with(chain, choose_recompute_points(chain.graph, chain.objective()));
        EXPECT_LE(chosen, least + 1);
        EXPECT_TRUE(length < 8 || chosen < everything);
    }
}

TEST(RecomputePoints, ComputeEverythingElseOnceMoreAndTheSameNumbers) {
    constexpr int kLength = 9;
    Chain kept(kLength);
    Chain few(kLength);
    Objective objective = few.objective();
    objective.recompute_points = choose_recompute_points(few.graph, objective);
    const std::size_t points = objective.recompute_points.size();
    const Gradients all_gradients = build_backward(kept.graph, kept.objective());
    const Gradients few_gradients = build_backward(few.graph, objective);
    few.graph.verify();
    EXPECT_EQ(recomputed(few.graph), kLength - 1 - static_cast<int>(points));
    EXPECT_EQ(few_gradients.stashed.size(), points + 1);  // and the input
    EXPECT_EQ(all_gradients.stashed.size(), static_cast<std::size_t>(kLength));
    expect_same_numbers(few, few_gradients, kept, all_gradients);
}

/// Blocks of h + h * a * b, as in a residual network; a * b and what is before the addition do not stand alone.
TEST(RecomputePoints, StandBetweenResidualBlocks) {
    constexpr int kBlocks = 8;
    Graph graph(toy_ops());
    std::vector<ValueId> weights;
    std::vector<ValueId> between;
    ValueId at = graph.add_input("x", kVector);
    for (int i = 0; i < kBlocks; ++i) {
        const std::string name = std::to_string(i);
        ValueId branch = at;
        for (const char* part : {"a", "b", "c"}) {
            weights.push_back(graph.add_parameter(part + name, kVector, {}));
            branch = graph.add_one(kMultiply, NoAttrs{}, {branch, weights.back()}, "branch" + name + part);
        }
        at = graph.add_one(kAdd, NoAttrs{}, {branch, at}, "sum" + name);
        between.push_back(at);
    }
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {at}, "loss");
    Objective objective{.loss = loss, .seed = 1, .targets = weights, .recompute_points = {}};
    objective.recompute_points = choose_recompute_points(graph, objective);
    EXPECT_THAT(objective.recompute_points, Not(IsEmpty()));

    const auto position = [&](ValueId value) { return graph.value(value).producer.index; };
    const auto is_between = [&](ValueId value) { return std::count(between.begin(), between.end(), value) != 0; };
    std::int32_t last_cut = -1;
    for (const ValueId point : objective.recompute_points) {
        if (is_between(point)) last_cut = std::max(last_cut, position(point));
    }
    for (const ValueId point : objective.recompute_points)
        EXPECT_TRUE(is_between(point) || position(point) > last_cut) << graph.value(point).name;

    Graph keeping = graph;
    const std::size_t all =
        build_backward(keeping, {.loss = loss, .seed = 1, .targets = weights, .recompute_points = {}}).stashed.size();
    EXPECT_LT(build_backward(graph, objective).stashed.size(), all / 2);
}

TEST(RecomputePoints, NeverAreValuesOfParametersAlone) {
    Graph graph(toy_ops());
    ValueId at = graph.add_input("x", kVector);
    std::vector<ValueId> weights;
    std::vector<ValueId> squares;
    for (int i = 0; i < 6; ++i) {
        const std::string name = std::to_string(i);
        weights.push_back(graph.add_parameter("w" + name, kVector, {}));
        squares.push_back(graph.add_one(kMultiply, NoAttrs{}, {weights.back(), weights.back()}, "square" + name));
        at = graph.add_one(kMultiply, NoAttrs{}, {at, squares.back()}, "h" + name);
    }
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {at}, "loss");
    const Objective objective{.loss = loss, .seed = 1, .targets = weights, .recompute_points = {}};
    const std::vector<ValueId> points = choose_recompute_points(graph, objective);
    EXPECT_THAT(points, Not(IsEmpty()));
    for (const ValueId point : points)
        EXPECT_EQ(std::count(squares.begin(), squares.end(), point), 0) << graph.value(point).name;
}

TEST(RecomputePoints, OfAShortGraphAreAllThatBackwardReads) {
    Chain chain(2);
    Objective objective = chain.objective();
    objective.recompute_points = choose_recompute_points(chain.graph, objective);
    EXPECT_THAT(objective.recompute_points, ElementsAre(chain.values[0]));
    build_backward(chain.graph, objective);
    EXPECT_EQ(recomputed(chain.graph), 0);
}

TEST(RecomputePoints, AreChosenOnce) {
    const Chain chain(3);
    Objective objective = chain.objective();
    objective.recompute_points = {chain.values[0]};
    EXPECT_THROW(choose_recompute_points(chain.graph, objective), Error);
}

/// The toy ops, of which multiplications are cheap to recompute.
const graph::OpTable& cheap_products() {
    static const graph::OpTable ops = [] {
        graph::OpTable result = toy_ops();
        result[static_cast<std::size_t>(kMultiply)].cheap_to_recompute = true;
        return result;
    }();
    return ops;
}

TEST(CheapValues, OfAChainAreAllComputedAgainFromItsInput) {
    constexpr int kLength = 5;
    Chain kept(kLength);
    Chain cheap(kLength, cheap_products());
    Objective objective = cheap.objective();
    objective.recompute_points = all_but_cheap_values(cheap.graph, objective);
    const Gradients all_gradients = build_backward(kept.graph, kept.objective());
    const Gradients cheap_gradients = build_backward(cheap.graph, objective);
    cheap.graph.verify();
    EXPECT_EQ(recomputed(cheap.graph), kLength - 1);
    EXPECT_EQ(cheap_gradients.stashed.size(), 1U);
    expect_same_numbers(cheap, cheap_gradients, kept, all_gradients);
}

/// sum = x + w0, first = sum * w1, second = first * w2: backward reads the first two for the gradients of w1 and w2.
TEST(CheapValues, AreOnlyThoseOfCheapOps) {
    Graph graph(cheap_products());
    std::vector<ValueId> weights;
    for (const char* name : {"w0", "w1", "w2"})
        weights.push_back(graph.add_parameter(name, kVector, {}));
    const ValueId sum = graph.add_one(kAdd, NoAttrs{}, {graph.add_input("x", kVector), weights[0]}, "sum");
    const ValueId first = graph.add_one(kMultiply, NoAttrs{}, {sum, weights[1]}, "first");
    const ValueId second = graph.add_one(kMultiply, NoAttrs{}, {first, weights[2]}, "second");
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {second}, "loss");
    const Objective objective{.loss = loss, .seed = 1, .targets = weights, .recompute_points = {}};
    EXPECT_THAT(all_but_cheap_values(graph, objective), ElementsAre(sum));
}

/// Here backward reads `first` alone, and to compute it again it would need `sum`.
TEST(CheapValues, AreKeptWhereTheirInputsAreNot) {
    Graph graph(cheap_products());
    const ValueId constant = graph.add_parameter("w1", kVector, {});
    const ValueId weight = graph.add_parameter("w2", kVector, {});
    const ValueId x = graph.add_input("x", kVector);
    const ValueId sum = graph.add_one(kAdd, NoAttrs{}, {x, x}, "sum");
    const ValueId first = graph.add_one(kMultiply, NoAttrs{}, {sum, constant}, "first");
    const ValueId second = graph.add_one(kMultiply, NoAttrs{}, {first, weight}, "second");
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {second}, "loss");
    const Objective objective{.loss = loss, .seed = 1, .targets = {weight}, .recompute_points = {}};
    EXPECT_THAT(all_but_cheap_values(graph, objective), IsEmpty());
    Graph plan = graph;
    EXPECT_THAT(build_backward(plan, objective).stashed, ElementsAre(first));
}

}  // namespace
}  // namespace cnntrain::test
