// Views among other operations, against ref: a block of attention as networks for text have it, whose views cost no
// step, and a network that takes rows as images and images as rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cnntrain/backend/backends.h"
#include "support/bf16_products.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kHeadSize = 16;
constexpr std::int64_t kWidth = kHeads * kHeadSize;

/// A network whose gradients are outputs.
class ViewNet : public ToyGraph {
public:
    using ToyGraph::ToyGraph;

    void add_gradients(ValueId loss) {
        for (const auto& [target, gradient] : differentiate(loss).of)
            graph.mark_output("grad/" + graph.value(target).name, gradient);
        graph.verify();
    }
};

/// y = dense(heads(q) heads(k)^T heads(v)) with q, k and v one dense layer of x each: no softmax, so that every number
/// passes through views and products alone. The objective is the cross entropy of the rows of y.
class Attention : public ViewNet {
public:
    explicit Attention(DType type) : ViewNet(type) {
        const ValueId x = parameter("x", {kBatch, kTokens, kWidth});
        const ValueId q = heads(dense(x, kWidth, "query"), "query");
        const ValueId k = heads(dense(x, kWidth, "key"), "key");
        const ValueId v = heads(dense(x, kWidth, "value"), "value");
        const ValueId scores = graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{false, true}, {q, k}, "scores");
        const ValueId shared = sum(scores, scores, "doubled");
        const ValueId mixed = graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {shared, v}, "mixed");
        const ValueId joined = reshaped(exchanged(mixed, "join"), {kBatch, kTokens, kWidth}, "join/reshape");
        const ValueId y = dense(joined, kWidth, "out");
        const ValueId first = graph.add_one(OpKind::slice, graph::SliceAttrs{1, 0, 1, 0}, {y}, "first_token");
        graph.mark_output("y", y);
        loss = cross_entropy(reshaped(first, {kBatch, kWidth}, "first_token/reshape"));
    }

    ValueId loss;

private:
    ValueId exchanged(ValueId x, const std::string& name) {
        return graph.add_one(OpKind::transpose, graph::TransposeAttrs{{0, 2, 1, 3}}, {x}, name + "/transpose");
    }
    ValueId heads(ValueId x, const std::string& name) {
        return exchanged(reshaped(x, {kBatch, kTokens, kHeads, kHeadSize}, name + "/reshape"), name);
    }
};

/// Rows become images, pass a convolution, an activation and a sum with rows taken as images, and become rows again.
Graph rows_and_images(DType type) {
    ViewNet net(type);
    const ValueId image = net.reshaped(net.parameter("rows", {kBatch, 4 * 4 * 4}), {kBatch, 4, 4, 4}, "image");
    const ValueId conv = net.conv(image, 32, "conv");
    const ValueId shift = net.reshaped(net.parameter("shift", {kBatch, 4 * 4 * 32}), {kBatch, 4, 4, 32}, "shift");
    const ValueId shifted = net.sum(conv, shift, "shifted");
    const ValueId swapped = net.sum(shift, shifted, "shifted_again");
    const ValueId sum = net.sum(net.activation(shifted, "y", graph::Activation::swish), swapped, "sum");
    net.graph.mark_output("sum", sum);
    net.add_gradients(net.cross_entropy(net.reshaped(sum, {kBatch, 4 * 4 * 32}, "flat")));
    return net.graph;
}

TensorSource labels() {
    return TensorSource({{"labels", HostTensor::of<std::int32_t>({kBatch}, {3, 17})}});
}

std::unique_ptr<backend::Executable> compile(const backend::Backend& backend, const Graph& graph) {
    auto executable = backend.compile({&graph, labels().fields()});
    std::uint64_t index = 0;
    for (const auto& [name, desc] : executable->report().variables)
        executable->load(name, random_tensor(desc, index++, -0.3, 0.3));
    return executable;
}

std::map<std::string, HostTensor> outputs_of(const backend::Backend& backend, const Graph& graph) {
    const auto executable = compile(backend, graph);
    TensorSource source = labels();
    executable->train_step(source, {});
    std::map<std::string, HostTensor> outputs;
    for (const graph::Output& output : graph.outputs())
        outputs[output.name] = executable->output(output.name);
    return outputs;
}

void expect_cpu_agrees_with_ref(const Graph& graph, DType type) {
    const auto got = outputs_of(*backend::make_cpu_backend(), graph);
    const double tolerance = type == DType::f32 ? 2e-5 : 4e-2;  // bf16: many roundings in a row
    for (const auto& [name, want] : outputs_of(*backend::make_ref_backend(), graph)) {
        double squares = 0;
        for (std::int64_t i = 0; i < want.elements(); ++i)
            squares += want.at(i) * want.at(i);
        const double scale = std::sqrt(squares / static_cast<double>(want.elements()));
        ASSERT_EQ(got.at(name).shape(), want.shape()) << name;
        for (std::int64_t i = 0; i < want.elements(); ++i) {
            EXPECT_NEAR(got.at(name).at(i), want.at(i), tolerance * std::max(scale, std::abs(want.at(i))))
                << name << "[" << i << "]";
        }
    }
}

class Views : public testing::TestWithParam<DType> {
    void SetUp() override {
        if (GetParam() == DType::bf16 && !has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    }
};
INSTANTIATE_TEST_SUITE_P(Types, Views, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

TEST_P(Views, OfAttentionGiveTheValuesAndGradientsOfRef) {
    Attention block(GetParam());
    block.add_gradients(block.loss);
    EXPECT_EQ(block.graph.outputs().size(), 3U + 1 + 4 * 2);
    expect_cpu_agrees_with_ref(block.graph, GetParam());
}

TEST_P(Views, ImagesAndRowsBecomeEachOther) {
    expect_cpu_agrees_with_ref(rows_and_images(GetParam()), GetParam());
}

TEST_P(Views, CostNoStepWhereStridesCanTell) {
    const Attention block(GetParam());
    const auto executable = compile(*backend::make_cpu_backend(), block.graph);
    TensorSource source = labels();
    executable->evaluate(source, 1);
    executable->set_profiling(true);
    executable->evaluate(source, 1);
    std::map<std::string, int> steps;
    for (const backend::ProfileRow& row : executable->profile().rows)
        ++steps[row.op];
    // No strides describe joined heads, or single tokens as rows: these two reshapes copy.
    const std::map<std::string, int> expected = {
        {"add", 1}, {"batched_matmul", 2}, {"dense", 4}, {"reorder", 2}, {"softmax_cross_entropy", 1}};
    EXPECT_EQ(steps, expected);
}

}  // namespace
}  // namespace cnntrain::test
