#include "cnntrain/nn/bert_classification.h"

#include "cnntrain/nn/model.h"
#include "nn/bert_encoder.h"

namespace cnntrain::nn {
namespace {

void add_classifier(const BertClassificationRequest& request, BertEncoder& encoder) {
    const std::string scope(kClassifierScope);
    const graph::ValueId pooled = encoder.drop(encoder.pooled(/*place=*/0), scope + "/dropout", request.head_dropout);
    const graph::ValueId table = encoder.weight(scope + "/output_weights", {request.classes, request.model.hidden});
    const graph::ValueId logits = encoder.scores(pooled, table, scope + "/logits", scope + "/output_bias");
    const graph::ValueId labels = encoder.input(kLabels, {request.batch});
    graph::Graph& graph = encoder.graph();
    const std::vector<graph::ValueId> loss =
        graph.add(graph::OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {logits, labels}, scope + "/loss");
    graph.mark_output(std::string(kLoss), loss[0]);
    graph.mark_output(std::string(kCorrect), loss[1]);
    if (request.marks_logits) graph.mark_output(std::string(kLogits), logits);
}

graph::Graph build(const BertClassificationRequest& request, const graph::OpTable& ops, Mode mode) {
    const BertInput input{.batch = request.batch, .length = request.length};
    check_encoder(request.model, input);
    require(request.classes >= 2,
            "texts need at least 2 classes to be told apart, and not " + std::to_string(request.classes));
    const std::vector<std::string> functions = bert_classification_functions(request.model);
    check_bert_splits(functions, request.splits);
    BertEncoder encoder(request.model, request.numerics, input, ops, mode);
    return encoder.build(functions, request.splits, [&](std::string_view) { add_classifier(request, encoder); });
}

}  // namespace

std::vector<std::string> bert_classification_functions(const BertSettings& settings) {
    std::vector<std::string> names = encoder_functions(settings);
    names.push_back(first_function(kClassesToken));
    return names;
}

graph::Graph build_bert_classification_training(const BertClassificationRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::training);
}

graph::Graph build_bert_classification_evaluation(const BertClassificationRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::evaluation);
}

}  // namespace cnntrain::nn
