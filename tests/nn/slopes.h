// Graphs computed node by node in float64, and their gradients against central differences of the loss.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"

namespace cnntrain::nn {

/// A graph with float64 values for everything that it reads.
class Evaluated {
public:
    explicit Evaluated(const graph::Graph& graph) : graph_(graph) {
        for (std::int32_t i = 0; i < graph.value_count(); ++i) {
            const TensorDesc& desc = graph.desc({i});
            values_.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
        }
    }

    std::vector<double>& of(graph::ValueId id) { return values_.at(static_cast<std::size_t>(id.index)).values; }
    std::vector<double>& of(std::string_view name) { return of(*graph_.find(std::string(name))); }

    void run(graph::Phase last) {
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            if (graph_.node({i}).phase <= last) backend::evaluate_node(graph_, {i}, values_);
        }
    }

private:
    const graph::Graph& graph_;
    std::vector<graph::RefTensor> values_;
};

inline graph::ValueId output(const graph::Graph& graph, std::string_view name) {
    const auto found = std::ranges::find(graph.outputs(), name, &graph::Output::name);
    EXPECT_NE(found, graph.outputs().end()) << name;
    return found->value;
}

/// Random numbers around 0, those of scales around 1.
inline void fill_parameters(Evaluated& net, const graph::Graph& graph) {
    Rng rng(7, RngStream::test);
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const double centre = graph.value(id).name.ends_with("/gamma") ? 1 : 0;
        for (double& value : net.of(id))
            value = rng.uniform(centre - 0.4, centre + 0.4);
    }
}

/// Compares some elements of each parameter's gradient. `fill` sets all values that the graph reads. `idle`: names
/// of parameters on which the loss does not depend.
inline void expect_slopes(graph::Graph graph, std::string_view loss, void (*fill)(Evaluated&, const graph::Graph&),
                          const std::set<std::string>& idle = {}) {
    constexpr double kStep = 1e-4;
    constexpr double kTolerance =
        1e-5;  // relative to the larger number, or to a hundredth of the tensor's largest gradient
    constexpr std::size_t kMostElements = 8;  // checked of each parameter
    graph::Objective objective;
    objective.loss = output(graph, loss);
    objective.targets = graph.values_with_role(graph::Role::parameter);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    ASSERT_EQ(gradients.of.size(), objective.targets.size());
    Evaluated net(graph);
    fill(net, graph);
    net.run(graph::Phase::backward);
    for (const graph::ValueId target : objective.targets) {
        const std::vector<double> gradient = net.of(gradients.of.at(target));
        const double largest = std::abs(*std::ranges::max_element(gradient, {}, [](double g) { return std::abs(g); }));
        if (idle.contains(graph.value(target).name)) {
            EXPECT_LT(largest, 1e-12) << graph.value(target).name;
            continue;
        }
        EXPECT_GT(largest, 0) << graph.value(target).name;
        const std::size_t stride = std::max<std::size_t>(gradient.size() / kMostElements, 1);
        for (std::size_t i = 0; i < gradient.size(); i += stride) {
            double& weight = net.of(target)[i];
            const double original = weight;
            const auto loss_at = [&](double value) {
                weight = value;
                net.run(graph::Phase::forward);
                return net.of(objective.loss)[0];
            };
            const double slope = (loss_at(original + kStep) - loss_at(original - kStep)) / (2 * kStep);
            weight = original;
            const double scale = std::max({std::abs(slope), std::abs(gradient[i]), largest / 100});
            EXPECT_NEAR(gradient[i], slope, kTolerance * scale) << graph.value(target).name << "[" << i << "]";
        }
    }
}

}  // namespace cnntrain::nn
