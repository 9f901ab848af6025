// A table of words that the first and the last stage of a pipeline read: its gradient against the CPU's.
#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "backend_ipu/replica_net.h"
#include "cnntrain/backend/backends.h"

namespace cnntrain::test {
namespace {

using graph::OpKind;
using schedule::PipelineSchedule;

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kWords = 11;
constexpr std::int64_t kMicroBatches = 12;

/// Words, a layer and the words' logits, each in a stage of its own. With half words, updates read gradients in float.
class TiedNet : public ToyGraph {
public:
    explicit TiedNet(DType words) {
        const ValueId ids = input("ids", {kTokens}, DType::i32);
        const ValueId labels = input("labels", {kTokens}, DType::i32);
        const ValueId table = graph.add_parameter("table", {words, {kWords, 8}}, {});
        const ValueId x = graph.add_one(OpKind::embedding, graph::EmbeddingAttrs{.type = words}, {ids, table}, "words");
        graph.set_stage(graph::StageId{1});
        const ValueId weight = graph.add_parameter("weight", {words, {8, 8}}, {});
        const graph::DenseAttrs unbiased{.bias = false};
        const ValueId hidden =
            activation(graph.add_one(OpKind::dense, unbiased, {x, weight}, "layer"), "tanh", graph::Activation::tanh);
        graph.set_stage(graph::StageId{2});
        const ValueId logits = graph.add_one(OpKind::dense, graph::DenseAttrs{.bias = false, .transposed = true},
                                             {hidden, table}, "logits");
        const std::vector<ValueId> loss =
            graph.add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {logits, labels}, "loss");
        graph.mark_output("loss", loss[0]);
        graph::Gradients gradients = differentiate(loss[0]);
        if (words != DType::f32) {
            graph.set_phase(graph::Phase::backward);
            for (auto& [parameter, gradient] : gradients.of) {
                graph.set_stage(graph.node(graph.value(gradient).producer).stage);
                gradient = cast(gradient, DType::f32, graph.value(parameter).name + "/gradient");
            }
        }
        graph.set_stage(graph::StageId{0});
        update_all(gradients, {.gradient_scale = 1.0 / kMicroBatches});
    }
};

class Words : public TensorSource {
public:
    Words()
        : TensorSource(
              {{"ids", HostTensor({DType::i32, {kTokens}})}, {"labels", HostTensor({DType::i32, {kTokens}})}}) {}

private:
    void fill(std::int64_t batch) override {
        for (std::int64_t i = 0; i < kTokens; ++i) {
            tensor(0).set(i, static_cast<double>((batch * 5 + i * i) % kWords));
            tensor(1).set(i, static_cast<double>((batch * 3 + 2 * i) % kWords));
        }
    }
};

struct Pipelined {
    std::vector<std::int32_t> devices;
    PipelineSchedule schedule = PipelineSchedule::sequential;
};

ReplicaResult trained(const backend::Backend& backend, const Pipelined& how, DType words = DType::f32) {
    const TiedNet net(words);
    Words source;
    backend::CompileRequest request;
    request.graph = &net.graph;
    request.fields = source.fields();
    request.plan = {.micro_batch = kTokens,
                    .accumulation = kMicroBatches,
                    .devices = how.devices,
                    .schedule = how.schedule,
                    .updates_per_call = 3};
    request.cpu.threads = 1;
    request.runtime.stochastic_rounding = false;
    return train(*backend.compile(request), net.graph, source);
}

class TiedWeights : public testing::TestWithParam<std::tuple<std::vector<std::int32_t>, PipelineSchedule>> {};

TEST_P(TiedWeights, HaveTheSumOfBothStagesGradients) {
    const auto& [devices, schedule] = GetParam();
    const ReplicaResult cpu = trained(*backend::make_cpu_backend(), {{0, 0, 0}});
    expect_near(trained(*small_ipus(), {devices, schedule}), cpu, 1e-5);
    expect_near(trained(*small_ipus(), {devices, schedule}, DType::f16), cpu, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Pipelines, TiedWeights,
                         testing::Combine(testing::Values(std::vector<std::int32_t>{0, 1, 0},
                                                          std::vector<std::int32_t>{0, 0, 0},
                                                          std::vector<std::int32_t>{0, 1, 2}),
                                          testing::Values(PipelineSchedule::sequential, PipelineSchedule::grouped)));

}  // namespace
}  // namespace cnntrain::test
