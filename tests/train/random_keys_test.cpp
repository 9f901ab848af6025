// Random numbers depend on names and sample numbers, never on how a graph is cut, rewritten or fed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "graph/rewriter.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::int64_t kSteps = 3;

/// Difference of a run from another that must give the same numbers.
struct Variant {
    std::vector<std::string> splits = {};
    bool further_rewrite = false;
    int input_threads = 1;
};

/// A rewrite that computes nothing new, but gives every node and value another number.
graph::Graph renumbered(const graph::Graph& source) {
    graph::Rewriter rewriter(source);
    const graph::Node like{};
    const graph::ConstantAttrs unused{1, {DType::f32, {3}}};
    for (int i = 0; i < 7; ++i)
        rewriter.add(like, graph::OpKind::constant, unused, {}, "unused" + std::to_string(i));
    for (std::int32_t i = 0; i < source.node_count(); ++i)
        rewriter.copy(graph::NodeId{i});
    return rewriter.finish();
}

/// The training graph without fusions, which do not cross stages.
graph::Graph training_graph_of(const options::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images, const Variant& variant) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.splits = variant.splits;
    nn::Model model = nn::build_training(request, ops::op_table());
    const graph::Objective objective{.loss = model.values.loss,
                                     .seed = 1.0,
                                     .targets = model.graph.values_with_role(graph::Role::parameter),
                                     .recompute_points = {}};
    const graph::Gradients gradients = graph::build_backward(model.graph, objective);
    optim::append_update(model.graph, gradients, update_settings(settings, backend));
    return variant.further_rewrite ? renumbered(model.graph) : std::move(model.graph);
}

struct Numbers {
    std::vector<double> losses;
    std::map<std::string, HostTensor> variables;
};

/// Three updates of a narrow EfficientNet with dropout and drop-connect in 16 bits, rounded stochastically.
Numbers run(const Variant& variant) {
    const options::Settings settings =
        parse("--data-dir " + small_cifar() + " --micro-batch-size 8 --precision 16.16 --optimiser momentum " +
              kProxyNet)
            .settings;
    const auto backend = backend::make_cpu_backend();
    const data::InputData data(data_settings(settings, *backend, 1), data::Split::train);
    const std::vector<data::Field> fields = data.fields(8);
    const graph::Graph graph = training_graph_of(settings, *backend, data::field_desc(fields, data::kImages), variant);
    backend::CompileRequest request = compile_request(graph, settings, fields, 1);
    request.plan.devices.assign(variant.splits.size() + 1, 0);
    const auto executable = backend->compile(request);
    initialise(*executable, graph, 1);
    data::LoaderSettings loader = loader_settings(settings, 0);
    loader.threads = variant.input_threads;
    const auto stream = data.stream(loader);
    Numbers numbers;
    for (std::int64_t step = 0; step < kSteps; ++step)
        numbers.losses.push_back(executable->train_step(*stream, {0.01, step}).sums.at("loss"));
    numbers.variables = stored_variables(*executable);
    return numbers;
}

void expect_same(const Numbers& a, const Numbers& b) {
    EXPECT_EQ(a.losses, b.losses);
    ASSERT_EQ(a.variables.size(), b.variables.size());
    for (const auto& [name, tensor] : a.variables) {
        const HostTensor& other = b.variables.at(name);
        EXPECT_TRUE(std::ranges::equal(tensor.bytes(), other.bytes())) << name;
    }
}

TEST(RandomKeys, NumbersDoNotChangeWithThePartitionFurtherRewritesAndInputThreads) {
    const Numbers plain = run({});
    expect_same(run({.splits = {"block2a", "block5a"}}), plain);
    expect_same(run({.further_rewrite = true}), plain);
    expect_same(run({.input_threads = 3}), plain);
}

}  // namespace
}  // namespace cnntrain::run::testing
