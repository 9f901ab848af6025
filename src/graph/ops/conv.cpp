// Convolution and its two gradients: grouped, with explicit padding; at inference with bias, residual and activation.
#include <algorithm>

#include "cnntrain/base/error.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::ConvAttrs;

namespace {

/// Shape of y[N,H,W,O] for x[N,H,W,I*G] and w[K,L,I,O].
Shape conv_shape(const ConvAttrs& a, const Shape& x, const Shape& w) {
    if (a.groups < 1 || w[3] % a.groups != 0)
        reject(std::to_string(w[3]) + " output channels cannot form " + std::to_string(a.groups) + " groups");
    if (w[2] * a.groups != x[3]) {
        reject("x must have kernel inputs x groups = " + std::to_string(w[2]) + " x " + std::to_string(a.groups) +
               " channels, not " + std::to_string(x[3]));
    }
    if (std::min({a.padding.top, a.padding.bottom, a.padding.left, a.padding.right}) < 0) reject("negative padding");
    return {x[0], window_count(x[1], a.padding.top + a.padding.bottom, w[0], a.stride),
            window_count(x[2], a.padding.left + a.padding.right, w[1], a.stride), w[3]};
}

void expect_plain(const ConvAttrs& a) {
    if (a.bias || a.residual || a.activation != graph::Activation::none)
        reject("residual and activation belong to inference and have no gradient");
}

std::vector<TensorDesc> infer_conv2d(const ConvAttrs& a, Descs inputs) {
    expect_inputs(inputs, std::size_t{2} + (a.bias ? 1 : 0) + (a.residual ? 1 : 0));
    expect_activation(inputs[0], "x[N,H,W,C]");
    expect_rank(inputs[1], 4, "w[K,L,I,O]");
    expect_same_type(inputs[0], inputs[1], "x and w");
    TensorDesc y{inputs[0].dtype, conv_shape(a, inputs[0].shape, inputs[1].shape)};
    if (a.bias) expect_channel_vector(inputs[2], y.shape[3], y.dtype, "bias");
    if (a.residual) expect_same(y, inputs.back(), "y and residual");
    return {y};
}

std::vector<TensorDesc> infer_conv_input_grad(const ConvAttrs& a, Descs inputs) {
    expect_plain(a);
    expect_inputs(inputs, 2);
    expect_activation(inputs[0], "dy[N,H,W,O]");
    expect_rank(inputs[1], 4, "w[K,L,I,O]");
    expect_same_type(inputs[0], inputs[1], "dy and w");
    const TensorDesc dx{inputs[0].dtype, a.result_shape};
    expect_activation(dx, "dx[N,H,W,C]");
    expect_shape(inputs[0], conv_shape(a, dx.shape, inputs[1].shape), "dy");
    return {dx};
}

std::vector<TensorDesc> infer_conv_weight_grad(const ConvAttrs& a, Descs inputs) {
    expect_plain(a);
    expect_inputs(inputs, 2);
    expect_activation(inputs[0], "x[N,H,W,C]");
    expect_activation(inputs[1], "dy[N,H,W,O]");
    expect_same_type(inputs[0], inputs[1], "x and dy");
    const TensorDesc dw{a.result_type, a.result_shape};
    expect_activation(dw, "dw[K,L,I,O]");
    expect_shape(inputs[1], conv_shape(a, inputs[0].shape, dw.shape), "dy");
    return {dw};
}

void conv2d_gradient(GradContext& context) {
    auto attrs = context.attrs_as<ConvAttrs>();
    attrs.bias = false;
    const ValueId x = context.input(0);
    const ValueId w = context.input(1);
    const ValueId dy = context.grad_output(0);
    if (context.attrs_as<ConvAttrs>().bias && context.needs(2))
        context.set_grad(2, context.add_one(OpKind::bias_grad, NoAttrs{}, {dy}, "bias_grad"));
    if (context.needs(1)) {
        attrs.result_shape = context.desc(w).shape;
        context.set_grad(1, context.add_one(OpKind::conv2d_weight_grad, attrs, {x, dy}, "weight_grad"));
    }
    if (context.needs(0)) {
        attrs.result_shape = context.desc(x).shape;
        context.set_grad(0, context.add_one(OpKind::conv2d_input_grad, attrs, {dy, w}, "input_grad"));
    }
}

double conv_flops(const Shape& y, const Shape& w) {
    return 2.0 * static_cast<double>(element_count(y)) * static_cast<double>(w[0] * w[1] * w[2]);
}

double conv2d_flops(const Attrs& /*attrs*/, Descs inputs, Descs outputs) {
    return conv_flops(outputs[0].shape, inputs[1].shape);
}
double input_grad_flops(const Attrs& /*attrs*/, Descs inputs, Descs /*outputs*/) {
    return conv_flops(inputs[0].shape, inputs[1].shape);
}
double conv_weight_grad_flops(const Attrs& /*attrs*/, Descs inputs, Descs outputs) {
    return conv_flops(inputs[1].shape, outputs[0].shape);
}

/// Calls term(x index, w index, y index, count) for every multiply-add y[y+o] += x[x] * w[w+o], o < count: the runs of
/// output channels of one group that one input element meets.
template <typename Term>
void for_each_run(const ConvAttrs& a, const Shape& x_shape, const Shape& w_shape, const Shape& y_shape, Term term) {
    const Nhwc x(x_shape);
    const Nhwc y(y_shape);
    const std::int64_t width = w_shape[1];
    const std::int64_t group_in = w_shape[2];
    const std::int64_t group_out = y.c / a.groups;
    const auto pixel_pair = [&](std::int64_t x_pixel, std::int64_t tap, std::int64_t y_pixel) {
        for (std::int64_t c = 0; c < x.c; ++c) {
            const std::int64_t first_out = c / group_in * group_out;
            term(x_pixel + c, (tap * group_in + c % group_in) * y.c + first_out, y_pixel + first_out, group_out);
        }
    };
    for (std::int64_t n = 0; n < y.n; ++n) {
        for (std::int64_t out = 0; out < y.h * y.w; ++out) {
            const std::int64_t oh = out / y.w;
            const std::int64_t ow = out % y.w;
            for (std::int64_t tap = 0; tap < w_shape[0] * width; ++tap) {
                const std::int64_t ih = oh * a.stride - a.padding.top + tap / width;
                const std::int64_t iw = ow * a.stride - a.padding.left + tap % width;
                if (ih < 0 || ih >= x.h || iw < 0 || iw >= x.w) continue;
                pixel_pair(x.pixel(n, ih, iw), tap, y.pixel(n, oh, ow));
            }
        }
    }
}

void evaluate_conv2d(const ConvAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const double* x = inputs[0]->values.data();
    const double* w = inputs[1]->values.data();
    std::vector<double>& y = outputs[0].values;
    for_each_run(a, inputs[0]->desc.shape, inputs[1]->desc.shape, outputs[0].desc.shape,
                 [&](std::int64_t ix, std::int64_t iw, std::int64_t iy, std::int64_t count) {
                     double* out = y.data() + iy;
                     for (std::int64_t o = 0; o < count; ++o)
                         out[o] += x[ix] * w[iw + o];
                 });
    const auto channels = static_cast<std::size_t>(outputs[0].desc.shape[3]);
    for (std::size_t i = 0; i < y.size(); ++i) {
        if (a.bias) y[i] += inputs[2]->values[i % channels];
        if (a.residual) y[i] += inputs.back()->values[i];
        y[i] = activated(a.activation, y[i]);
    }
}

void evaluate_conv_input_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double* dy = inputs[0]->values.data();
    const double* w = inputs[1]->values.data();
    double* dx = outputs[0].values.data();
    for_each_run(std::get<ConvAttrs>(attrs), outputs[0].desc.shape, inputs[1]->desc.shape, inputs[0]->desc.shape,
                 [&](std::int64_t ix, std::int64_t iw, std::int64_t iy, std::int64_t count) {
                     double sum = 0;
                     for (std::int64_t o = 0; o < count; ++o)
                         sum += dy[iy + o] * w[iw + o];
                     dx[ix] += sum;
                 });
}

void evaluate_conv_weight_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double* x = inputs[0]->values.data();
    const double* dy = inputs[1]->values.data();
    double* dw = outputs[0].values.data();
    for_each_run(std::get<ConvAttrs>(attrs), inputs[0]->desc.shape, outputs[0].desc.shape, inputs[1]->desc.shape,
                 [&](std::int64_t ix, std::int64_t iw, std::int64_t iy, std::int64_t count) {
                     for (std::int64_t o = 0; o < count; ++o)
                         dw[iw + o] += x[ix] * dy[iy + o];
                 });
}

void describe_conv(const graph::ConvAttrs& a, AttrText& text) {
    text.item("stride", a.stride, std::int64_t{1});
    text.padding(a.padding);
    text.item("groups", a.groups, std::int64_t{1});
    text.flag("bias", a.bias);
    text.flag("residual", a.residual);
    text.activation(a.activation);
    text.shape("result", a.result_shape);
}

// Max pooling and global average pooling, with their gradients.

using graph::PoolAttrs;

// ---- max_pool ----

std::vector<TensorDesc> infer_max_pool(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<PoolAttrs>(attrs);
    expect_inputs(inputs, 1);
    if (inputs[0].dtype != DType::u8) expect_floating(inputs[0], "x, where it is not u8,");
    expect_rank(inputs[0], 4, "x[N,H,W,C]");
    const graph::Padding& p = a.padding;
    const auto [least, most] = std::minmax({p.top, p.bottom, p.left, p.right});
    if (least < 0 || most >= a.kernel) reject("each side's padding must be in 0..kernel-1, so that no window is empty");
    const Shape& x = inputs[0].shape;
    return {{inputs[0].dtype,
             {x[0], window_count(x[1], p.top + p.bottom, a.kernel, a.stride),
              window_count(x[2], p.left + p.right, a.kernel, a.stride), x[3]}}};
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

void evaluate_average(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const Shape& x = inputs[0]->desc.shape;
    for_each_of_images(x, [&](std::size_t from, std::size_t to) { outputs[0].values[to] += inputs[0]->values[from]; });
    for (double& y : outputs[0].values)
        y /= static_cast<double>(x[1] * x[2]);
}

void evaluate_average_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const Shape& x = outputs[0].desc.shape;
    for_each_of_images(x, [&](std::size_t to, std::size_t from) {
        outputs[0].values[to] = inputs[0]->values[from] / static_cast<double>(x[1] * x[2]);
    });
}

void describe_max_pool(const graph::PoolAttrs& a, AttrText& text) {
    text.item("kernel", a.kernel);
    text.item("stride", a.stride, std::int64_t{1});
    text.padding(a.padding);
}

void describe_average_grad(const Attrs& attrs, AttrText& text) {
    text.item("result", to_string(std::get<graph::ResultAttrs>(attrs).desc));
}

}  // namespace

std::vector<OpDef> conv_ops() {
    return {
        {.kind = OpKind::conv2d,
         .inputs = {{Layout::image}, {Layout::kernel}, {}, {Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_conv2d>,
         .gradient = conv2d_gradient,
         .flops = conv2d_flops,
         .evaluate = typed<evaluate_conv2d>,
         .describe = typed<describe_conv>,
         .by_sample = always},
        {.kind = OpKind::conv2d_input_grad,
         .inputs = {{Layout::image}, {Layout::kernel}},
         .results = {Layout::image},
         .infer = typed<infer_conv_input_grad>,
         .flops = input_grad_flops,
         .evaluate = evaluate_conv_input_grad,
         .describe = typed<describe_conv>},
        {.kind = OpKind::conv2d_weight_grad,
         .inputs = {{Layout::image}, {Layout::image}},
         .results = {Layout::kernel},
         .infer = typed<infer_conv_weight_grad>,
         .flops = conv_weight_grad_flops,
         .evaluate = evaluate_conv_weight_grad,
         .describe = typed<describe_conv>},
        {.kind = OpKind::max_pool,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = infer_max_pool,
         .gradient = gradient_by_op<OpKind::max_pool_grad>,
         .flops = max_pool_flops,
         .evaluate = evaluate_max_pool,
         .describe = typed<describe_max_pool>,
         .by_sample = always},
        {.kind = OpKind::max_pool_grad,
         .inputs = {{Layout::image}, {Layout::image}},
         .results = {Layout::image},
         .infer = infer_max_pool_grad,
         .flops = max_pool_grad_flops,
         .evaluate = evaluate_max_pool_grad,
         .describe = typed<describe_max_pool>},
        {.kind = OpKind::global_average_pool,
         .inputs = {{Layout::image}},
         .results = {Layout::rows},
         .infer = infer_average,
         .gradient = average_gradient,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_average,
         .by_sample = always},
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
