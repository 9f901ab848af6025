// Embeddings, gathered tokens and the loss of tokens: own kernels.
#include <algorithm>

#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ValueId;

namespace {

void lower_embedding(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const TensorDesc& table_desc = lower.graph.desc(inputs[1]);
    const Placed ids = lower.values.operand(inputs[0]);
    const Placed table = lower.values.operand(inputs[1]);
    const Placed y = lower.values.define(output);
    const TableShape shape{lower.graph.desc(inputs[0]).elements(), table_desc.shape[0], table_desc.shape[1]};
    Placed rows = table;  // as many as there are ids
    rows.desc = row_major({table.dtype, {lower.graph.desc(inputs[0]).elements(), table_desc.shape[1]}});
    with_float_type(table.dtype, [&]<typename In>() {
        with_float_type(y.dtype, [&]<typename Out>() {
            lower.steps.add("kernel", {ids, rows}, {y}, [=](const StepContext&) {
                embedding(shape, ids.as<std::int32_t>(), table.as<In>(), y.as<Out>());
            });
        });
    });
}

/// Adds to the accumulator, or to the table's other gradients in place, so that only the rows that the ids name cost
/// anything.
void lower_embedding_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(output);
    const Placed ids = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.in_order(inputs[1]);
    Placed others = inputs.size() == 3 ? lower.values.operand(inputs[2]) : Placed{};
    if (others) others.desc = row_major(desc);
    const auto sum = lower.sums.accumulator(output, row_major(desc));
    const Placed dtable = sum      ? sum->placed
                          : others ? lower.values.define_or_reuse(output, row_major(desc), inputs[2])
                                   : lower.values.define(output, row_major(desc));
    const TableShape shape{lower.graph.desc(inputs[0]).elements(), desc.shape[0], desc.shape[1]};
    const auto scratch = lower.steps.scratch_floats(embedding_scratch_floats(shape));
    const bool is_in_place = others && others.buffer == dtable.buffer;
    with_float_type(dy.dtype, [&]<typename T>() {
        const auto run = [=, count = desc.elements()](bool is_first) {
            float* const to = dtable.as<float>();
            if (is_first && !is_in_place) clear(count, to);
            if (others && !is_in_place) accumulate(count, others.as<float>(), to);
            embedding_grad(shape, ids.as<std::int32_t>(), dy.as<T>(), to, scratch());
        };
        if (sum) return lower.steps.add("kernel", present({ids, dy, others}), {dtable}, lower.sums.summing(*sum, run));
        lower.steps.add("kernel", present({ids, dy, others}), {dtable}, [run](const StepContext&) { run(true); });
    });
}

GatherShape gather_shape(const TensorDesc& rows, const TensorDesc& positions) {
    return {rows.shape[0], rows.shape[1], positions.shape[1], rows.shape[2]};
}

void lower_gather_rows(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Placed x = lower.values.in_order(inputs[0]);
    const Placed positions = lower.values.operand(inputs[1]);
    const Placed y = lower.values.define(output);
    const GatherShape shape = gather_shape(lower.graph.desc(inputs[0]), lower.graph.desc(inputs[1]));
    Placed rows = x;  // as many as there are positions
    rows.desc = y.desc;
    add_typed(lower, x.dtype, "kernel", {rows, positions}, {y}, [=]<typename T>(const StepContext&) {
        gather_rows(shape, x.as<T>(), positions.as<std::int32_t>(), y.as<T>());
    });
}

void lower_gather_rows_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Placed positions = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.in_order(inputs[1]);
    const Placed dx = lower.values.define(output);
    const GatherShape shape = gather_shape(lower.graph.desc(output), lower.graph.desc(inputs[0]));
    add_typed(lower, dy.dtype, "kernel", {positions, dy}, {dx}, [=]<typename T>(const StepContext&) {
        gather_rows_grad(shape, positions.as<std::int32_t>(), dy.as<T>(), dx.as<T>());
    });
}

void lower_token_cross_entropy(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.in_order(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed weights = lower.values.operand(inputs[2]);
    const Placed loss = lower.values.define(outputs[0]);
    const Placed correct = lower.values.define(outputs[1]);
    const Placed log_sums = lower.values.define(outputs[2]);
    const auto scratch = lower.steps.scratch_floats(token_loss_scratch_floats(shape[0]));
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, labels, weights}, {loss, correct, log_sums},
                        [=, tokens = shape[0], classes = shape[1]](const StepContext&) {
                            const LossSums means =
                                token_cross_entropy(tokens, classes, logits.as<T>(), labels.as<std::int32_t>(),
                                                    weights.as<float>(), log_sums.as<float>(), scratch());
                            *loss.as<float>() = means.loss;
                            *correct.as<float>() = means.correct;
                        });
    });
}

void lower_token_cross_entropy_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.in_order(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed weights = lower.values.operand(inputs[2]);
    const Placed log_sums = lower.values.operand(inputs[3]);
    const Placed dloss = lower.values.operand(inputs[4]);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], logits.desc, inputs[0]);
    with_float_type(logits.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {logits, labels, weights, log_sums, dloss}, {result},
                        [=, tokens = shape[0], classes = shape[1]](const StepContext&) {
                            token_cross_entropy_grad<T>(tokens, classes,
                                                        {.logits = logits.as<T>(),
                                                         .labels = labels.as<std::int32_t>(),
                                                         .weights = weights.as<float>(),
                                                         .log_sums = log_sums.as<float>(),
                                                         .dloss = *dloss.as<float>(),
                                                         .dlogits = result.as<T>()});
                        });
    });
}

}  // namespace

std::span<const LoweringEntry> token_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::embedding, lower_embedding},
        {graph::OpKind::embedding_grad, lower_embedding_grad},
        {graph::OpKind::gather_rows, lower_gather_rows},
        {graph::OpKind::gather_rows_grad, lower_gather_rows_grad},
        {graph::OpKind::token_cross_entropy, lower_token_cross_entropy},
        {graph::OpKind::token_cross_entropy_grad, lower_token_cross_entropy_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
