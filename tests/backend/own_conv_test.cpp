// Blocks with gates against ref: inference, whose convolutions own kernels compute, and training, whose norms take
// gates and means as they read and write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>

#include "cnntrain/backend/backend.h"
#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/passes.h"
#include "support/bf16_products.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;
using graph::Activation;
using graph::ValueId;

/// An inverted bottleneck with squeeze-excite, as an evaluation has it after norms are folded.
struct GatedBlock {
    GatedBlock(std::int64_t samples, std::int64_t size, std::int64_t channels, DType type) {
        const ValueId images = net.input("images", {samples, size, size, channels}, type);
        const ValueId wide = conv(images, 6 * channels, {.width = 1}, Activation::swish, {}, "wide");
        const ValueId spatial =
            conv(wide, 6 * channels, {.width = 5, .groups = 6 * channels}, Activation::swish, {}, "spatial");
        const ValueId mean = as(DType::f32, net.average_pool(spatial), "mean");
        const ValueId gate = net.activation(net.dense(mean, 6 * channels, "gate"), "sigmoid", Activation::sigmoid);
        const ValueId gated = net.graph.add_one(graph::OpKind::scale_channels, graph::NoAttrs{},
                                                {spatial, as(type, gate, "gate/cast")}, "scale");
        const ValueId block = conv(gated, channels, {.width = 1}, Activation::none, images, "narrow");
        net.graph.mark_output("block", as(DType::f32, block, "block"));
        tensors = {{"images", random_tensor(net.graph.desc(images), 1, -1, 1)}};
    }

    ValueId as(DType type, ValueId x, const std::string& name) {
        return net.graph.desc(x).dtype == type ? x : net.cast(x, type, name);
    }

    ValueId conv(ValueId x, std::int64_t channels, const ToyGraph::Window& window, Activation activation,
                 ValueId residual, const std::string& name) {
        const Shape& images = net.graph.desc(x).shape;
        graph::ConvAttrs attrs;
        attrs.groups = window.groups;
        attrs.padding = graph::same_padding(images[1], images[2], window.width, 1);
        attrs.bias = true;
        attrs.activation = activation;
        const ValueId weight =
            net.parameter(name + "/weight", {window.width, window.width, images[3] / window.groups, channels});
        std::vector<ValueId> inputs = {x, as(net.graph.desc(x).dtype, weight, name + "/cast"),
                                       net.parameter(name + "/bias", {channels})};
        if (residual.valid()) {
            attrs.residual = true;
            inputs.push_back(residual);
        }
        return net.graph.add_one(graph::OpKind::conv2d, attrs, inputs, name);
    }

    std::unique_ptr<Executable> compile(const backend::Backend& backend, int threads) const {
        backend::CompileRequest request{&net.graph, TensorSource(tensors).fields()};
        request.cpu.threads = threads;
        auto executable = backend.compile(request);
        std::uint64_t seed = 3;
        for (const auto& [name, desc] : executable->report().variables)
            executable->load(name, random_tensor(desc, seed++, -0.3, 0.3));
        return executable;
    }

    std::vector<float> answer(Executable& executable) const {
        TensorSource source(tensors);
        executable.evaluate(source, 1);
        const HostTensor block = executable.output("block");
        return {block.as<float>().begin(), block.as<float>().end()};
    }

    ToyGraph net;
    std::vector<std::pair<std::string, HostTensor>> tensors;
};

class GatedBlocks : public testing::TestWithParam<DType> {
    void SetUp() override {
        if (GetParam() == DType::bf16 && !has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    }
};
INSTANTIATE_TEST_SUITE_P(Types, GatedBlocks, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

TEST_P(GatedBlocks, HaveTheResultsOfRef) {
    const float bound = GetParam() == DType::f32 ? 1e-5F : 0.1F;
    for (const std::int64_t channels : {5, 24}) {
        for (const std::int64_t size : {1, 7, 16}) {
            SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(size) + " pixels");
            const GatedBlock block(3, size, channels, GetParam());
            const std::vector<float> want = block.answer(*block.compile(*backend::make_ref_backend(), 1));
            for (const int threads : {1, 2, 3}) {
                const auto executable = block.compile(*backend::make_cpu_backend(), threads);
                EXPECT_THAT(block.answer(*executable), testing::Pointwise(testing::FloatNear(bound), want));
            }
        }
    }
}

TEST(OwnConvolutions, SumTheMeanAndMultiplyByGates) {
    const GatedBlock block(2, 7, 24, DType::f32);
    const auto executable = block.compile(*backend::make_cpu_backend(), 2);
    executable->set_profiling(true);
    block.answer(*executable);
    std::map<std::string, std::string> implementations;
    for (const backend::ProfileRow& row : executable->profile().rows)
        implementations[row.name] = row.implementation;
    EXPECT_EQ(implementations["wide"], "tiles: activation");
    EXPECT_EQ(implementations["spatial"], "kernel");
    EXPECT_EQ(implementations["pool"], "sums");
    EXPECT_EQ(implementations["narrow"], "tiles: gates");
    EXPECT_FALSE(implementations.contains("scale"));
}

/// A depthwise convolution, norm with swish, squeeze-excite and 1x1 convolutions, one with a norm, in training. The
/// depthwise convolution has several bands of rows.
struct TrainedBlock {
    static constexpr std::int64_t kChannels = 24, kWide = 32, kClasses = 5, kSide = 16;
    /// `reads_norm_again`: the gradient of the norm's result is a sum of three.
    TrainedBlock(graph::OpKind kind, bool reads_norm_again, DType type = DType::f32) : net(type) {
        const ValueId images = net.input("images", {3, kSide, kSide, kChannels}, type);
        const ValueId spatial = net.conv(images, kChannels, "spatial", {.width = 5, .groups = kChannels});
        graph::NormAttrs attrs;
        attrs.activation = Activation::swish;
        if (kind == graph::OpKind::group_norm) attrs.groups = 2;
        const auto normalised = [&](ValueId x, std::int64_t channels, const std::string& name) {
            const auto vector = [&](const std::string& of) {
                return net.graph.add_parameter(name + of, {DType::f32, {channels}}, {});
            };
            return net.graph.add(kind, attrs, {x, vector("/gamma"), vector("/beta")}, name)[0];
        };
        const ValueId norm = normalised(spatial, kChannels, "norm");
        const ValueId mean = net.average_pool(norm);
        const ValueId gate = net.activation(net.dense(mean, kChannels, "gate"), "sigmoid", Activation::sigmoid);
        ValueId gated = net.graph.add_one(graph::OpKind::scale_channels, graph::NoAttrs{}, {norm, gate}, "scale");
        if (reads_norm_again) gated = net.sum(gated, norm, "sum");
        const ValueId wide = normalised(net.conv(gated, kWide, "wide", {.width = 1}), kWide, "wide/norm");
        const ValueId narrow = net.conv(wide, kClasses, "narrow", {.width = 1});
        const ValueId logits = net.graph.add_one(graph::OpKind::global_average_pool, graph::NoAttrs{}, {narrow}, "end");
        net.update_all(net.differentiate(net.cross_entropy(logits)),
                       {.rule = graph::UpdateRule::sgd, .gradient_scale = 1, .learning_rate_scale = 1});
        net.graph = graph::fuse_gradient_sums(net.graph);
        tensors = {{"images", random_tensor({type, {3, kSide, kSide, kChannels}}, 1, -1, 1)},
                   {"labels", random_tensor({DType::i32, {3}}, 2, 0, kClasses - 1)}};
    }

    std::unique_ptr<Executable> trained(const backend::Backend& backend, int threads) const {
        backend::CompileRequest request{&net.graph, TensorSource(tensors).fields()};
        request.cpu.threads = threads;
        auto executable = backend.compile(request);
        executable->set_profiling(true);
        std::uint64_t seed = 3;
        for (const auto& [name, desc] : executable->report().variables)
            executable->load(name, random_tensor(desc, seed++, 0.1, 0.6));
        TensorSource source(tensors);
        executable->train_step(source, {.learning_rate = 0, .iteration = 0});
        return executable;
    }

    ToyGraph net;
    std::vector<std::pair<std::string, HostTensor>> tensors;
};

void expect_gradients_of_ref(const TrainedBlock& block, double bound) {
    const auto ref = block.trained(*backend::make_ref_backend(), 1);
    for (const int threads : {1, 2}) {
        const auto cpu = block.trained(*backend::make_cpu_backend(), threads);
        for (const std::string& name : cpu->variable_names()) {
            const HostTensor got = cpu->gradient(name);
            const HostTensor want = ref->gradient(name);
            for (std::int64_t i = 0; i < got.elements(); ++i)
                ASSERT_NEAR(got.at(i), want.at(i), bound * (1 + std::abs(want.at(i)))) << name << " " << i;
        }
    }
}

TEST(TrainedBlocks, HaveTheGradientsOfRef) {
    for (const graph::OpKind kind : {graph::OpKind::batch_norm, graph::OpKind::group_norm}) {
        for (const bool reads_norm_again : {false, true}) {
            expect_gradients_of_ref(TrainedBlock(kind, reads_norm_again), 2e-5);
            if (has_bf16_products()) expect_gradients_of_ref(TrainedBlock(kind, reads_norm_again, DType::bf16), 0.1);
        }
    }
}

/// Returns the implementation of each step of an update on two threads, by the step's name.
std::map<std::string, std::string> implementations_of(const TrainedBlock& block) {
    std::map<std::string, std::string> implementations;
    const auto executable = block.trained(*backend::make_cpu_backend(), 2);
    for (const backend::ProfileRow& row : executable->profile().rows)
        implementations[row.name] = row.implementation;
    return implementations;
}

TEST(TrainedBlocks, LeaveGatesAndMeansToTheNorm) {
    for (const graph::OpKind kind : {graph::OpKind::batch_norm, graph::OpKind::group_norm}) {
        std::map<std::string, std::string> implementations = implementations_of(TrainedBlock(kind, false));
        EXPECT_EQ(implementations["pool"], "sums");
        EXPECT_EQ(implementations["scale/grad"], "sums");
        EXPECT_FALSE(implementations.contains("pool/grad"));
    }
}

/// Own f32 convolutions sum the statistics of the norm that follows. In bfloat16 the norm computes them itself.
TEST(TrainedBlocks, HaveStatisticsFromTheConvolution) {
    for (const graph::OpKind kind : {graph::OpKind::batch_norm, graph::OpKind::group_norm}) {
        std::map<std::string, std::string> implementations = implementations_of(TrainedBlock(kind, false));
        EXPECT_EQ(implementations["norm"], "kernel: statistics of conv2d");
        EXPECT_EQ(implementations["wide/norm"], "kernel: statistics of conv2d");
        if (has_bf16_products()) {
            EXPECT_EQ(implementations_of(TrainedBlock(kind, false, DType::bf16))["norm"], "kernel");
        }
    }
}

TEST(TrainedBlocks, HaveOwnConvolutionsOfFewChannels) {
    std::map<std::string, std::string> implementations =
        implementations_of(TrainedBlock(graph::OpKind::batch_norm, false));
    for (const char* conv : {"wide", "narrow"}) {
        for (const char* gradient : {"", "/input_grad", "/weight_grad"})
            EXPECT_EQ(implementations[std::string(conv) + gradient], "tiles: few channels") << conv << gradient;
    }
}

}  // namespace
}  // namespace cnntrain::test
