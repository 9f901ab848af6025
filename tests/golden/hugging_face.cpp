#include "golden/hugging_face.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/weights/hugging_face.h"
#include "golden/formula.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {
namespace {

using nlohmann::json;

constexpr double kTolerance = 1e-4;

json read_golden(const std::string& name) {
    std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/hugging_face_" + name + ".json");
    return json::parse(file);
}

/// Returns the values of value() in the generator.
HostTensor their_value(const std::string& name, const TensorDesc& desc) {
    HostTensor tensor(desc);
    const Stream stream(name);
    double scale = 0.06;
    double shift = 0;
    if (name.ends_with("LayerNorm.weight")) {
        scale = 0.25;
        shift = 1;
    } else if (name.ends_with("bias")) {
        scale = 0.1;
    }
    const auto values = tensor.as<float>();
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(shift + scale * stream.noise(static_cast<std::int64_t>(i)));
    return tensor;
}

/// [B,S] of the document as i32.
HostTensor rows(const json& values) {
    const auto columns = static_cast<std::int64_t>(values.at(0).size());
    HostTensor tensor({DType::i32, {static_cast<std::int64_t>(values.size()), columns}});
    std::int64_t i = 0;
    for (const json& row : values) {
        for (const json& value : row)
            tensor.set(i++, value.get<double>());
    }
    return tensor;
}

HostTensor positions_of(const HostTensor& ids) {
    HostTensor positions(ids.desc());
    for (std::int64_t i = 0; i < ids.elements(); ++i)
        positions.set(i, static_cast<double>(i % ids.shape()[1]));
    return positions;
}

test::TensorSource batch_of(const json& golden) {
    const HostTensor ids = rows(golden.at("input_ids"));
    const HostTensor labels = rows(golden.at("masked_lm_ids"));
    HostTensor weights({DType::f32, labels.shape()});
    for (std::int64_t i = 0; i < weights.elements(); ++i)
        weights.set(i, 1);
    const auto name = [](std::string_view text) { return std::string(text); };
    return test::TensorSource({{name(nn::kInputIds), ids},
                               {name(nn::kSegmentIds), rows(golden.at("segment_ids"))},
                               {name(nn::kInputPosition), positions_of(ids)},
                               {name(nn::kInputMask), rows(golden.at("input_mask"))},
                               {name(nn::kMaskedPositions), rows(golden.at("masked_lm_positions"))},
                               {name(nn::kMaskedIds), labels},
                               {name(nn::kMaskedWeights), weights},
                               {name(nn::kNextSentenceLabels), HostTensor({DType::i32, {ids.shape()[0], 1}})}});
}

/// A batch like batch_of()'s, for a network that classifies texts.
test::TensorSource labelled_batch_of(const json& golden) {
    const HostTensor ids = rows(golden.at("input_ids"));
    HostTensor labels({DType::i32, {ids.shape()[0]}});
    for (std::int64_t i = 0; i < labels.elements(); ++i)
        labels.set(i, golden.at("labels").at(static_cast<std::size_t>(i)).get<double>());
    const auto name = [](std::string_view text) { return std::string(text); };
    return test::TensorSource({{name(nn::kInputIds), ids},
                               {name(nn::kSegmentIds), rows(golden.at("segment_ids"))},
                               {name(nn::kInputPosition), positions_of(ids)},
                               {name(nn::kInputMask), rows(golden.at("input_mask"))},
                               {name(nn::kLabels), labels}});
}

/// The evaluation graph with the logits as outputs.
graph::Graph network(const nn::BertSettings& model, const json& golden, const backend::Backend& backend) {
    const json& ids = golden.at("input_ids");
    const auto predictions = static_cast<std::int64_t>(golden.at("masked_lm_ids").at(0).size());
    const nn::BertInput input{.batch = static_cast<std::int64_t>(ids.size()),
                              .length = static_cast<std::int64_t>(ids.at(0).size()),
                              .predictions = predictions};
    graph::Graph graph = nn::build_bert(nn::BertRequest{.model = model, .numerics = {}, .input = input},
                                        ops::op_table(), nn::Mode::evaluation);
    for (const graph::Node& node : graph.nodes()) {
        if (node.name == "cls/predictions/logits") graph.mark_output("word_logits", node.outputs[0]);
        if (node.name == "cls/seq_relationship/logits") graph.mark_output("sentence_logits", node.outputs[0]);
    }
    return graph::apply_rewrites(std::move(graph), backend.rewrites().evaluation);
}

weights::Checkpoint imported(const graph::Graph& graph) {
    weights::Checkpoint ours;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter))
        ours.tensors.emplace(graph.value(id).name, HostTensor(graph.desc(id)));
    weights::Checkpoint theirs = weights::to_hugging_face(std::move(ours), {}, "zeros").checkpoint;
    for (auto& [name, tensor] : theirs.tensors)
        tensor = their_value(name, tensor.desc());
    weights::Converted result = weights::from_hugging_face(std::move(theirs), {}, "formula");
    EXPECT_TRUE(result.left_out.empty());
    return std::move(result.checkpoint);
}

std::unique_ptr<backend::Executable> executable_of(const graph::Graph& graph, const test::TensorSource& source,
                                                   const backend::Backend& backend) {
    auto executable = backend.compile({&graph, source.fields(), {}});
    for (const auto& [variable, tensor] : imported(graph).tensors)
        executable->load(variable, tensor);
    return executable;
}

void expect_logits(const HostTensor& logits, const json& expected, std::int64_t step, const std::string& what) {
    const std::int64_t columns = logits.shape()[1];
    std::int64_t row = 0;
    for (const json& of_row : expected) {
        for (std::size_t i = 0; i < of_row.size(); ++i) {
            const std::int64_t column = static_cast<std::int64_t>(i) * step;
            EXPECT_NEAR(logits.at(row * columns + column), of_row.at(i).get<double>(), kTolerance)
                << what << ", row " << row << ", column " << column;
        }
        ++row;
    }
    EXPECT_EQ(row, logits.shape()[0]);
}

}  // namespace

void compare_with_transformers(const std::string& name, nn::BertSettings model) {
    const json golden = read_golden(name);
    model.vocabulary = 30522;
    model.qkv_split = model.qkv_bias = model.projection_bias = model.cls_layer = model.prediction_bias = true;
    const auto backend = backend::make_cpu_backend();
    const graph::Graph graph = network(model, golden, *backend);
    test::TensorSource source = batch_of(golden);
    const auto executable = executable_of(graph, source, *backend);
    const backend::StepResult result = executable->evaluate(source, 1);
    EXPECT_NEAR(result.sums.at(std::string(nn::kMaskedLoss)), golden.at("masked_lm_loss").get<double>(), kTolerance);
    json words = json::array();
    for (const json& sample : golden.at("word_logits")) {
        for (const json& row : sample)
            words.push_back(row);
    }
    expect_logits(executable->output("word_logits"), words, golden.at("column_step"), "words");
    expect_logits(executable->output("sentence_logits"), golden.at("sentence_logits"), 1, "sentences");
}

void compare_classes_with_transformers(nn::BertSettings model) {
    const json golden = read_golden("classes");
    model.qkv_split = model.qkv_bias = model.projection_bias = true;
    test::TensorSource source = labelled_batch_of(golden);
    const Shape ids = rows(golden.at("input_ids")).shape();
    const auto backend = backend::make_cpu_backend();
    const graph::Graph graph = graph::apply_rewrites(
        nn::build_bert(
            nn::BertClassificationRequest{.model = model,
                                          .numerics = {},
                                          .batch = ids[0],
                                          .length = ids[1],
                                          .classes = static_cast<std::int64_t>(golden.at("logits")[0].size()),
                                          .marks_logits = true},
            ops::op_table(), nn::Mode::evaluation),
        backend->rewrites().evaluation);
    const auto executable = executable_of(graph, source, *backend);
    const backend::StepResult result = executable->evaluate(source, 1);
    const double texts = static_cast<double>(ids[0]);
    EXPECT_NEAR(result.sums.at(std::string(nn::kLoss)) / texts, golden.at("loss").get<double>(), kTolerance);
    expect_logits(executable->output(std::string(nn::kLogits)), golden.at("logits"), 1, "classes");
}

}  // namespace cnntrain::golden
