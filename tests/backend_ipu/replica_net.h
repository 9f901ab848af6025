// A small network whose weight updates several replicas perform together, and samples that are all different.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {

constexpr unsigned kTiles = 8;  // fewer than an IPU has: programs are made faster, and their numbers are the same

inline std::unique_ptr<backend::Backend> small_ipus() {
    return backend::make_ipu_backend({.tiles_per_ipu = kTiles});
}

/// Micro-batches of consecutive samples; a sample has the same contents in micro-batches of any size.
class NumberedSamples : public TensorSource {
public:
    explicit NumberedSamples(std::int64_t samples)
        : TensorSource({{"images", HostTensor({DType::f32, {samples, kSize, kSize, 3}})},
                        {"labels", HostTensor({DType::i32, {samples}})}}),
          samples_(samples) {}

    static constexpr std::int64_t kSize = 4;
    static constexpr std::int64_t kClasses = 3;

private:
    void fill(std::int64_t batch) override {
        for (std::int64_t i = 0; i < samples_; ++i) {
            const std::int64_t number = batch * samples_ + i;
            const HostTensor image =
                random_tensor({DType::f32, {kSize, kSize, 3}}, static_cast<std::uint64_t>(number), -1, 1);
            for (std::int64_t p = 0; p < image.elements(); ++p)
                tensor(0).set(i * image.elements() + p, image.at(p));
            tensor(1).set(i, static_cast<double>(number % kClasses));
        }
    }

    std::int64_t samples_;
};

struct ReplicaNet {
    std::int64_t micro_batch = 2;
    std::int64_t accumulation = 2;
    std::int64_t replicas = 1;
    std::int64_t norm_span = 1;
    bool shards_optimiser = false;
    backend::IpuSettings ipu = {};
    graph::UpdateAttrs update = {.rule = graph::UpdateRule::momentum, .weight_decay = 0.01, .momentum = 0.9};
    bool clips = false;       // gradients, by their norm
    bool has_master = false;  // a parameter in half
};

/// Two convolutions with batch norm, pooling, and a dense layer of ten inputs; built for micro-batches of so many
/// samples.
class ReplicaGraph : public ToyGraph {
public:
    ReplicaGraph(const ReplicaNet& net, std::int64_t samples) : net_(net), samples_(samples) {
        ValueId x = input("images", {samples, NumberedSamples::kSize, NumberedSamples::kSize, 3});
        x = activation(norm(conv(x, 4, "conv1"), "norm1"), "relu1");
        x = activation(norm(conv(x, 10, "conv2"), "norm2"), "relu2");
        x = average_pool(x);
        if (net.has_master) x = half_dense(x, "half");
        const ValueId loss = cross_entropy(dense(x, NumberedSamples::kClasses, "fc"));
        add_updates(differentiate(loss));
    }

private:
    double executions() const {
        return static_cast<double>(net_.accumulation * net_.replicas * net_.micro_batch) /
               static_cast<double>(samples_);
    }

    ValueId norm(ValueId x, const std::string& name) {
        const Shape channels = {graph.desc(x).shape[3]};
        const std::vector<ValueId> outputs =
            graph.add(graph::OpKind::batch_norm, graph::NormAttrs{},
                      {x, parameter(name + "/gamma", channels), parameter(name + "/beta", channels)}, name);
        statistics_[name + "/moving_mean"] = outputs[1];
        statistics_[name + "/moving_variance"] = outputs[2];
        return outputs[0];
    }

    void add_updates(const graph::Gradients& gradients) {
        graph::UpdateAttrs attrs = net_.update;
        attrs.gradient_scale = 1 / (executions() * static_cast<double>(samples_));
        const auto [rate, step, scaling] = begin_update();
        std::vector<ValueId> scalars = {rate, step, scaling};
        if (net_.clips) {
            std::vector<ValueId> all = {scaling};
            for (const ValueId parameter : parameters())
                all.push_back(gradients.of.at(parameter));
            scalars.push_back(graph.add_one(graph::OpKind::gradient_factor,
                                            graph::GradientFactorAttrs{attrs.gradient_scale, 0.5}, all, "factor"));
        }
        for (const ValueId parameter : parameters())
            add_update(parameter, gradients.of.at(parameter), scalars, attrs);
        for (const auto& [name, statistic] : statistics_) {
            const ValueId moving = graph.add_moving_average(name, graph.desc(statistic), {});
            graph.add(graph::OpKind::moving_average_update, graph::MovingAverageAttrs{0.5, 1 / executions()},
                      {moving, statistic}, name + "/update");
        }
    }

    void add_update(ValueId parameter, ValueId gradient, const std::vector<ValueId>& scalars,
                    const graph::UpdateAttrs& attrs) {
        const std::string name = graph.value(parameter).name;
        TensorDesc desc = graph.desc(parameter);
        const bool has_master = desc.dtype != DType::f32;
        desc.dtype = DType::f32;
        const ValueId target = has_master ? graph.add_slot(parameter, name + "/master", desc, {}) : parameter;
        std::vector<ValueId> inputs = {target, gradient};
        inputs.insert(inputs.end(), scalars.begin(), scalars.end());
        for (std::size_t k = 0; k < graph::facts_of(attrs.rule).slots; ++k)
            inputs.push_back(graph.add_slot(parameter, name + "/slot" + std::to_string(k), desc, {}));
        graph.add(net_.clips ? graph::OpKind::scaled_update : graph::OpKind::update, attrs, inputs, name + "/update");
        if (has_master) graph.add(graph::OpKind::round_copy, graph::NoAttrs{}, {parameter, target}, name + "/round");
    }

    /// A dense layer with weights in half and a master of them.
    ValueId half_dense(ValueId x, const std::string& name) {
        const ValueId weight = graph.add_parameter(name + "/weight", {DType::f16, {graph.desc(x).shape.back(), 5}}, {});
        return graph.add_one(graph::OpKind::dense, graph::DenseAttrs{},
                             {x, cast(weight, DType::f32, name + "/wide"), parameter(name + "/bias", {5})}, name);
    }

    ReplicaNet net_;
    std::int64_t samples_;
    std::map<std::string, ValueId> statistics_;
};

/// A compile request for the net, without graph and fields.
inline backend::CompileRequest request_of(const ReplicaNet& net) {
    backend::CompileRequest request;
    request.plan = {.micro_batch = net.micro_batch,
                    .accumulation = net.accumulation,
                    .replicas = net.replicas,
                    .norm_span = net.norm_span,
                    .updates_per_call = 3};
    request.peers.shard_optimiser = net.shards_optimiser;
    request.ipu = net.ipu;
    return request;
}

/// Slots start at zero, except means of squares.
inline void load_first_weights(backend::Executable& executable) {
    std::uint64_t index = 1000;
    for (const auto& [name, desc] : executable.report().variables) {
        ++index;
        const bool is_zero = name.ends_with("/slot0");
        const double middle = name.ends_with("/slot1") || name.ends_with("/gamma") ? 1 : 0;
        executable.load(name, is_zero ? HostTensor(desc) : random_tensor(desc, index, middle - 0.5, middle + 0.5));
    }
}

struct ReplicaResult {
    std::vector<double> losses;
    std::map<std::string, HostTensor> variables;
    std::map<std::string, HostTensor> gradients;  // of the last update
};

/// The largest distance between tensors of the same name, with that name.
inline std::pair<double, std::string> largest_distance(const std::map<std::string, HostTensor>& one,
                                                       const std::map<std::string, HostTensor>& other) {
    std::pair<double, std::string> largest{0, ""};
    for (const auto& [name, tensor] : one) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            largest = std::max(largest, {std::abs(tensor.at(i) - other.at(name).at(i)), name});
    }
    return largest;
}

inline void expect_near(const ReplicaResult& one, const ReplicaResult& other, double tolerance) {
    ASSERT_EQ(one.losses.size(), other.losses.size());
    for (std::size_t k = 0; k < one.losses.size(); ++k)
        EXPECT_NEAR(one.losses[k], other.losses[k], 10 * tolerance);
    ASSERT_EQ(one.variables.size(), other.variables.size());
    const auto [variables, variable] = largest_distance(one.variables, other.variables);
    EXPECT_LE(variables, tolerance) << variable;
    const auto [gradients, gradient] = largest_distance(one.gradients, other.gradients);
    EXPECT_LE(gradients, tolerance) << "gradient of " << gradient;
}

inline std::unique_ptr<backend::Executable> compiled(const backend::Backend& backend, const ReplicaNet& net,
                                                     const graph::Graph& graph, const data::BatchSource& source) {
    backend::CompileRequest request = request_of(net);
    request.graph = &graph;
    request.fields = source.fields();
    request.cpu.threads = 1;
    return backend.compile(request);
}

/// Three weight updates.
inline ReplicaResult train(backend::Executable& executable, const graph::Graph& graph, data::BatchSource& source) {
    load_first_weights(executable);
    ReplicaResult result;
    for (std::int64_t i = 0; i < 3; ++i)
        result.losses.push_back(executable.train_step(source, {0.1, i}).sums.at("loss"));
    result.variables = executable.store(executable.variable_names());
    for (const graph::ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const std::string& name = graph.value(parameter).name;
        result.gradients.emplace(name, executable.gradient(name));
    }
    return result;
}
inline ReplicaResult train(const backend::Backend& backend, const ReplicaNet& net, const graph::Graph& graph,
                           data::BatchSource& source) {
    return train(*compiled(backend, net, graph, source), graph, source);
}

}  // namespace cnntrain::test
