// GroupBERT's layer against another implementation in double precision; its gradients, masks and stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "golden/groupbert.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::golden {
namespace {

using graph::RefTensor;
using graph::ValueId;

void expect_golden(const GroupLayer& layer) {
    const std::vector<RefTensor> values = layer.computed();
    for (const auto& [block, want] : golden_layer()["after"].items()) {
        expect_golden_block(values[static_cast<std::size_t>(layer.value("layer/" + block + "/sum").index)].values, want,
                            1e-9);
    }
    // The other implementation's gradients are central differences.
    for (const GoldenGradient& golden : golden_gradients(layer))
        EXPECT_NEAR(layer.gradient(values, golden.variable).at(golden.index), golden.value, 1e-8) << golden.variable;
}

TEST(GoldenGroupBert, LayerInDoublePrecision) {
    expect_golden(GroupLayer());
}

/// Queries, keys and values in one variable, with biases of their own.
TEST(GoldenGroupBert, LayerWithJoinedWeights) {
    expect_golden(GroupLayer(8, false));
}

TEST(GoldenGroupBert, LayerOnTheCpu) {
    const auto cpu = backend::make_cpu_backend();
    expect_golden_on(*cpu, GroupLayer(8, true), {.values = 1e-5, .gradients = 1e-5, .query_gradients = 3e-5});
    expect_golden_on(*cpu, GroupLayer(8, false), {.values = 1e-5, .gradients = 1e-5, .query_gradients = 3e-5});
}

/// Along one random direction of each variable.
TEST(GroupBert, GradientsAreDifferencesOfTheLoss) {
    GroupLayer layer;
    const std::vector<RefTensor> values = layer.computed();
    std::uint64_t index = 0;
    for (const ValueId id : layer.parameters()) {
        const std::string& name = layer.net.value(id).name;
        const std::vector<double> direction = as_doubles(test::random_tensor(layer.net.desc(id), ++index, -1, 1));
        const std::vector<double>& slope = values[static_cast<std::size_t>(layer.gradients.of.at(id).index)].values;
        const double want = std::inner_product(slope.begin(), slope.end(), direction.begin(), 0.0);
        std::vector<double>& start = layer.starts.at(name);
        const std::vector<double> kept = start;
        constexpr double kStep = 1e-6;
        const auto loss_at = [&](double step) {
            for (std::size_t i = 0; i < start.size(); ++i)
                start[i] = kept[i] + step * direction[i];
            return layer.computed_loss();
        };
        const double difference = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
        EXPECT_NEAR(difference, want, 1e-6 * std::max(1.0, std::abs(want))) << name;
        start = kept;
    }
}

TEST(GroupBert, PaddingChangesNothing) {
    const GroupLayer padded;
    GroupLayer shorter(5);
    const std::vector<double>& x = padded.starts.at("x");
    std::vector<double>& part = shorter.starts.at("x");
    for (std::size_t i = 0; i < part.size(); ++i)
        part[i] = x[i < 5 * 64 ? i : i + 3 * 64];
    const auto tokens = [](const GroupLayer& layer) {
        return layer.computed()[static_cast<std::size_t>(layer.value("layer/feed_forward_2/sum").index)].values;
    };
    const std::vector<double> want = tokens(shorter);
    const std::vector<double> got = tokens(padded);
    for (std::size_t i = 5 * 64; i < 10 * 64; ++i)
        EXPECT_NEAR(got[i + 3 * 64], want[i], 1e-12) << i;
}

/// Losses of one update, and a gradient of the first layer.
std::vector<double> update_of(const backend::Backend& backend, const std::vector<std::string>& splits) {
    nn::BertRequest request;
    request.model = {.vocabulary = 40, .hidden = 64, .layers = 2, .heads = 1, .intermediate = 64};
    request.model.groupbert = true;
    request.model.hidden_dropout = 0.1;
    request.input = {.batch = 2, .length = 12, .predictions = 3};
    request.splits = splits;
    graph::Graph net = nn::build_bert(request, ops::op_table(), nn::Mode::training);
    std::vector<std::pair<std::string, HostTensor>> fields;
    for (const ValueId id : net.values_with_role(graph::Role::input)) {
        const double limit = net.value(id).name == nn::kInputIds ? 40 : 2;
        HostTensor tensor = test::random_tensor({DType::f32, net.desc(id).shape}, fields.size(), 0, limit);
        HostTensor whole(net.desc(id));
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            whole.set(i, std::floor(tensor.at(i)));
        fields.emplace_back(net.value(id).name, std::move(whole));
    }
    graph::Objective objective;
    for (const graph::Output& output : net.outputs()) {
        if (output.name == nn::kMaskedLoss) objective.loss = output.value;
    }
    objective.targets = net.values_with_role(graph::Role::parameter);
    const graph::Gradients gradients = graph::build_backward(net, objective);
    optim::append_update(net, gradients, {});
    test::TensorSource source(std::move(fields));
    backend::CompileRequest compiled;
    compiled.graph = &net;
    compiled.fields = source.fields();
    compiled.plan.devices.assign(splits.size() + 1, 0);
    compiled.plan.accumulation = 4;
    const auto executable = backend.compile(compiled);
    for (const ValueId id : net.variables())
        executable->load(net.value(id).name, nn::initial_value(net.value(id), 5));
    executable->train_step(source, {});
    std::vector<double> result = as_doubles(executable->gradient("bert/encoder/layer_0/convolution/dwconv/weight"));
    result.push_back(executable->output(std::string(nn::kMaskedLoss)).at(0));
    return result;
}

TEST(GroupBert, StagesComputeWhatOneDoes) {
    const auto ref = backend::make_ref_backend();
    const auto cpu = backend::make_cpu_backend();
    const std::vector<double> want = update_of(*ref, {});
    EXPECT_THAT(update_of(*ref, {"hid1"}), testing::Pointwise(testing::DoubleNear(1e-9), want));
    EXPECT_THAT(update_of(*cpu, {}), testing::Pointwise(testing::DoubleNear(1e-5), want));
    EXPECT_THAT(update_of(*cpu, {"hid1", "mlm0"}), testing::Pointwise(testing::DoubleNear(1e-5), want));
}

}  // namespace
}  // namespace cnntrain::golden
