// The fully connected layer and its gradients; bias_grad serves any op with a bias over the last axis.
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::DenseAttrs;

namespace {

/// The shape with the same rows and another number of features.
Shape with_last_axis(Shape shape, std::int64_t features) {
    shape.back() = features;
    return shape;
}

/// The extents of a weight w[I,O], w[1,1,I,O], or transposed w[O,I].
struct Weight {
    std::int64_t inputs = 0, outputs = 0;
    bool transposed = false;

    /// Offset of an element from the start of the tensor.
    std::int64_t offset(std::int64_t in, std::int64_t out) const {
        return transposed ? out * inputs + in : in * outputs + out;
    }
};

Weight weight_of(const DenseAttrs& a, const TensorDesc& w) {
    const std::string_view axes = a.transposed ? "w[O,I]" : "w[I,O] or w[1,1,I,O]";
    expect_floating(w, axes);
    const Shape& shape = w.shape;
    if (!a.transposed && shape.size() == 4 && shape[0] == 1 && shape[1] == 1) return {shape[2], shape[3], false};
    expect_rank(w, 2, axes);
    return a.transposed ? Weight{shape[1], shape[0], true} : Weight{shape[0], shape[1], false};
}

std::vector<TensorDesc> infer_dense(const DenseAttrs& a, Descs inputs) {
    expect_inputs(inputs, a.bias ? 3 : 2);
    expect_rows(inputs[0], "x[...,I]");
    const Weight w = weight_of(a, inputs[1]);
    expect_same_type(inputs[0], inputs[1], "x and w");
    if (w.inputs != inputs[0].shape.back())
        reject("w must have " + std::to_string(inputs[0].shape.back()) + " inputs, not " + std::to_string(w.inputs));
    if (a.bias) expect_channel_vector(inputs[2], w.outputs, inputs[0].dtype, "bias");
    return {{inputs[0].dtype, with_last_axis(inputs[0].shape, w.outputs)}};
}

void dense_gradient(GradContext& context) {
    const auto& a = context.attrs_as<DenseAttrs>();
    const ValueId dy = context.grad_output(0);
    if (a.bias && context.needs(2))
        context.set_grad(2, context.add_one(OpKind::bias_grad, NoAttrs{}, {dy}, "bias_grad"));
    if (context.needs(1)) {
        DenseAttrs attrs{.transposed = a.transposed};
        attrs.kernel = context.desc(context.input(1)).shape.size() == 4;
        const std::vector<ValueId> inputs = {context.input(0), dy};
        context.set_grad(1, context.add_one(OpKind::dense_weight_grad, attrs, inputs, "weight_grad"));
    }
    if (context.needs(0)) {
        const std::vector<ValueId> inputs = {dy, context.input(1)};
        context.set_grad(
            0, context.add_one(OpKind::dense_input_grad, DenseAttrs{.transposed = a.transposed}, inputs, "input_grad"));
    }
}

std::vector<TensorDesc> infer_dense_input_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_rows(inputs[0], "dy[...,O]");
    const Weight w = weight_of(std::get<DenseAttrs>(attrs), inputs[1]);
    expect_same_type(inputs[0], inputs[1], "dy and w");
    if (w.outputs != inputs[0].shape.back())
        reject("w must have " + std::to_string(inputs[0].shape.back()) + " outputs, not " + std::to_string(w.outputs));
    return {{inputs[0].dtype, with_last_axis(inputs[0].shape, w.inputs)}};
}

std::vector<TensorDesc> infer_dense_weight_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_rows(inputs[0], "x[...,I]");
    expect_rows(inputs[1], "dy[...,O]");
    expect_same_type(inputs[0], inputs[1], "x and dy");
    expect_shape(inputs[1], with_last_axis(inputs[0].shape, inputs[1].shape.back()), "dy");
    const auto& a = std::get<DenseAttrs>(attrs);
    TensorDesc dw{a.result_type, {inputs[0].shape.back(), inputs[1].shape.back()}};
    if (a.transposed && a.kernel) reject("a kernel [1,1,I,O] cannot be transposed");
    if (a.transposed) std::swap(dw.shape[0], dw.shape[1]);
    if (a.kernel) dw.shape.insert(dw.shape.begin(), {1, 1});
    expect_floating(dw, "dw");
    return {dw};
}

std::vector<TensorDesc> infer_bias_grad(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "dy");
    if (inputs[0].shape.empty()) reject("dy must have at least one axis");
    return {{DType::f32, {inputs[0].shape.back()}}};
}

double product_flops(const Shape& rows, std::int64_t other) {
    return 2.0 * static_cast<double>(element_count(rows)) * static_cast<double>(other);
}
double dense_flops(const Attrs& /*attrs*/, Descs inputs, Descs outputs) {
    return product_flops(inputs[0].shape, outputs[0].shape.back());
}
double dense_weight_grad_flops(const Attrs& /*attrs*/, Descs inputs, Descs /*outputs*/) {
    return product_flops(inputs[0].shape, inputs[1].shape.back());
}

/// Calls term(index in x[N,I], index in w, index in y[N,O]) for every product of x * w.
template <typename Term> void for_each_product(std::int64_t n, const Weight& w, Term term) {
    for (std::int64_t row = 0; row < n; ++row) {
        for (std::int64_t i = 0; i < w.inputs; ++i) {
            for (std::int64_t o = 0; o < w.outputs; ++o) {
                term(static_cast<std::size_t>(row * w.inputs + i), static_cast<std::size_t>(w.offset(i, o)),
                     static_cast<std::size_t>(row * w.outputs + o));
            }
        }
    }
}

void evaluate_dense(const DenseAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const Weight w = weight_of(a, inputs[1]->desc);
    std::vector<double>& y = outputs[0].values;
    for (std::size_t i = 0; a.bias && i < y.size(); ++i)
        y[i] = inputs[2]->values[i % inputs[2]->values.size()];
    for_each_product(count_rows(inputs[0]->desc), w, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
        y[iy] += inputs[0]->values[ix] * inputs[1]->values[iw];
    });
}

void evaluate_dense_input_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const Weight w = weight_of(std::get<DenseAttrs>(attrs), inputs[1]->desc);
    for_each_product(count_rows(inputs[0]->desc), w, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
        outputs[0].values[ix] += inputs[0]->values[iy] * inputs[1]->values[iw];
    });
}

void evaluate_dense_weight_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const Weight w = weight_of(std::get<DenseAttrs>(attrs), outputs[0].desc);
    for_each_product(count_rows(inputs[0]->desc), w, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
        outputs[0].values[iw] += inputs[0]->values[ix] * inputs[1]->values[iy];
    });
}

void evaluate_bias_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::vector<double>& db = outputs[0].values;
    for (std::size_t i = 0; i < inputs[0]->values.size(); ++i)
        db[i % db.size()] += inputs[0]->values[i];
}

void describe_dense(const DenseAttrs& a, AttrText& text) {
    text.flag("without bias", !a.bias);
    text.flag("transposed", a.transposed);
}

// Batched matrix products; their gradients are batched matrix products too.

using graph::MatmulAttrs;

struct MatrixView {
    MatrixView(const TensorDesc& desc, bool is_transposed)
        : rows(desc.shape[desc.shape.size() - 2]), columns(desc.shape.back()), transposed(is_transposed) {
        if (transposed) std::swap(rows, columns);
    }
    /// Offset of element (row, column) from the start of its matrix.
    std::int64_t offset(std::int64_t row, std::int64_t column) const {
        return transposed ? column * rows + row : row * columns + column;
    }

    std::int64_t rows, columns;
    bool transposed;
};

Shape batch_of(const TensorDesc& desc) {
    return {desc.shape.begin(), desc.shape.end() - 2};
}

std::vector<TensorDesc> infer_batched_matmul(const MatmulAttrs& a, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_rows(inputs[0], "a[...,M,K]");
    expect_rows(inputs[1], "b[...,K,N]");
    expect_same_type(inputs[0], inputs[1], "a and b");
    if (batch_of(inputs[0]) != batch_of(inputs[1])) reject("a and b must have the same axes before the last two");
    const MatrixView left(inputs[0], a.transpose_a);
    const MatrixView right(inputs[1], a.transpose_b);
    if (left.columns != right.rows)
        reject("b must have " + std::to_string(left.columns) + " rows, not " + std::to_string(right.rows));
    TensorDesc y{inputs[0].dtype, batch_of(inputs[0])};
    y.shape.insert(y.shape.end(), {left.rows, right.columns});
    return {y};
}

ValueId product(GradContext& context, ValueId a, bool transpose_a, ValueId b, bool transpose_b,
                std::string_view suffix) {
    return context.add_one(OpKind::batched_matmul, MatmulAttrs{transpose_a, transpose_b}, {a, b}, suffix);
}

/// da = dy * b^T and db = a^T * dy for op(a), op(b); where an operand was transposed, so is its gradient.
void batched_matmul_gradient(GradContext& context) {
    const auto& attrs = context.attrs_as<MatmulAttrs>();
    const ValueId a = context.input(0);
    const ValueId b = context.input(1);
    const ValueId dy = context.grad_output(0);
    if (context.needs(0)) {
        context.set_grad(0, attrs.transpose_a ? product(context, b, attrs.transpose_b, dy, true, "a_grad")
                                              : product(context, dy, false, b, !attrs.transpose_b, "a_grad"));
    }
    if (context.needs(1)) {
        context.set_grad(1, attrs.transpose_b ? product(context, dy, true, a, attrs.transpose_a, "b_grad")
                                              : product(context, a, !attrs.transpose_a, dy, false, "b_grad"));
    }
}

double batched_matmul_flops(const Attrs& attrs, Descs inputs, Descs outputs) {
    const MatrixView left(inputs[0], std::get<MatmulAttrs>(attrs).transpose_a);
    return 2.0 * static_cast<double>(outputs[0].elements()) * static_cast<double>(left.columns);
}

void evaluate_batched_matmul(const MatmulAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const MatrixView left(inputs[0]->desc, a.transpose_a);
    const MatrixView right(inputs[1]->desc, a.transpose_b);
    const std::int64_t per_left = left.rows * left.columns;
    const std::int64_t per_right = right.rows * right.columns;
    const std::int64_t per_result = left.rows * right.columns;
    for (std::int64_t i = 0; i < outputs[0].desc.elements(); ++i) {
        const std::int64_t batch = i / per_result;
        const std::int64_t row = i % per_result / right.columns;
        const std::int64_t column = i % right.columns;
        double sum = 0;
        for (std::int64_t k = 0; k < left.columns; ++k) {
            sum += inputs[0]->values[static_cast<std::size_t>(batch * per_left + left.offset(row, k))] *
                   inputs[1]->values[static_cast<std::size_t>(batch * per_right + right.offset(k, column))];
        }
        outputs[0].values[static_cast<std::size_t>(i)] = sum;
    }
}

void describe_batched_matmul(const MatmulAttrs& a, AttrText& text) {
    text.flag("transpose a", a.transpose_a);
    text.flag("transpose b", a.transpose_b);
}

}  // namespace

std::vector<OpDef> dense_ops() {
    return {
        {.kind = OpKind::dense,
         .inputs = {{Layout::rows}, {Layout::kernel}, {}},
         .results = {Layout::rows},
         .infer = typed<infer_dense>,
         .gradient = dense_gradient,
         .flops = dense_flops,
         .evaluate = typed<evaluate_dense>,
         .describe = typed<describe_dense>,
         .by_sample = always},
        {.kind = OpKind::dense_input_grad,
         .inputs = {{Layout::rows}, {Layout::kernel}},
         .results = {Layout::rows},
         .infer = infer_dense_input_grad,
         .flops = dense_flops,
         .evaluate = evaluate_dense_input_grad,
         .describe = typed<describe_dense>},
        {.kind = OpKind::dense_weight_grad,
         .inputs = {{Layout::rows}, {Layout::rows}},
         .results = {Layout::kernel},
         .infer = infer_dense_weight_grad,
         .flops = dense_weight_grad_flops,
         .evaluate = evaluate_dense_weight_grad,
         .describe = typed<describe_dense>},
        {.kind = OpKind::bias_grad,
         .inputs = {{Layout::rows}},
         .infer = infer_bias_grad,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_bias_grad},
        {.kind = OpKind::batched_matmul,
         .infer = typed<infer_batched_matmul>,
         .gradient = batched_matmul_gradient,
         .flops = batched_matmul_flops,
         .evaluate = typed<evaluate_batched_matmul>,
         .describe = typed<describe_batched_matmul>},
    };
}

}  // namespace cnntrain::ops
