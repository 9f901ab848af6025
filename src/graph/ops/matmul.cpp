// Batched matrix products; their gradients are batched matrix products too.

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::MatmulAttrs;

namespace {

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

void expect_matrices(const TensorDesc& desc, std::string_view axes) {
    expect_floating(desc, axes);
    if (desc.shape.size() < 2) reject(std::string(axes) + " must have at least two axes");
}

std::vector<TensorDesc> infer_batched_matmul(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<MatmulAttrs>(attrs);
    expect_inputs(inputs, 2);
    expect_matrices(inputs[0], "a[...,M,K]");
    expect_matrices(inputs[1], "b[...,K,N]");
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

void evaluate_batched_matmul(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<MatmulAttrs>(attrs);
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

void describe_batched_matmul(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<MatmulAttrs>(attrs);
    text.flag("transpose a", a.transpose_a);
    text.flag("transpose b", a.transpose_b);
}

}  // namespace

std::vector<OpDef> matmul_ops() {
    return {
        {.kind = OpKind::batched_matmul,
         .infer = infer_batched_matmul,
         .gradient = batched_matmul_gradient,
         .flops = batched_matmul_flops,
         .evaluate = evaluate_batched_matmul,
         .describe = describe_batched_matmul},
    };
}

}  // namespace cnntrain::ops
