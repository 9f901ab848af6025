// Evaluations of a batch in parts, and weights that several executables read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "cnntrain/backend/backend.h"
#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/passes.h"
#include "support/bf16_products.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using backend::Executable;
using graph::ValueId;

constexpr std::int64_t kClasses = 10;

/// A residual block and a classifier of `samples` images; activations of `type`.
struct Classifier {
    Classifier(std::int64_t samples, std::int64_t channels, DType type) {
        const ValueId images = net.input("images", {samples, 12, 12, 3}, type);
        const ValueId stem = net.activation(biased(images, channels, {}, "stem"), "stem/relu");
        const ValueId inner = net.activation(biased(stem, channels, stem, "inner"), "inner/relu");
        const ValueId narrow = biased(inner, 2 * channels, {}, "wide");
        const ValueId rows = as(DType::f32, net.average_pool(narrow), "rows");
        const ValueId logits = net.dense(rows, kClasses, "dense");
        net.cross_entropy(logits);
        net.graph.mark_output("logits", logits);
        HostTensor labels({DType::i32, {samples}});
        for (std::int64_t i = 0; i < samples; ++i)
            labels.set(i, i % 4 == 3 ? -1.0 : static_cast<double>(i % kClasses));
        tensors = {{"images", random_tensor(net.graph.desc(images), 1, -1, 1)}, {"labels", labels}};
    }

    ValueId as(DType type, ValueId x, const std::string& name) {
        return net.graph.desc(x).dtype == type ? x : net.cast(x, type, name);
    }

    ValueId biased(ValueId x, std::int64_t channels, ValueId residual, const std::string& name) {
        const Shape& images = net.graph.desc(x).shape;
        graph::ConvAttrs attrs;
        attrs.padding = graph::same_padding(images[1], images[2], 3, 1);
        attrs.bias = true;
        const ValueId weight = net.parameter(name + "/weight", {3, 3, images[3], channels});
        std::vector<ValueId> inputs = {x, as(net.graph.desc(x).dtype, weight, name + "/cast"),
                                       net.parameter(name + "/bias", {channels})};
        if (residual.valid()) {
            attrs.residual = true;
            inputs.push_back(residual);
        }
        return net.graph.add_one(graph::OpKind::conv2d, attrs, inputs, name);
    }

    std::unique_ptr<Executable> compile(std::int64_t sub_batch, const Executable* weights = nullptr) const {
        backend::CompileRequest request{&net.graph, TensorSource(tensors).fields()};
        request.cpu.threads = 2;
        request.cpu.sub_batch = sub_batch;
        request.weights = weights;
        return backend::make_cpu_backend()->compile(request);
    }

    std::unique_ptr<Executable> loaded(std::int64_t sub_batch) const {
        auto executable = compile(sub_batch);
        load(*executable, 3);
        return executable;
    }

    static void load(Executable& executable, std::uint64_t first) {
        for (const auto& [name, desc] : executable.report().variables)
            executable.load(name, random_tensor(desc, first++, -0.3, 0.3));
    }

    ToyGraph net;
    std::vector<std::pair<std::string, HostTensor>> tensors;
};

struct Answer {
    backend::StepResult result;
    std::vector<float> logits;
};

Answer answer(Executable& executable, const Classifier& net) {
    TensorSource source(net.tensors);
    Answer answer{executable.evaluate(source, 2), {}};
    const HostTensor logits = executable.output("logits");
    answer.logits.assign(logits.as<float>().begin(), logits.as<float>().end());
    return answer;
}

class SubBatches : public testing::TestWithParam<DType> {
    void SetUp() override {
        if (GetParam() == DType::bf16 && !has_bf16_products()) GTEST_SKIP() << "no bfloat16 products here";
    }
};
INSTANTIATE_TEST_SUITE_P(Types, SubBatches, testing::Values(DType::f32, DType::bf16),
                         [](const auto& parameter) { return std::string(name(parameter.param)); });

TEST_P(SubBatches, HaveTheLogitsOfTheWholeBatch) {
    const auto bound = GetParam() == DType::f32 ? 2e-5F : 0.0F;  // oneDNN's f32 kernels for AVX2 depend on the batch
    for (const std::int64_t samples : {6, 7, 8}) {
        const Classifier net(samples, 32, GetParam());
        const auto whole = net.loaded(samples);
        const Answer expected = answer(*whole, net);
        for (std::int64_t part = 1; part < samples; ++part) {
            if (samples % part != 0) continue;
            SCOPED_TRACE(std::to_string(part) + " of " + std::to_string(samples));
            const auto divided = net.loaded(part);
            const Answer got = answer(*divided, net);
            EXPECT_THAT(got.logits, testing::Pointwise(testing::FloatNear(bound), expected.logits));
            EXPECT_EQ(got.result.samples, expected.result.samples);
            EXPECT_EQ(got.result.sums.at("correct"), expected.result.sums.at("correct"));
            // Sums of floats in another order.
            EXPECT_NEAR(got.result.sums.at("loss"), expected.result.sums.at("loss"), 1e-4);
            EXPECT_LT(divided->report().arena_bytes, whole->report().arena_bytes);
            EXPECT_DOUBLE_EQ(divided->report().flops_per_micro_batch, whole->report().flops_per_micro_batch);
        }
    }
}

TEST(SubBatchRounding, OfWinogradsFilteringIsSmall) {
    const Classifier net(6, 64, DType::f32);
    const auto ref = backend::make_ref_backend()->compile({&net.net.graph, TensorSource(net.tensors).fields()});
    Classifier::load(*ref, 3);
    const Answer expected = answer(*ref, net);
    for (const std::int64_t part : {1, 2, 3, 6}) {
        const Answer got = answer(*net.loaded(part), net);
        for (std::size_t i = 0; i < expected.logits.size(); ++i)
            EXPECT_NEAR(got.logits[i], expected.logits[i], 2e-5 * std::max(1.0F, std::abs(expected.logits[i])));
    }
}

TEST(SubBatchProfile, HasTheWorkOfTheWholeBatch) {
    const Classifier net(8, 32, DType::f32);
    std::map<std::int64_t, double> gflops;
    for (const std::int64_t part : {2, 8}) {
        const auto executable = net.loaded(part);
        executable->set_profiling(true);
        answer(*executable, net);
        for (const backend::ProfileRow& row : executable->profile().rows) {
            EXPECT_EQ(row.runs, row.phase == graph::Phase::update ? 1 : 2) << row.name;
            if (row.phase == graph::Phase::forward) gflops[part] += row.gflops;
        }
    }
    EXPECT_NEAR(gflops.at(2), gflops.at(8), 1e-9);
}

TEST(SharedWeights, AreStoredOnceAndReadByAll) {
    const Classifier net(4, 32, DType::f32);
    const auto first = net.loaded(4);
    const auto second = net.compile(4, first.get());
    std::size_t variable_bytes = 0;
    for (const backend::Variable& variable : first->report().variables)
        variable_bytes += variable.desc.bytes();
    EXPECT_LE(second->report().parameter_bytes + variable_bytes, first->report().parameter_bytes);
    EXPECT_EQ(answer(*second, net).logits, answer(*first, net).logits) << "without a load of its own";
    Classifier::load(*second, 50);
    const Answer changed = answer(*first, net);
    EXPECT_EQ(answer(*second, net).logits, changed.logits);
    const auto alone = net.compile(4);
    Classifier::load(*alone, 50);
    EXPECT_EQ(answer(*alone, net).logits, changed.logits);
}

TEST(SharedWeights, ServeThreadsAtTheSameTime) {
    const Classifier net(4, 32, DType::f32);
    const auto first = net.loaded(4);
    const auto second = net.compile(4, first.get());
    const Answer expected = answer(*net.loaded(4), net);
    for (Executable* const executable : {first.get(), second.get()}) {
        // Both threads find the copies of the weights missing.
        Classifier::load(*executable, 3);
        Answer theirs;
        std::thread other([&] { theirs = answer(*second, net); });
        const Answer mine = answer(*first, net);
        other.join();
        EXPECT_EQ(mine.logits, expected.logits);
        EXPECT_EQ(theirs.logits, expected.logits);
    }
}

TEST(SharedWeights, OfAnotherNetworkAreNotTaken) {
    const Classifier narrow(4, 16, DType::f32);
    const auto owner = narrow.loaded(4);
    const Classifier net(4, 32, DType::f32);
    const auto executable = net.compile(4, owner.get());
    Classifier::load(*executable, 3);
    EXPECT_EQ(answer(*executable, net).logits, answer(*net.loaded(4), net).logits);
}

}  // namespace
}  // namespace cnntrain::test
