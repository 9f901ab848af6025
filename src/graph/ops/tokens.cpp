// Rows chosen by their numbers: of a table of embeddings, and of the tokens of a sample. Numbers outside choose zeros.
#include <algorithm>
#include <cmath>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::EmbeddingAttrs;
using graph::GatherRowsAttrs;

namespace {

Shape with_new_axis(Shape rows, std::int64_t features) {
    rows.push_back(features);
    return rows;
}

std::vector<TensorDesc> infer_embedding(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_type(inputs[0], DType::i32, "ids");
    expect_floating(inputs[1], "table[V,C]");
    expect_rank(inputs[1], 2, "table[V,C]");
    const TensorDesc y{std::get<EmbeddingAttrs>(attrs).type, with_new_axis(inputs[0].shape, inputs[1].shape[1])};
    expect_floating(y, "the result");
    return {y};
}

void embedding_gradient(GradContext& context) {
    if (!context.needs(1)) return;
    const EmbeddingAttrs attrs{.rows = context.desc(context.input(1)).shape[0]};
    const std::vector<ValueId> inputs = {context.input(0), context.grad_output(0)};
    context.set_grad(1, context.add_one(OpKind::embedding_grad, attrs, inputs, "grad"));
}

std::vector<TensorDesc> infer_embedding_grad(const Attrs& attrs, Descs inputs) {
    const std::int64_t rows = std::get<EmbeddingAttrs>(attrs).rows;
    expect_inputs(inputs, inputs.size() == 3 ? 3 : 2);
    expect_type(inputs[0], DType::i32, "ids");
    expect_floating(inputs[1], "dy[...,C]");
    if (inputs[1].shape.empty()) reject("dy[...,C] must have at least one axis");
    expect_shape(inputs[1], with_new_axis(inputs[0].shape, inputs[1].shape.back()), "dy");
    if (rows < 1) reject("a table must have rows, not " + std::to_string(rows));
    const TensorDesc dtable{DType::f32, {rows, inputs[1].shape.back()}};
    if (inputs.size() == 3) expect_same(inputs[2], dtable, "others and dtable");
    return {dtable};
}

/// Calls use(first index of the row that is read, first index of the row that it becomes) for each row that there is.
template <typename Use>
void for_each_row(const std::vector<double>& numbers, std::size_t rows, std::size_t features, Use use) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i] < 0 || numbers[i] >= static_cast<double>(rows)) continue;
        use(static_cast<std::size_t>(numbers[i]) * features, i * features);
    }
}

void evaluate_embedding(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto rows = static_cast<std::size_t>(inputs[1]->desc.shape[0]);
    const auto features = static_cast<std::size_t>(inputs[1]->desc.shape[1]);
    for_each_row(inputs[0]->values, rows, features, [&](std::size_t from, std::size_t to) {
        for (std::size_t c = 0; c < features; ++c)
            outputs[0].values[to + c] = inputs[1]->values[from + c];
    });
}

void evaluate_embedding_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto rows = static_cast<std::size_t>(std::get<EmbeddingAttrs>(attrs).rows);
    const auto features = static_cast<std::size_t>(outputs[0].desc.shape[1]);
    if (inputs.size() == 3) outputs[0].values = inputs[2]->values;
    for_each_row(inputs[0]->values, rows, features, [&](std::size_t to, std::size_t from) {
        for (std::size_t c = 0; c < features; ++c)
            outputs[0].values[to + c] += inputs[1]->values[from + c];
    });
}

void expect_positions(const TensorDesc& positions, const TensorDesc& rows) {
    expect_type(positions, DType::i32, "positions");
    expect_rank(positions, 2, "positions[B,M]");
    if (positions.shape[0] != rows.shape[0]) {
        reject("positions must be of " + std::to_string(rows.shape[0]) + " samples, not " +
               std::to_string(positions.shape[0]));
    }
}

std::vector<TensorDesc> infer_gather_rows(const GatherRowsAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_floating(inputs[0], "x[B,S,C]");
    expect_rank(inputs[0], 3, "x[B,S,C]");
    expect_positions(inputs[1], inputs[0]);
    return {{inputs[0].dtype, with_new_axis(inputs[1].shape, inputs[0].shape[2])}};
}

void gather_rows_gradient(GradContext& context) {
    const GatherRowsAttrs attrs{.rows = context.desc(context.input(0)).shape[1]};
    const std::vector<ValueId> inputs = {context.input(1), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::gather_rows_grad, attrs, inputs, "grad"));
}

std::vector<TensorDesc> infer_gather_rows_grad(const Attrs& attrs, Descs inputs) {
    const std::int64_t rows = std::get<GatherRowsAttrs>(attrs).rows;
    expect_inputs(inputs, 2);
    expect_floating(inputs[1], "dy[B,M,C]");
    expect_rank(inputs[1], 3, "dy[B,M,C]");
    expect_positions(inputs[0], inputs[1]);
    expect_shape(inputs[1], with_new_axis(inputs[0].shape, inputs[1].shape[2]), "dy");
    if (rows < 1) reject("a sample must have rows, not " + std::to_string(rows));
    return {{inputs[1].dtype, {inputs[1].shape[0], rows, inputs[1].shape[2]}}};
}

/// Does for_each_row for the rows of all samples.
template <typename Use> void for_each_gathered(const graph::RefTensor& positions, const Shape& from, Use use) {
    const auto per_sample = static_cast<std::size_t>(positions.desc.shape[1]);
    const auto rows = static_cast<std::size_t>(from[1]);
    const auto features = static_cast<std::size_t>(from[2]);
    for (std::size_t n = 0; n < static_cast<std::size_t>(from[0]); ++n) {
        const auto first = positions.values.begin() + static_cast<std::ptrdiff_t>(n * per_sample);
        const std::vector<double> own(first, first + static_cast<std::ptrdiff_t>(per_sample));
        for_each_row(own, rows, features, [&](std::size_t source, std::size_t result) {
            use(n * rows * features + source, n * per_sample * features + result);
        });
    }
}

void evaluate_gather_rows(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto features = static_cast<std::size_t>(inputs[0]->desc.shape[2]);
    for_each_gathered(*inputs[1], inputs[0]->desc.shape, [&](std::size_t from, std::size_t to) {
        for (std::size_t c = 0; c < features; ++c)
            outputs[0].values[to + c] = inputs[0]->values[from + c];
    });
}

void evaluate_gather_rows_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto features = static_cast<std::size_t>(outputs[0].desc.shape[2]);
    for_each_gathered(*inputs[0], outputs[0].desc.shape, [&](std::size_t to, std::size_t from) {
        for (std::size_t c = 0; c < features; ++c)
            outputs[0].values[to + c] += inputs[1]->values[from + c];
    });
}

/// One addition for every element that comes in.
double sum_flops(const Attrs& /*attrs*/, Descs inputs, Descs /*outputs*/) {
    return static_cast<double>(inputs[1].elements());
}

void describe_embedding(const Attrs& attrs, AttrText& text) {
    text.item("rows", std::get<EmbeddingAttrs>(attrs).rows);
}

void describe_gather_rows(const Attrs& attrs, AttrText& text) {
    text.item("rows", std::get<GatherRowsAttrs>(attrs).rows);
}

// Weighted softmax cross-entropy of tokens: its mean over a micro-batch.

void expect_tokens(Descs inputs) {
    expect_floating(inputs[0], "logits[N,C]");
    expect_rank(inputs[0], 2, "logits[N,C]");
    expect_type(inputs[1], DType::i32, "labels");
    expect_shape(inputs[1], {inputs[0].shape[0]}, "labels");
    expect_same(inputs[2], {DType::f32, {inputs[0].shape[0]}}, "weights and f32[N]");
}

std::vector<TensorDesc> infer_token_loss(const NoAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_tokens(inputs);
    return {{DType::f32, {}}, {DType::f32, {}}, inputs[2]};
}

std::vector<TensorDesc> infer_token_loss_grad(const NoAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 5);
    expect_tokens(inputs);
    expect_same(inputs[3], inputs[2], "log_sums and weights");
    expect_same(inputs[4], {DType::f32, {}}, "dloss and f32[]");
    return {inputs[0]};
}

double sum_of(const std::vector<double>& weights) {
    double sum = 0;
    for (const double weight : weights)
        sum += weight;
    return sum;
}

bool is_class(double label, std::size_t classes) {
    return label >= 0 && label < static_cast<double>(classes);
}

void evaluate_token_loss(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    const std::vector<double>& weights = inputs[2]->values;
    double loss = 0;
    double correct = 0;
    for (std::size_t n = 0; n < weights.size(); ++n) {
        const auto logits = std::span(inputs[0]->values).subspan(n * classes, classes);
        const double log_sum = log_sum_of_exponentials(logits);
        outputs[2].values[n] = log_sum;
        const double label = inputs[1]->values[n];
        if (!is_class(label, classes)) continue;
        loss += weights[n] * (log_sum - logits[static_cast<std::size_t>(label)]);
        if (static_cast<double>(std::ranges::max_element(logits) - logits.begin()) == label) correct += weights[n];
    }
    const double weight = sum_of(weights);
    outputs[0].values[0] = loss / (weight + graph::kTokenWeightEpsilon);
    outputs[1].values[0] = weight == 0 ? 0 : correct / weight;
}

void evaluate_token_loss_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto classes = static_cast<std::size_t>(inputs[0]->desc.shape[1]);
    const std::vector<double>& weights = inputs[2]->values;
    const double scale = inputs[4]->values[0] / (sum_of(weights) + graph::kTokenWeightEpsilon);
    for (std::size_t n = 0; n < weights.size(); ++n) {
        const double label = inputs[1]->values[n];
        if (!is_class(label, classes)) continue;
        for (std::size_t c = 0; c < classes; ++c) {
            const double target = static_cast<double>(c) == label ? 1 : 0;
            const double probability = std::exp(inputs[0]->values[n * classes + c] - inputs[3]->values[n]);
            outputs[0].values[n * classes + c] = scale * weights[n] * (probability - target);
        }
    }
}

}  // namespace

std::vector<OpDef> token_ops() {
    return {
        {.kind = OpKind::embedding,
         .results = {Layout::rows},
         .infer = infer_embedding,
         .gradient = embedding_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_embedding,
         .describe = describe_embedding},
        {.kind = OpKind::embedding_grad,
         .inputs = {{}, {Layout::rows}, {}},
         .addend = 2,
         .infer = infer_embedding_grad,
         .flops = sum_flops,
         .evaluate = evaluate_embedding_grad,
         .describe = describe_embedding},
        {.kind = OpKind::gather_rows,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = typed<infer_gather_rows>,
         .gradient = gather_rows_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_gather_rows,
         .describe = describe_gather_rows},
        {.kind = OpKind::gather_rows_grad,
         .inputs = {{}, {Layout::rows}},
         .results = {Layout::rows},
         .infer = infer_gather_rows_grad,
         .flops = sum_flops,
         .evaluate = evaluate_gather_rows_grad,
         .describe = describe_gather_rows},
        {.kind = OpKind::token_cross_entropy,
         .inputs = {{Layout::rows}, {}},
         .infer = typed<infer_token_loss>,
         .gradient = gradient_by_op<OpKind::token_cross_entropy_grad, 2>,
         .flops = flops_per_input<6>,
         .evaluate = evaluate_token_loss},
        {.kind = OpKind::token_cross_entropy_grad,
         .inputs = {{Layout::rows}, {}},
         .results = {Layout::rows},
         .infer = typed<infer_token_loss_grad>,
         .flops = flops_per_input<3>,
         .evaluate = evaluate_token_loss_grad},
    };
}

}  // namespace cnntrain::ops
