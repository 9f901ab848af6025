// Embeddings, gathered tokens, layer norm and the loss of tokens: own kernels.
#include "backend/cpu/kernels/tokens.h"

#include <algorithm>

#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::LayerNormAttrs;
using graph::ValueId;

namespace {

const char* const kRowsReason = "rows of one sweep lie alike";

Desc described(const NodeContext& lower, ValueId value) {
    return row_major(lower.graph.desc(value));
}

void lower_embedding(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const TensorDesc& table_desc = lower.graph.desc(inputs[1]);
    const Placed ids = lower.values.operand(inputs[0]);
    const Placed table = lower.values.operand(inputs[1]);
    const Placed y = lower.values.define(output, described(lower, output));
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
    const Placed y = lower.values.define(output, described(lower, output));
    const GatherShape shape = gather_shape(lower.graph.desc(inputs[0]), lower.graph.desc(inputs[1]));
    Placed rows = x;  // as many as there are positions
    rows.desc = y.desc;
    with_float_type(x.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {rows, positions}, {y}, [=](const StepContext&) {
            gather_rows(shape, x.as<T>(), positions.as<std::int32_t>(), y.as<T>());
        });
    });
}

void lower_gather_rows_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId output = lower.node.outputs[0];
    const Placed positions = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.in_order(inputs[1]);
    const Placed dx = lower.values.define(output, described(lower, output));
    const GatherShape shape = gather_shape(lower.graph.desc(output), lower.graph.desc(inputs[0]));
    with_float_type(dy.dtype, [&]<typename T>() {
        lower.steps.add("kernel", {positions, dy}, {dx}, [=](const StepContext&) {
            gather_rows_grad(shape, positions.as<std::int32_t>(), dy.as<T>(), dx.as<T>());
        });
    });
}

RowsShape rows_shape(const TensorDesc& desc) {
    const std::int64_t features = desc.shape.back();
    return {desc.shape[0], desc.elements() / desc.shape[0] / features, features};
}

ElementDropout dropout_of(const NodeContext& lower, const LayerNormAttrs& attrs) {
    return {.active = attrs.keep < 1,
            .seed = lower.request.runtime.seed,
            .site = attrs.site,
            .last_kept = last_word_within(attrs.keep),
            .factor = static_cast<float>(1 / attrs.keep)};
}

/// The sum z takes the place of x, which nothing else reads as a rule. Nobody needs z where there is no backward pass.
void lower_layer_norm(const NodeContext& lower) {
    const auto& attrs = lower.node.as<LayerNormAttrs>();
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Desc desc = described(lower, inputs[0]);
    const bool keeps_z = attrs.residual && is_read(lower.graph, outputs[3]);
    const Placed x = lower.values.in_order(inputs[0]);
    const Placed gamma = lower.values.float_vector(inputs[1]);
    const Placed beta = lower.values.float_vector(inputs[2]);
    const Placed residual = attrs.residual ? lower.values.in_order(inputs[3]) : Placed{};
    const Placed z = keeps_z ? lower.values.define_or_reuse(outputs[3], desc, inputs[0]) : Placed{};
    const Placed y =
        keeps_z ? lower.values.define(outputs[0], desc) : lower.values.define_or_reuse(outputs[0], desc, inputs[0]);
    const Placed mean = lower.values.define(outputs[1], described(lower, outputs[1]));
    const Placed variance = lower.values.define(outputs[2], described(lower, outputs[2]));
    const RowsShape shape = rows_shape(lower.graph.desc(inputs[0]));
    const ElementDropout base = dropout_of(lower, attrs);
    const auto scratch = lower.steps.scratch_floats(layer_norm_scratch_floats(shape));
    with_float_type(x.dtype, [&]<typename T>() {
        lower.steps.add("kernel", present({x, gamma, beta, residual}), present({y, z, mean, variance}),
                        [=, epsilon = static_cast<float>(attrs.epsilon)](const StepContext& context) {
                            ElementDropout dropout = base;
                            dropout.first_sample = context.first_sample;
                            layer_norm<T>(shape,
                                          {.x = x.as<T>(),
                                           .residual = residual ? residual.as<T>() : nullptr,
                                           .gamma = gamma.as<float>(),
                                           .beta = beta.as<float>(),
                                           .y = y.as<T>(),
                                           .z = z ? z.as<T>() : nullptr,
                                           .mean = mean.as<float>(),
                                           .variance = variance.as<float>(),
                                           .epsilon = epsilon,
                                           .dropout = dropout},
                                          scratch());
                        });
    });
}

struct LayerNormGradientOperands {
    Placed z, gamma, mean, variance, dy, dy2, dz, dx, dgamma, dbeta;
};

LayerNormGradientOperands place_layer_norm_gradient(const NodeContext& lower, const LayerNormAttrs& attrs) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    LayerNormGradientOperands at;
    const Desc desc = described(lower, inputs[0]);
    at.z = lower.values.in_order(inputs[0]);
    at.gamma = lower.values.float_vector(inputs[1]);
    at.mean = lower.values.operand(inputs[2]);
    at.variance = lower.values.operand(inputs[3]);
    at.dy = lower.values.operand_as(inputs[4], desc, kRowsReason);
    if (attrs.summed_gradient) at.dy2 = lower.values.operand_as(inputs[5], desc, kRowsReason);
    // Each result overwrites an operand that dies here while there are any.
    std::vector<ValueId> dying;
    for (const std::size_t i : {4, 0, 5}) {
        if (i >= inputs.size() || std::ranges::find(dying, inputs[i]) != dying.end()) continue;
        if (lower.values.dies_here(inputs[i], desc)) dying.push_back(inputs[i]);
    }
    const auto place = [&](ValueId result) {
        if (dying.empty()) return lower.values.define(result, desc);
        const ValueId value = dying.back();
        dying.pop_back();
        return lower.values.define_over(result, desc, value);
    };
    at.dz = place(outputs[0]);
    if (attrs.keep < 1) at.dx = place(outputs[3]);
    at.dgamma = lower.values.define(outputs[1], described(lower, outputs[1]));
    at.dbeta = lower.values.define(outputs[2], described(lower, outputs[2]));
    return at;
}

void lower_layer_norm_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<LayerNormAttrs>();
    const LayerNormGradientOperands at = place_layer_norm_gradient(lower, attrs);
    const RowsShape shape = rows_shape(lower.graph.desc(lower.node.inputs[0]));
    const ElementDropout base = dropout_of(lower, attrs);
    const auto scratch = lower.steps.scratch_floats(layer_norm_scratch_floats(shape));
    with_float_type(at.z.dtype, [&]<typename T>() {
        lower.steps.add("kernel", present({at.z, at.gamma, at.mean, at.variance, at.dy, at.dy2}),
                        present({at.dz, at.dx, at.dgamma, at.dbeta}),
                        [=, epsilon = static_cast<float>(attrs.epsilon)](const StepContext& context) {
                            ElementDropout dropout = base;
                            dropout.first_sample = context.first_sample;
                            layer_norm_grad<T>(shape,
                                               {.z = at.z.as<T>(),
                                                .dy = at.dy.as<T>(),
                                                .dy2 = at.dy2 ? at.dy2.as<T>() : nullptr,
                                                .gamma = at.gamma.as<float>(),
                                                .mean = at.mean.as<float>(),
                                                .variance = at.variance.as<float>(),
                                                .dz = at.dz.as<T>(),
                                                .dx = at.dx ? at.dx.as<T>() : nullptr,
                                                .dgamma = at.dgamma.as<float>(),
                                                .dbeta = at.dbeta.as<float>(),
                                                .epsilon = epsilon,
                                                .dropout = dropout},
                                               scratch());
                        });
    });
}

void lower_token_cross_entropy(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Shape& shape = lower.graph.desc(inputs[0]).shape;
    const Placed logits = lower.values.in_order(inputs[0]);
    const Placed labels = lower.values.operand(inputs[1]);
    const Placed weights = lower.values.operand(inputs[2]);
    const Placed loss = lower.values.define(outputs[0], described(lower, outputs[0]));
    const Placed correct = lower.values.define(outputs[1], described(lower, outputs[1]));
    const Placed log_sums = lower.values.define(outputs[2], described(lower, outputs[2]));
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
        {graph::OpKind::layer_norm, lower_layer_norm},
        {graph::OpKind::layer_norm_grad, lower_layer_norm_grad},
        {graph::OpKind::token_cross_entropy, lower_token_cross_entropy},
        {graph::OpKind::token_cross_entropy_grad, lower_token_cross_entropy_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
