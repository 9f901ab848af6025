// The fully connected layer and its gradients: matrix products, operands transposed through their strides.
#include "backend/cpu/lowering.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ValueId;

namespace {

Desc matrix(std::int64_t rows, std::int64_t columns, DType type) {
    return Desc({rows, columns}, to_dnnl(type), dnnl::memory::format_tag::ab);
}

Desc transposed(std::int64_t rows, std::int64_t columns, DType type) {
    return Desc({rows, columns}, to_dnnl(type), dnnl::memory::format_tag::ba);
}

/// The same memory read as another matrix.
Placed viewed(Placed tensor, const Desc& desc) {
    tensor.desc = desc;
    return tensor;
}

void lower_dense(Lowering& lower) {
    const auto& inputs = lower.node().inputs;
    const ValueId y = lower.node().outputs[0];
    const TensorDesc& x_desc = lower.graph().desc(inputs[0]);
    const TensorDesc& y_desc = lower.graph().desc(y);
    const std::int64_t n = y_desc.elements() / y_desc.shape.back();
    const std::int64_t in = x_desc.shape.back();
    const std::int64_t out = y_desc.shape.back();
    const Primitive product = lower.onednn().matmul(matrix(n, in, x_desc.dtype), matrix(in, out, x_desc.dtype),
                                                    matrix(n, out, y_desc.dtype), true);
    const Placed x = viewed(lower.in_order(inputs[0]), product.src);
    const Placed w = lower.prepared(inputs[1], product.weights);
    const Placed bias = viewed(lower.float_vector(inputs[2]), product.bias);
    const Placed result = viewed(lower.define(y, row_major(y_desc)), product.dst);
    lower.add_primitive(product,
                        {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, result}},
                        {DNNL_ARG_DST});
}

void lower_dense_input_grad(Lowering& lower) {
    const auto& inputs = lower.node().inputs;
    const ValueId dx = lower.node().outputs[0];
    const TensorDesc& dy_desc = lower.graph().desc(inputs[0]);
    const TensorDesc& dx_desc = lower.graph().desc(dx);
    const std::int64_t n = dy_desc.elements() / dy_desc.shape.back();
    const std::int64_t in = dx_desc.shape.back();
    const std::int64_t out = dy_desc.shape.back();
    const Primitive product = lower.onednn().matmul(matrix(n, out, dy_desc.dtype), transposed(out, in, dy_desc.dtype),
                                                    matrix(n, in, dx_desc.dtype), false);
    const Placed dy = viewed(lower.in_order(inputs[0]), product.src);
    const Placed w = viewed(lower.prepared(inputs[1], matrix(in, out, dy_desc.dtype)), product.weights);
    const Placed result = viewed(lower.define(dx, row_major(dx_desc)), product.dst);
    lower.add_primitive(product, {{DNNL_ARG_SRC, dy}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, result}}, {DNNL_ARG_DST});
}

void lower_dense_weight_grad(Lowering& lower) {
    const auto& inputs = lower.node().inputs;
    const ValueId dw = lower.node().outputs[0];
    const TensorDesc& x_desc = lower.graph().desc(inputs[0]);
    const TensorDesc& dw_desc = lower.graph().desc(dw);
    const std::int64_t n = x_desc.elements() / x_desc.shape.back();
    const std::int64_t in = x_desc.shape.back();
    const std::int64_t out = lower.graph().desc(inputs[1]).shape.back();
    const Primitive product = lower.onednn().matmul(transposed(in, n, x_desc.dtype), matrix(n, out, x_desc.dtype),
                                                    matrix(in, out, dw_desc.dtype), false);
    const Placed x = viewed(lower.in_order(inputs[0]), product.src);
    const Placed dy = viewed(lower.in_order(inputs[1]), product.weights);
    const Placed result = lower.define(dw, product.dst);
    lower.add_primitive(product, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, dy}, {DNNL_ARG_DST, result}}, {DNNL_ARG_DST});
}

void lower_bias_grad(Lowering& lower) {
    const ValueId db = lower.node().outputs[0];
    const ValueId gradient = lower.node().inputs[0];
    const Placed dy = lower.operand(gradient);
    const Placed result = lower.define(db, row_major(lower.graph().desc(db)));
    const Blocks shape = lower.channel_blocks(gradient, dy);
    const auto scratch = lower.scratch_floats(norm_scratch_floats(shape));
    with_float_type(dy.dtype, [&]<typename T>() {
        lower.add_step("kernel", {dy}, {result},
                       [=](const StepContext&) { bias_grad(shape, dy.as<T>(), result.as<float>(), scratch()); });
    });
}

constexpr LoweringEntry kLowerings[] = {
    {graph::OpKind::dense, lower_dense},
    {graph::OpKind::dense_input_grad, lower_dense_input_grad},
    {graph::OpKind::dense_weight_grad, lower_dense_weight_grad},
    {graph::OpKind::bias_grad, lower_bias_grad},
};

}  // namespace

std::span<const LoweringEntry> dense_lowerings() {
    return kLowerings;
}

}  // namespace cnntrain::cpu
