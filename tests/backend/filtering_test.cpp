// Convolutions by Winograd's filtering on the CPU backend: which ones, and their numbers against the reference.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/processor.h"
#include "support/bf16_products.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;

constexpr std::int64_t kSamples = 4;
constexpr std::int64_t kSize = 31;  // tiles of four pixels hang over the edge

/// Convolutions of stride 1 with 64 channels and more, others between them.
struct Net : ToyGraph {
    explicit Net(DType type) {
        const ValueId images = input("images", {kSamples, kSize, kSize, 3});
        const auto typed = [&](ValueId x, const std::string& name) {
            return type == DType::f32 ? x : cast(x, type, name + "/cast");
        };
        const auto add_conv = [&](ValueId x, std::int64_t channels, const std::string& name, std::int64_t stride) {
            const Shape shape = graph.desc(x).shape;
            graph::ConvAttrs attrs;
            attrs.stride = stride;
            attrs.padding = graph::same_padding(shape[1], shape[2], 3, stride);
            const ValueId weight = parameter(name + "/weight", {3, 3, shape[3], channels});
            return graph.add_one(OpKind::conv2d, attrs, {x, typed(weight, name)}, name);
        };
        ValueId x = activation(add_conv(typed(images, "images"), 64, "first", 1), "first/relu");
        x = activation(sum(add_conv(x, 64, "square", 1), x, "sum"), "square/relu");
        x = activation(add_conv(x, 96, "wide", 1), "wide/relu");
        x = add_conv(x, 32, "strided", 2);
        const ValueId rows = type == DType::f32 ? average_pool(x) : cast(average_pool(x), DType::f32, "rows");
        const ValueId loss = cross_entropy(dense(rows, 10, "dense"));
        update_all(differentiate(loss),
                   {.rule = graph::UpdateRule::sgd, .gradient_scale = 1, .learning_rate_scale = 1});
        fields = {{"images", random_tensor(graph.desc(images), 1, -1, 1)},
                  {"labels", random_tensor({DType::i32, {kSamples}}, 2, 0, 9)}};
    }

    std::unique_ptr<Executable> loaded(backend::Backend& on, std::int64_t micro_batches) const {
        backend::CompileRequest request{&graph, TensorSource(fields).fields()};
        request.plan.accumulation = micro_batches;
        request.cpu.threads = 2;
        auto executable = on.compile(request);
        std::uint64_t index = 10;
        for (const std::string& name : executable->variable_names())
            executable->load(name, random_tensor(executable->store(name).desc(), index++, -0.2, 0.2));
        return executable;
    }

    std::map<std::string, HostTensor> gradients(backend::Backend& on, std::int64_t micro_batches) const {
        const auto executable = loaded(on, micro_batches);
        TensorSource source(fields);
        executable->train_step(source, {.learning_rate = 0, .iteration = 0});
        std::map<std::string, HostTensor> result;
        for (const std::string& name : executable->variable_names())
            result[name] = executable->gradient(name);
        return result;
    }

    std::vector<std::pair<std::string, HostTensor>> fields;
};

class Filtering : public testing::TestWithParam<DType> {
    void SetUp() override {
        if (GetParam() == DType::bf16 && !has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    }
};
INSTANTIATE_TEST_SUITE_P(Types, Filtering, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

TEST_P(Filtering, HasTheGradientsOfDirectConvolutions) {
    const Net net(GetParam());
    const double relative = GetParam() == DType::f32 ? 2e-5 : 0.06;
    for (const std::int64_t micro_batches : {1, 3}) {
        const auto expected = net.gradients(*backend::make_ref_backend(), micro_batches);
        for (const auto& [name, gradient] : net.gradients(*backend::make_cpu_backend(), micro_batches)) {
            double largest = 0;
            double error = 0;
            for (std::int64_t i = 0; i < gradient.elements(); ++i) {
                largest = std::max(largest, std::abs(expected.at(name).at(i)));
                error = std::max(error, std::abs(gradient.at(i) - expected.at(name).at(i)));
            }
            EXPECT_GT(largest, 0) << name;
            EXPECT_LE(error, relative * largest) << name << ", " << micro_batches << " micro-batches";
        }
    }
}

TEST_P(Filtering, IsForKernelsOfStrideOneWithEnoughChannels) {
    if (GetParam() == DType::bf16 && this_processor().amx_bf16) GTEST_SKIP() << "AMX multiplies bfloat16 faster";
    const Net net(GetParam());
    const auto executable = net.loaded(*backend::make_cpu_backend(), 1);
    TensorSource source(net.fields);
    executable->set_profiling(true);
    executable->train_step(source, {.learning_rate = 0, .iteration = 0});
    std::set<std::string> filtered;
    for (const backend::ProfileRow& row : executable->profile().rows) {
        if (row.implementation == "winograd 4x4") filtered.insert(row.name);
    }
    EXPECT_THAT(filtered, testing::ElementsAre("square", "square/input_grad", "square/weight_grad", "wide",
                                               "wide/input_grad", "wide/weight_grad"));
}

}  // namespace
}  // namespace cnntrain::test
