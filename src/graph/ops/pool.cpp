// Max pooling and global average pooling, with their gradients.
#include <algorithm>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::PoolAttrs;

namespace {

// ---- max_pool ----

std::vector<TensorDesc> infer_max_pool(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<PoolAttrs>(attrs);
    expect_inputs(inputs, 1);
    expect_activation(inputs[0], "x[N,H,W,C]");
    const graph::Padding& p = a.padding;
    const auto [least, most] = std::minmax({p.top, p.bottom, p.left, p.right});
    if (least < 0 || most >= a.kernel) reject("each side's padding must be in 0..kernel-1, so that no window is empty");
    const Shape& x = inputs[0].shape;
    return {{inputs[0].dtype,
             {x[0], window_count(x[1], p.top + p.bottom, a.kernel, a.stride),
              window_count(x[2], p.left + p.right, a.kernel, a.stride), x[3]}}};
}

void max_pool_gradient(GradContext& context) {
    const std::vector<ValueId> inputs = {context.input(0), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::max_pool_grad, context.attrs(), inputs, "grad"));
}

std::vector<TensorDesc> infer_max_pool_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 2);
    const TensorDesc y = infer_max_pool(attrs, inputs.first(1)).front();
    expect_same(y, inputs[1], "y and dy");
    return {inputs[0]};
}

double window_flops(const Attrs& attrs, const TensorDesc& y) {
    const std::int64_t kernel = std::get<PoolAttrs>(attrs).kernel;
    return static_cast<double>(y.elements()) * static_cast<double>(kernel * kernel);
}
double max_pool_flops(const Attrs& attrs, Descs /*inputs*/, Descs outputs) {
    return window_flops(attrs, outputs[0]);
}
double max_pool_grad_flops(const Attrs& attrs, Descs inputs, Descs /*outputs*/) {
    return window_flops(attrs, inputs[1]);
}

/// Calls found(index of the first largest element of the window in x, index in y) for every element of y.
template <typename Found>
void for_each_maximum(const PoolAttrs& a, const graph::RefTensor& x_tensor, const Shape& y_shape, Found found) {
    const Nhwc x(x_tensor.desc.shape);
    const Nhwc y(y_shape);
    const auto first_largest = [&](std::int64_t n, std::int64_t top, std::int64_t left, std::int64_t c) {
        std::int64_t best = -1;
        for (std::int64_t h = std::max<std::int64_t>(top, 0); h < std::min(top + a.kernel, x.h); ++h) {
            for (std::int64_t w = std::max<std::int64_t>(left, 0); w < std::min(left + a.kernel, x.w); ++w) {
                const std::int64_t here = x.pixel(n, h, w) + c;
                if (best < 0 ||
                    x_tensor.values[static_cast<std::size_t>(here)] > x_tensor.values[static_cast<std::size_t>(best)]) {
                    best = here;
                }
            }
        }
        return best;
    };
    for (std::int64_t i = 0; i < element_count(y_shape); ++i) {
        const std::int64_t c = i % y.c;
        const std::int64_t w = i / y.c % y.w;
        const std::int64_t h = i / y.c / y.w % y.h;
        const std::int64_t n = i / y.c / y.w / y.h;
        found(first_largest(n, h * a.stride - a.padding.top, w * a.stride - a.padding.left, c), i);
    }
}

void evaluate_max_pool(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const graph::RefTensor& x = *inputs[0];
    const auto take = [&](std::int64_t from, std::int64_t to) {
        outputs[0].values[static_cast<std::size_t>(to)] = x.values[static_cast<std::size_t>(from)];
    };
    for_each_maximum(std::get<PoolAttrs>(attrs), x, outputs[0].desc.shape, take);
}

void evaluate_max_pool_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const graph::RefTensor& dy = *inputs[1];
    const auto give = [&](std::int64_t to, std::int64_t from) {
        outputs[0].values[static_cast<std::size_t>(to)] += dy.values[static_cast<std::size_t>(from)];
    };
    for_each_maximum(std::get<PoolAttrs>(attrs), *inputs[0], dy.desc.shape, give);
}

// ---- global_average_pool ----

std::vector<TensorDesc> infer_average(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_activation(inputs[0], "x[N,H,W,C]");
    return {{inputs[0].dtype, {inputs[0].shape[0], inputs[0].shape[3]}}};
}

void average_gradient(GradContext& context) {
    const graph::ResultAttrs attrs{context.desc(context.input(0))};
    context.set_grad(0, context.add_one(OpKind::global_average_pool_grad, attrs, {context.grad_output(0)}, "grad"));
}

std::vector<TensorDesc> infer_average_grad(const Attrs& attrs, Descs inputs) {
    const TensorDesc& dx = std::get<graph::ResultAttrs>(attrs).desc;
    expect_inputs(inputs, 1);
    expect_activation(dx, "dx[N,H,W,C]");
    expect_same(inputs[0], {dx.dtype, {dx.shape[0], dx.shape[3]}}, "dy and [N,C] of dx");
    return {dx};
}

/// Calls pair(index in the image, index in the [N,C] vector) for every element of the image.
template <typename Pair> void for_each_averaged(const Shape& image, Pair pair) {
    const Nhwc x(image);
    for (std::int64_t i = 0; i < element_count(image); ++i)
        pair(static_cast<std::size_t>(i), static_cast<std::size_t>(i / (x.h * x.w * x.c) * x.c + i % x.c));
}

void evaluate_average(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const Shape& x = inputs[0]->desc.shape;
    for_each_averaged(x, [&](std::size_t from, std::size_t to) { outputs[0].values[to] += inputs[0]->values[from]; });
    for (double& y : outputs[0].values)
        y /= static_cast<double>(x[1] * x[2]);
}

void evaluate_average_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const Shape& x = outputs[0].desc.shape;
    for_each_averaged(x, [&](std::size_t to, std::size_t from) {
        outputs[0].values[to] = inputs[0]->values[from] / static_cast<double>(x[1] * x[2]);
    });
}

void describe_max_pool(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::PoolAttrs>(attrs);
    text.item("kernel", a.kernel);
    text.item("stride", a.stride, std::int64_t{1});
    text.padding(a.padding);
}

void describe_average_grad(const Attrs& attrs, AttrText& text) {
    text.item("result", to_string(std::get<graph::ResultAttrs>(attrs).desc));
}

}  // namespace

std::vector<OpDef> pool_ops() {
    return {
        {.kind = OpKind::max_pool,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = infer_max_pool,
         .gradient = max_pool_gradient,
         .flops = max_pool_flops,
         .evaluate = evaluate_max_pool,
         .describe = describe_max_pool},
        {.kind = OpKind::max_pool_grad,
         .inputs = {{Layout::image}, {Layout::image}},
         .results = {Layout::image},
         .infer = infer_max_pool_grad,
         .flops = max_pool_grad_flops,
         .evaluate = evaluate_max_pool_grad,
         .describe = describe_max_pool},
        {.kind = OpKind::global_average_pool,
         .inputs = {{Layout::image}},
         .results = {Layout::rows},
         .infer = infer_average,
         .gradient = average_gradient,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_average},
        {.kind = OpKind::global_average_pool_grad,
         .inputs = {{Layout::rows}},
         .results = {Layout::image},
         .infer = infer_average_grad,
         .flops = flops_per_output<1>,
         .evaluate = evaluate_average_grad,
         .describe = describe_average_grad},
    };
}

}  // namespace cnntrain::ops
