#include "golden/groupbert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/optimiser.h"
#include "graph/nn/bert_encoder.h"
#include "graph/nn/layers.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {

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

namespace {

/// The formula of the JSON file.
std::vector<double> filled(double number, std::size_t count, double scale, double shift = 0) {
    std::vector<double> values(count);
    for (std::size_t k = 0; k < count; ++k)
        values[k] = shift + scale * std::sin(0.37 * (static_cast<double>(k) + 1) * (1 + 0.001 * number) + number);
    return values;
}

/// Appends the columns of a matrix of 64 rows.
void add_columns(std::vector<double>& to, const std::vector<double>& matrix) {
    const std::size_t before = to.size() / 64;
    for (std::size_t row = 64; row-- > 0;) {
        const auto from = matrix.begin() + static_cast<std::ptrdiff_t>(row * 64);
        to.insert(to.begin() + static_cast<std::ptrdiff_t>((row + 1) * before), from, from + 64);
    }
}

}  // namespace

GroupLayer::GroupLayer(std::int64_t length, bool splits, DType compute) : input{.batch = 2, .length = length} {
    model.hidden = 64;
    model.heads = 1;
    model.intermediate = 256;
    model.qkv_bias = model.groupbert = true;
    model.qkv_split = splits;
    numerics.compute = numerics.parameters = compute;
    nn::BertEncoder encoder(model, numerics, input, ops::op_table(), nn::Mode::training);
    const ValueId x = encoder.input("x", {2, length, 64}, DType::f32);
    encoder.begin(nn::in_type(encoder.graph(), x, compute, "x/cast"));
    encoder.group_layer("layer");
    const ValueId c = encoder.input("c", {2 * length * 64, 1}, DType::f32);
    const ValueId row = encoder.reshaped(encoder.tokens(), {1, 2 * length * 64}, "row");
    net = std::move(encoder.graph());
    const ValueId product = net.add_one(graph::OpKind::batched_matmul, graph::MatmulAttrs{},
                                        {nn::in_type(net, row, DType::f32, "row/cast"), c}, "product");
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

ValueId GroupLayer::value(const std::string& name) const {
    for (std::int32_t i = 0; i < net.value_count(); ++i) {
        if (net.value({i}).name == name) return {i};
    }
    ADD_FAILURE() << "no value " << name;
    return {};
}

std::vector<RefTensor> GroupLayer::computed() const {
    std::vector<RefTensor> values(static_cast<std::size_t>(net.value_count()));
    for (const auto& [name, start] : starts) {
        const ValueId id = net.find(name).value();
        values[static_cast<std::size_t>(id.index)] = {net.desc(id), start};
    }
    for (std::int32_t i = 0; i < net.node_count(); ++i)
        backend::evaluate_node(net, {i}, values);
    return values;
}

const std::vector<double>& GroupLayer::gradient(const std::vector<RefTensor>& values,
                                                const std::string& variable) const {
    const ValueId gradient = gradients.of.at(net.find(variable).value());
    return values[static_cast<std::size_t>(gradient.index)].values;
}

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

std::vector<GoldenGradient> golden_gradients(const GroupLayer& layer) {
    std::vector<GoldenGradient> result;
    for (const auto& [place, value] : golden_layer()["gradients_of_sum_y_times_fill98_scale1"].items()) {
        const std::size_t open = place.find('[');  // "a/kernel[3, 5]"
        const std::string name = "layer/" + place.substr(0, open);
        const auto indices = json::parse(place.substr(open)).get<std::vector<std::int64_t>>();
        const Shape& shape = layer.net.desc(layer.net.find(name).value()).shape;
        std::int64_t index = 0;
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            index = index * shape[axis] + indices.at(axis);
        result.push_back({name, static_cast<std::size_t>(index), value});
    }
    return result;
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

void expect_golden_on(const backend::Backend& backend, GroupLayer layer, const GroupTolerances& tolerances) {
    optim::append_update(layer.net, layer.gradients, {});
    std::vector<std::pair<std::string, HostTensor>> fields;
    for (const char* name : {"x", "c", "input_mask"})
        fields.emplace_back(name, as_tensor(layer.net.desc(layer.net.find(name).value()), layer.starts.at(name)));
    test::TensorSource source(fields);
    backend::CompileRequest request;
    request.graph = &layer.net;
    request.fields = source.fields();
    request.runtime.stochastic_rounding = false;
    const auto executable = backend.compile(request);
    for (const ValueId id : layer.parameters()) {
        executable->load(layer.net.value(id).name,
                         as_tensor(layer.net.desc(id), layer.starts.at(layer.net.value(id).name)));
    }
    executable->train_step(source, {});
    for (const auto& [block, want] : golden_layer()["after"].items())
        expect_golden_block(as_doubles(executable->output(block)), want, tolerances.values);
    const GroupLayer exact(layer.input.length, layer.model.qkv_split);
    const std::vector<RefTensor> values = exact.computed();
    for (const auto& [variable, index, value] : golden_gradients(layer)) {
        const auto [least, most] = std::ranges::minmax(exact.gradient(values, variable));
        const bool is_of_queries = tolerances.query_gradients > 0 && variable.find("/query/") != std::string::npos;
        const double tolerance = is_of_queries ? tolerances.query_gradients : tolerances.gradients;
        EXPECT_NEAR(executable->gradient(variable).at(static_cast<std::int64_t>(index)), value,
                    tolerance * std::max(-least, most))
            << variable;
    }
}

}  // namespace cnntrain::golden
