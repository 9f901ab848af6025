// CpuOptions::thread_independent: the same bits with any number of threads, for products of all kinds. Their shapes are
// such that oneDNN blocks or divides them by the number of threads: strided convolutions of few images, and matrices
// that are larger than oneDNN's blocks and no multiples of the own kernels' blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "cnntrain/backend/backends.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

constexpr graph::UpdateAttrs kUpdate{.rule = graph::UpdateRule::sgd, .gradient_scale = 1, .learning_rate_scale = 1};

struct Net : ToyGraph {
    std::vector<std::pair<std::string, HostTensor>> fields;
    DType type = DType::f32;

    ValueId field(const std::string& name, const Shape& shape) {
        fields.emplace_back(name, random_tensor({DType::f32, shape}, fields.size(), -1, 1));
        const ValueId value = input(name, shape);
        return type == DType::f32 ? value : cast(value, type, name + "/cast");
    }
    ValueId weight(const std::string& name, const Shape& shape) {
        const ValueId value = parameter(name, shape);
        return type == DType::f32 ? value : cast(value, type, name + "/cast");
    }
    ValueId dense_layer(ValueId x, std::int64_t outputs, const std::string& name) {
        return graph.add_one(OpKind::dense, graph::DenseAttrs{.bias = false},
                             {x, weight(name, {graph.desc(x).shape.back(), outputs})}, name + "/y");
    }
    void end(ValueId logits) {
        const Shape shape = graph.desc(logits).shape;
        const ValueId loss = cross_entropy(logits);
        fields.emplace_back("labels", random_tensor({DType::i32, {shape[0]}}, 99, 0, shape[1] - 1));
        update_all(differentiate(loss), kUpdate);
    }
};

/// Convolutions of all kinds: by Winograd's filtering, strided, in merged groups, projections.
Net convolutions(DType type, std::int64_t images) {
    Net net;
    net.type = type;
    const auto conv = [&](ValueId x, std::int64_t channels, const std::string& name, ToyGraph::Window window) {
        const Shape shape = net.graph.desc(x).shape;
        graph::ConvAttrs attrs;
        attrs.stride = window.stride;
        attrs.groups = window.groups;
        if (window.width > 1) attrs.padding = graph::same_padding(shape[1], shape[2], window.width, window.stride);
        const ValueId kernel = net.weight(name, {window.width, window.width, shape[3] / window.groups, channels});
        return net.graph.add_one(OpKind::conv2d, attrs, {x, kernel}, name + "/y");
    };
    ValueId x = net.field("images", {images, 32, 32, 3});
    x = conv(x, 16, "first", {});
    x = conv(x, 16, "square", {});
    x = conv(x, 32, "strided", {.stride = 2});
    x = conv(x, 64, "grouped", {.groups = 8});
    x = conv(x, 64, "strided_again", {.stride = 2});
    x = conv(x, 128, "projection", {.width = 1, .stride = 2});
    net.end(net.dense_layer(net.average_pool(x), 10, "last"));
    return net;
}

/// Dense layers of few and of many rows, and products of activations.
Net matrices(DType type, std::int64_t rows) {
    Net net;
    net.type = type;
    ValueId x = net.dense_layer(net.field("x", {rows, 1027}), 128, "long_sums");
    const ValueId groups = net.reshaped(x, {4, rows / 4, 128}, "groups");
    const ValueId products = net.graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{.transpose_b = true},
                                               {groups, groups}, "products");
    x = net.reshaped(net.graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {products, groups}, "mixed"),
                     {rows, 128}, "rows");
    net.end(net.dense_layer(x, 514, "wide"));
    return net;
}

using Bits = std::map<std::string, std::vector<std::byte>>;

/// All gradients of an update of two micro-batches.
Bits gradients(const Net& net, int threads) {
    TensorSource source(net.fields);
    backend::CompileRequest request;
    request.graph = &net.graph;
    request.plan.accumulation = 2;
    request.fields = source.fields();
    request.cpu.threads = threads;
    request.cpu.thread_independent = true;
    const auto executable = backend::make_cpu_backend()->compile(request);
    std::uint64_t index = 0;
    for (const std::string& name : executable->variable_names())
        executable->load(name, random_tensor(executable->store(name).desc(), index++, -0.1, 0.1));
    executable->train_step(source, {.learning_rate = 0, .iteration = 0});
    Bits bits;
    for (const std::string& name : executable->variable_names()) {
        const HostTensor gradient = executable->gradient(name);
        bits[name].assign(gradient.bytes().begin(), gradient.bytes().end());
    }
    return bits;
}

class ThreadIndependentProducts : public ::testing::TestWithParam<bool> {
protected:
    static DType type() { return GetParam() ? backend::make_cpu_backend()->fastest_arithmetic().type : DType::f32; }
    static void expect_same_bits(const Net& net) {
        const Bits expected = gradients(net, 1);
        for (const int threads : {2, 3, 4}) {
            for (const auto& [name, bits] : gradients(net, threads))
                EXPECT_TRUE(bits == expected.at(name)) << name << " with " << threads << " threads";
        }
    }
};
INSTANTIATE_TEST_SUITE_P(Types, ThreadIndependentProducts, ::testing::Bool(),
                         [](const auto& test) { return std::string(test.param ? "fastest" : "f32"); });

TEST_P(ThreadIndependentProducts, OfConvolutions) {
    for (const std::int64_t images : {1, 3, 16})
        expect_same_bits(convolutions(type(), images));
}

TEST_P(ThreadIndependentProducts, OfMatrices) {
    for (const std::int64_t rows : {4, 100, 128})
        expect_same_bits(matrices(type(), rows));
}

}  // namespace
}  // namespace cnntrain::test
