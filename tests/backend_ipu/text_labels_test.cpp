// BERT for texts with scores or several labels: one update on the CPU and on IPUs is that of the reference backend.
#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/passes.h"
#include "support/bf16_products.h"
#include "support/tensor_source.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using nn::LabelKind;

constexpr std::int64_t kTexts = 3;
constexpr std::int64_t kTokens = 5;
constexpr std::int64_t kLabels = 4;

nn::BertClassificationRequest request(LabelKind labels, DType compute) {
    nn::BertClassificationRequest result;
    result.model = {.vocabulary = 11, .hidden = 64, .layers = 1, .heads = 1, .intermediate = 24, .positions = kTokens};
    result.numerics.compute = compute;
    result.batch = kTexts;
    result.length = kTokens;
    result.labels = labels;
    result.classes = labels == LabelKind::score ? 1 : kLabels;
    return result;
}

/// The network with gradient descent.
class ClassifierNet : public ToyGraph {
public:
    ClassifierNet(LabelKind labels, DType compute) {
        graph = nn::build_bert(request(labels, compute), ops::op_table(), nn::Mode::training);
        update_all(differentiate(graph.outputs().front().value), {.gradient_scale = 1.0 / kTexts});
    }
};

/// Three texts, the last without a label.
TensorSource texts(LabelKind labels) {
    const auto tokens = [](std::initializer_list<std::int32_t> values) {
        return HostTensor::of<std::int32_t>({kTexts, kTokens}, values);
    };
    std::vector<std::pair<std::string, HostTensor>> fields = {
        {"input_ids", tokens({1, 7, 3, 10, 2, 1, 4, 2, 0, 0, 1, 9, 9, 2, 0})},
        {"segment_ids", tokens({0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0})},
        {"input_position", tokens({0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4})},
        {"input_mask", tokens({1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0})}};
    if (labels == LabelKind::score) {
        fields.emplace_back("labels", HostTensor::of<float>({kTexts}, {2.5, -0.75, 0}));
        fields.emplace_back("label_weights", HostTensor::of<float>({kTexts}, {1, 1, 0}));
    } else {
        fields.emplace_back("labels",
                            HostTensor::of<std::int32_t>({kTexts, kLabels}, {0, 1, 1, 0, 1, 0, 0, 0, -1, -1, -1, -1}));
    }
    return TensorSource(std::move(fields));
}

std::map<std::string, HostTensor> updated(const backend::Backend& backend, LabelKind labels,
                                          DType compute = DType::f32) {
    const graph::Graph graph = graph::apply_rewrites(ClassifierNet(labels, compute).graph, backend.rewrites().backward);
    TensorSource source = texts(labels);
    const auto executable = backend.compile({.graph = &graph, .fields = source.fields()});
    std::uint64_t index = 0;
    for (const std::string& name : executable->variable_names())
        executable->load(name, random_tensor(graph.desc(*graph.find(name)), index++, -0.4, 0.4));
    executable->train_step(source, {.learning_rate = 1, .iteration = 0});
    std::map<std::string, HostTensor> result;
    for (const graph::Output& output : graph.outputs())
        result[output.name] = executable->output(output.name);
    for (const std::string& name : executable->variable_names())
        result[name] = executable->store(name);
    return result;
}

TEST(TextLabels, CpuAndIpuUpdateAsRefDoes) {
    for (const LabelKind labels : {LabelKind::score, LabelKind::several}) {
        const auto want = updated(*backend::make_ref_backend(), labels);
        EXPECT_EQ(want.contains("correct"), labels == LabelKind::several);
        EXPECT_GT(want.at("loss").at(0), 0);
        for (const auto& backend : {backend::make_cpu_backend(), backend::make_ipu_backend({.tiles_per_ipu = 8})}) {
            const auto got = updated(*backend, labels);
            ASSERT_EQ(got.size(), want.size());
            for (const auto& [name, tensor] : want) {
                for (std::int64_t i = 0; i < tensor.elements(); ++i)
                    ASSERT_NEAR(got.at(name).at(i), tensor.at(i), 1e-5) << spelling(labels) << " " << name << " " << i;
            }
        }
    }
}

TEST(TextLabels, LossesOf16BitLogitsAreComputedInFloat) {
    for (const LabelKind labels : {LabelKind::score, LabelKind::several}) {
        const double want = updated(*backend::make_ref_backend(), labels).at("loss").at(0);
        const auto ipu = updated(*backend::make_ipu_backend({.tiles_per_ipu = 8}), labels, DType::f16);
        EXPECT_NEAR(ipu.at("loss").at(0), want, 0.03 * want) << spelling(labels);
        if (!has_bf16_products()) continue;
        const auto cpu = updated(*backend::make_cpu_backend(), labels, DType::bf16);
        EXPECT_NEAR(cpu.at("loss").at(0), want, 0.03 * want) << spelling(labels);
    }
}

}  // namespace
}  // namespace cnntrain::test
