// Ops of text as parts of a network: gradients that are summed where they are made, tables that two ops share,
// dropout that does not depend on how samples are grouped, results that do not depend on the number of threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/graph/passes.h"
#include "support/bf16_products.h"
#include "support/op_cases.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

constexpr std::int64_t kTokens = 6;
constexpr std::int64_t kFeatures = 16;
constexpr std::int64_t kVocabulary = 11;

struct NetOptions {
    std::int64_t batch = 2;
    double keep = 1;
    std::int64_t micro_batches = 1;
};

/// Embedding, attention with residual and layer norm, gathered rows, tied head, loss; and gradient descent.
class TextNet : public ToyGraph {
public:
    explicit TextNet(const NetOptions& options) {
        const Shape rows{options.batch, kTokens};
        const ValueId ids = input("ids", rows, DType::i32);
        const ValueId mask = input("input_mask", rows, DType::i32);
        const ValueId positions = input("positions", {options.batch, 2}, DType::i32);
        const ValueId labels = input("labels", {options.batch * 2}, DType::i32);
        const ValueId weights = input("weights", {options.batch * 2});
        const ValueId table = parameter("table", {kVocabulary, kFeatures});
        const ValueId x = graph.add_one(OpKind::embedding, graph::EmbeddingAttrs{}, {ids, table}, "words");
        const graph::DenseAttrs unbiased{.bias = false};
        const ValueId qkv =
            graph.add_one(OpKind::dense, unbiased, {x, parameter("qkv", {kFeatures, 3 * kFeatures})}, "qkv");
        const ValueId keys = graph.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{}, {mask}, "mask");
        const graph::AttentionAttrs attention{.heads = 2, .scale = 0.35, .keep = options.keep, .site = 1};
        const ValueId mixed = graph.add(OpKind::attention, attention, {qkv, keys}, "attention")[0];
        const ValueId projected =
            graph.add_one(OpKind::dense, unbiased, {mixed, parameter("projection", {kFeatures, kFeatures})}, "project");
        const graph::LayerNormAttrs norm{.residual = true, .keep = options.keep, .site = 2};
        const ValueId y =
            graph.add(OpKind::layer_norm, norm,
                      {projected, parameter("gamma", {kFeatures}), parameter("beta", {kFeatures}), x}, "norm")[0];
        const ValueId picked = graph.add_one(OpKind::gather_rows, graph::GatherRowsAttrs{}, {y, positions}, "picked");
        const ValueId flat = reshaped(picked, {options.batch * 2, kFeatures}, "flat");
        const ValueId logits = graph.add_one(OpKind::dense, graph::DenseAttrs{.transposed = true},
                                             {flat, table, parameter("head/bias", {kVocabulary})}, "head");
        const auto loss = graph.add(OpKind::token_cross_entropy, NoAttrs{}, {logits, labels, weights}, "loss");
        graph.mark_output("loss", loss[0]);
        graph.mark_output("correct", loss[1]);
        update_all(differentiate(loss[0]), {.gradient_scale = 1.0 / static_cast<double>(options.micro_batches)});
    }
};

HostTensor numbers(const Shape& shape, std::int64_t low, std::int64_t high, std::uint64_t seed) {
    Rng rng(seed, RngStream::test, 1);
    HostTensor tensor({DType::i32, shape});
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
        tensor.set(i, static_cast<double>(rng.integer(low, high)));
    return tensor;
}

/// Micro-batches of the same stream of samples, whatever their size.
class Sentences : public TensorSource {
public:
    explicit Sentences(std::int64_t batch)
        : TensorSource({{"ids", HostTensor({DType::i32, {batch, kTokens}})},
                        {"input_mask", HostTensor({DType::i32, {batch, kTokens}})},
                        {"positions", HostTensor({DType::i32, {batch, 2}})},
                        {"labels", HostTensor({DType::i32, {batch * 2}})},
                        {"weights", HostTensor({DType::f32, {batch * 2}})}}),
          batch_(batch) {}

private:
    void fill(std::int64_t number) override {
        for (std::int64_t i = 0; i < batch_; ++i) {
            const auto sample = static_cast<std::uint64_t>(number * batch_ + i);
            copy(0, i, numbers({kTokens}, 0, kVocabulary, 5 * sample));
            copy(1, i, numbers({kTokens}, 0, 2, 5 * sample + 1));
            copy(2, i, numbers({2}, 0, kTokens, 5 * sample + 2));
            copy(3, i, numbers({2}, 0, kVocabulary, 5 * sample + 3));
            copy(4, i, numbers({2}, 1, 2, 5 * sample + 4));
        }
    }

    void copy(std::size_t field, std::int64_t sample, const HostTensor& values) {
        for (std::int64_t i = 0; i < values.elements(); ++i)
            tensor(field).set(sample * values.elements() + i, values.at(i));
    }

    std::int64_t batch_;
};

/// Returns all parameters after one update, the loss, and the gradient of the table.
std::map<std::string, HostTensor> updated(const backend::Backend& backend, const NetOptions& options,
                                          bool with_rewrites = true) {
    Graph graph = TextNet(options).graph;
    if (with_rewrites) graph = graph::apply_rewrites(std::move(graph), backend.rewrites().backward);
    Sentences source(options.batch);
    const auto executable = backend.compile({.graph = &graph,
                                             .fields = source.fields(),
                                             .plan = {.accumulation = options.micro_batches},
                                             .runtime = {.seed = 3}});
    std::uint64_t index = 0;
    for (const std::string& name : executable->variable_names())
        executable->load(name, random_tensor(graph.desc(*graph.find(name)), index++, -0.6, 0.6));
    executable->train_step(source, {.learning_rate = 1, .iteration = 0});
    std::map<std::string, HostTensor> result{{"loss", executable->output("loss")},
                                             {"gradient of table", executable->gradient("table")}};
    for (const std::string& name : executable->variable_names())
        result[name] = executable->store(name);
    return result;
}

void expect_alike(const std::map<std::string, HostTensor>& got, const std::map<std::string, HostTensor>& want,
                  double tolerance) {
    ASSERT_EQ(got.size(), want.size());
    for (const auto& [name, tensor] : want) {
        for (std::int64_t i = 0; i < tensor.elements(); ++i)
            ASSERT_NEAR(got.at(name).at(i), tensor.at(i), tolerance) << name << " at " << i;
    }
}

TEST(TextNetwork, CpuUpdatesAsRefDoes) {
    const auto ref = backend::make_ref_backend();
    const auto cpu = backend::make_cpu_backend();
    for (const double keep : {1.0, 0.8}) {
        for (const std::int64_t micro_batches : {1, 3}) {
            const NetOptions options{.keep = keep, .micro_batches = micro_batches};
            expect_alike(updated(*cpu, options), updated(*ref, options, false), 1e-5);
        }
    }
}

/// The losses are means over the micro-batch, all tokens weigh the same: four sentences are two times two.
TEST(TextNetwork, DropoutDoesNotDependOnTheMicroBatch) {
    for (const auto& backend : {backend::make_ref_backend(), backend::make_cpu_backend()}) {
        auto together = updated(*backend, {.batch = 4, .keep = 0.7});
        auto apart = updated(*backend, {.batch = 2, .keep = 0.7, .micro_batches = 2});
        for (auto* result : {&together, &apart}) {
            result->erase("loss");               // that of the last micro-batch
            result->erase("gradient of table");  // the sum over the micro-batches, of means over each
        }
        expect_alike(together, apart, 1e-5);
    }
}

TEST(TextNetwork, ASharedTableHasOneGradientOfBothItsReaders) {
    const Graph fused = graph::fuse_gradient_sums(TextNet({}).graph);
    int additions = 0;
    int adding = 0;
    for (const graph::Node& node : fused.nodes()) {
        const bool of_table =
            !node.outputs.empty() && fused.desc(node.outputs[0]).shape == Shape{kVocabulary, kFeatures};
        additions += node.kind == OpKind::add && of_table ? 1 : 0;
        adding += node.kind == OpKind::embedding_grad && node.inputs.size() == 3 ? 1 : 0;
    }
    EXPECT_EQ(additions, 0);
    EXPECT_EQ(adding, 1);
    EXPECT_TRUE(fused.find("table").has_value());
}

/// The table's gradient lies where the head's part of it was made if there is one micro-batch, and in a sum if there
/// are several.
TEST(TextNetwork, TheGradientOfASharedTableCanBeReadAfterTheUpdate) {
    const auto ref = backend::make_ref_backend();
    const auto cpu = backend::make_cpu_backend();
    for (const std::int64_t micro_batches : {1, 2}) {
        const NetOptions options{.micro_batches = micro_batches};
        const auto got = updated(*cpu, options);
        const auto want = updated(*ref, options, false);
        const HostTensor& gradient = want.at("gradient of table");
        double largest = 0;
        for (std::int64_t i = 0; i < gradient.elements(); ++i)
            largest = std::max(largest, std::abs(gradient.at(i)));
        EXPECT_GT(largest, 1e-2);
        expect_alike({{"table", got.at("gradient of table")}}, {{"table", gradient}}, 1e-5);
    }
}

/// Results of every case of text are the same bit for bit.
TEST(TextNetwork, ResultsDoNotDependOnTheNumberOfThreads) {
    const auto cpu = backend::make_cpu_backend();
    int compared = 0;
    for (const OpCase& op_case : op_cases()) {
        const std::string name = op_case.name.substr(0, op_case.name.find('/'));
        const bool of_text = name == "attention" || name == "layer_norm" || name == "embedding" ||
                             name == "gather_rows" || name == "token_cross_entropy";
        const bool is_half = op_case.name.ends_with("bf16");
        if (!of_text || (is_half && !has_bf16_products())) continue;
        const auto one = evaluate_on(*cpu, op_case, true, 1);
        for (const auto& [output, tensor] : evaluate_on(*cpu, op_case, true, 2)) {
            const auto same = std::memcmp(tensor.bytes().data(), one.at(output).bytes().data(), tensor.bytes().size());
            EXPECT_EQ(same, 0) << op_case.name << ": " << output;
        }
        ++compared;
    }
    EXPECT_GE(compared, 20);
}

}  // namespace
}  // namespace cnntrain::test
