// GroupBERT's layer against another implementation in double precision; its gradients, masks and stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/graph/optimiser.h"
#include "cnntrain/graph/passes.h"
#include "graph/nn/bert_encoder.h"
#include "support/errors.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::golden {
namespace {

using graph::RefTensor;
using graph::ValueId;
using nlohmann::json;

const json& golden_layer() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/groupbert.json");
        return json::parse(file);
    }();
    return document;
}

/// The formula of the JSON file.
std::vector<double> filled(double number, std::size_t count, double scale, double shift = 0) {
    std::vector<double> values(count);
    for (std::size_t k = 0; k < count; ++k)
        values[k] = shift + scale * std::sin(0.37 * (static_cast<double>(k) + 1) * (1 + 0.001 * number) + number);
    return values;
}

/// The layer on two sequences of `length` tokens, the second with five that are visible, and the loss sum of y * c.
struct Layer {
    explicit Layer(std::int64_t length = 8, bool splits = true) : input{.batch = 2, .length = length} {
        model.hidden = 64;
        model.heads = 1;
        model.intermediate = 256;
        model.qkv_bias = model.groupbert = true;
        model.qkv_split = splits;
        nn::BertEncoder encoder(model, numerics, input, ops::op_table(), nn::Mode::training);
        const ValueId x = encoder.input("x", {2, length, 64}, DType::f32);
        encoder.begin(x);
        encoder.group_layer("layer");
        const ValueId c = encoder.input("c", {2 * length * 64, 1}, DType::f32);
        const ValueId row = encoder.reshaped(encoder.tokens(), {1, 2 * length * 64}, "row");
        net = std::move(encoder.graph());
        const ValueId product = net.add_one(graph::OpKind::batched_matmul, graph::MatmulAttrs{}, {row, c}, "product");
        loss = net.add_one(graph::OpKind::reshape, graph::ReshapeAttrs{{}}, {product}, "sum");
        net.mark_output("loss", loss);
        for (const auto& [block, unused] : golden_layer()["after"].items())
            net.mark_output(block, value("layer/" + block + "/sum"));
        gradients = graph::build_backward(net, {.loss = loss, .targets = parameters(), .recompute_points = {}});
        std::vector<double>& mask = starts[std::string(nn::kInputMask)];
        mask.assign(static_cast<std::size_t>(2 * length), 1);
        for (std::int64_t i = 5; i < length; ++i)
            mask[static_cast<std::size_t>(length + i)] = 0;
        starts["x"] = filled(99, elements(x), 1);
        starts["c"] = filled(98, elements(c), 1);
        double number = 0;
        for (const std::string name : golden_layer()["tensors"]) {
            const std::string scope = "layer/attention/self/";
            const bool joins = !splits && ("layer/" + name).starts_with(scope) && name.ends_with("kernel");
            const ValueId id = net.find(joins ? scope + "kernel/qkv_weight" : "layer/" + name).value();
            if (joins) {
                add_columns(starts[net.value(id).name], filled(++number, 64 * 64, 0.1));
                continue;
            }
            starts["layer/" + name] = filled(++number, elements(id), 0.1, name.ends_with("gamma") ? 1 : 0);
        }
    }

    /// Appends the columns of a matrix of 64 rows.
    static void add_columns(std::vector<double>& to, const std::vector<double>& matrix) {
        const std::size_t before = to.size() / 64;
        for (std::size_t row = 64; row-- > 0;) {
            const auto from = matrix.begin() + static_cast<std::ptrdiff_t>(row * 64);
            to.insert(to.begin() + static_cast<std::ptrdiff_t>((row + 1) * before), from, from + 64);
        }
    }

    std::vector<ValueId> parameters() const { return net.values_with_role(graph::Role::parameter); }
    std::size_t elements(ValueId id) const { return static_cast<std::size_t>(net.desc(id).elements()); }
    ValueId value(const std::string& name) const {
        for (std::int32_t i = 0; i < net.value_count(); ++i) {
            if (net.value({i}).name == name) return {i};
        }
        ADD_FAILURE() << "no value " << name;
        return {};
    }

    /// Forward and backward in double precision.
    std::vector<RefTensor> computed() const {
        std::vector<RefTensor> values(static_cast<std::size_t>(net.value_count()));
        for (const auto& [name, start] : starts) {
            const ValueId id = net.find(name).value();
            values[static_cast<std::size_t>(id.index)] = {net.desc(id), start};
        }
        for (std::int32_t i = 0; i < net.node_count(); ++i)
            backend::evaluate_node(net, {i}, values);
        return values;
    }
    double computed_loss() const { return computed()[static_cast<std::size_t>(loss.index)].values[0]; }

    nn::BertSettings model;
    nn::NumericsSettings numerics;
    nn::BertInput input;
    graph::Graph net{ops::op_table()};
    ValueId loss;
    graph::Gradients gradients;
    std::map<std::string, std::vector<double>, std::less<>> starts;
};

void expect_golden_block(const std::vector<double>& y, const json& want, double tolerance) {
    const std::vector<double> first = want["first"];
    const std::vector<double> last = want["last"];
    for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_NEAR(y[i], first[i], tolerance);
        EXPECT_NEAR(y[y.size() - last.size() + i], last[i], tolerance);
    }
    const auto count = static_cast<double>(y.size());
    EXPECT_NEAR(std::accumulate(y.begin(), y.end(), 0.0), want["sum"], tolerance * count);
    EXPECT_NEAR(std::inner_product(y.begin(), y.end(), y.begin(), 0.0), want["sum_of_squares"], tolerance * count);
    // The first channels of the second sequence's last visible token.
    const std::vector<double> edge = want["masked_edge"];
    EXPECT_NEAR(y[(8 + 4) * 64], edge[0], tolerance);
    EXPECT_NEAR(y[(8 + 4) * 64 + 1], edge[1], tolerance);
}

/// "a/kernel[3, 5]" -> the variable's name and the places.
std::pair<std::string, std::vector<std::int64_t>> parsed_place(const std::string& text) {
    const std::size_t open = text.find('[');
    return {"layer/" + text.substr(0, open), json::parse(text.substr(open)).get<std::vector<std::int64_t>>()};
}

template <typename Read> void expect_golden_gradients(const Layer& layer, double tolerance, const Read& read) {
    for (const auto& [place, want] : golden_layer()["gradients_of_sum_y_times_fill98_scale1"].items()) {
        const auto [name, indices] = parsed_place(place);
        const double gradient = want;
        const Shape& shape = layer.net.desc(layer.net.find(name).value()).shape;
        std::int64_t index = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            index = index * shape[axis] + indices.at(axis);
        EXPECT_NEAR(read(name, index), gradient, tolerance) << place;
    }
}

void expect_golden(const Layer& layer) {
    const std::vector<RefTensor> values = layer.computed();
    for (const auto& [block, want] : golden_layer()["after"].items()) {
        expect_golden_block(values[static_cast<std::size_t>(layer.value("layer/" + block + "/sum").index)].values, want,
                            1e-9);
    }
    // The other implementation's gradients are central differences.
    expect_golden_gradients(layer, 1e-8, [&](const std::string& name, std::int64_t i) {
        const ValueId gradient = layer.gradients.of.at(layer.net.find(name).value());
        return values[static_cast<std::size_t>(gradient.index)].values.at(static_cast<std::size_t>(i));
    });
}

TEST(GoldenGroupBert, LayerInDoublePrecision) {
    expect_golden(Layer());
}

/// Queries, keys and values in one variable, with biases of their own.
TEST(GoldenGroupBert, LayerWithJoinedWeights) {
    expect_golden(Layer(8, false));
}

HostTensor as_tensor(const TensorDesc& desc, const std::vector<double>& values) {
    HostTensor tensor(desc);
    for (std::size_t i = 0; i < values.size(); ++i)
        tensor.set(static_cast<std::int64_t>(i), values[i]);
    return tensor;
}

std::vector<double> as_doubles(const HostTensor& tensor) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        values.push_back(tensor.at(i));
    return values;
}

void expect_golden_on_cpu(Layer layer) {
    optim::append_update(layer.net, layer.gradients, {});
    std::vector<std::pair<std::string, HostTensor>> fields;
    for (const char* name : {"x", "c", "input_mask"})
        fields.emplace_back(name, as_tensor(layer.net.desc(layer.net.find(name).value()), layer.starts.at(name)));
    test::TensorSource source(fields);
    backend::CompileRequest request;
    request.graph = &layer.net;
    request.fields = source.fields();
    const auto cpu = backend::make_cpu_backend();
    const auto executable = cpu->compile(request);
    for (const ValueId id : layer.parameters()) {
        executable->load(layer.net.value(id).name,
                         as_tensor(layer.net.desc(id), layer.starts.at(layer.net.value(id).name)));
    }
    executable->train_step(source, {});
    for (const auto& [block, want] : golden_layer()["after"].items())
        expect_golden_block(as_doubles(executable->output(block)), want, 1e-5);
    expect_golden_gradients(layer, 1e-4,
                            [&](const std::string& name, std::int64_t i) { return executable->gradient(name).at(i); });
}

TEST(GoldenGroupBert, LayerOnTheCpu) {
    expect_golden_on_cpu(Layer());
    expect_golden_on_cpu(Layer(8, false));
}

/// Along one random direction of each variable.
TEST(GroupBert, GradientsAreDifferencesOfTheLoss) {
    Layer layer;
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
    const Layer padded;
    Layer shorter(5);
    const std::vector<double>& x = padded.starts.at("x");
    std::vector<double>& part = shorter.starts.at("x");
    for (std::size_t i = 0; i < part.size(); ++i)
        part[i] = x[i < 5 * 64 ? i : i + 3 * 64];
    const auto tokens = [](const Layer& layer) {
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
