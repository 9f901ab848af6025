// Proxy norm: activations standardised by the moments that they would have, had their input been normal.
// Formulas: Labatie et al. 2021, "Proxy-Normalizing Activations to Match Batch Normalization while Removing Batch
// Dependence".
#include <array>
#include <cmath>

#include "cnntrain/base/rng.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::Activation;
using graph::kProxyRows;
using graph::kProxySamples;
using graph::ProxyNormAttrs;
using graph::StandardiseAttrs;
namespace proxy_row = graph::proxy_row;

namespace {

// ---- standardise ----

std::size_t vector_count(const StandardiseAttrs& a) {
    return (a.mean ? 1U : 0U) + (a.scale ? 1U : 0U);
}

void expect_float_vector(const TensorDesc& desc, std::int64_t channels, std::string_view what) {
    expect_type(desc, DType::f32, what);
    expect_shape(desc, {channels}, what);
}

void expect_pictures_or_vectors(const TensorDesc& x) {
    expect_floating(x, "x");
    if (x.shape.size() != 2) expect_rank(x, 4, "x[N,H,W,C] or x[N,C]");
}

std::vector<TensorDesc> infer_standardise(const StandardiseAttrs& a, Descs inputs) {
    if (vector_count(a) == 0) reject("neither a mean nor a scale");
    expect_inputs(inputs, 1 + vector_count(a));
    expect_pictures_or_vectors(inputs[0]);
    for (std::size_t i = 1; i < inputs.size(); ++i)
        expect_float_vector(inputs[i], inputs[0].shape.back(), a.mean && i == 1 ? "mean" : "scale");
    return {inputs[0]};
}

std::vector<TensorDesc> infer_standardise_grad(const StandardiseAttrs& a, Descs inputs) {
    expect_inputs(inputs, a.scale ? 3 : 1);
    expect_pictures_or_vectors(inputs[0]);
    const TensorDesc vector{DType::f32, {inputs[0].shape.back()}};
    if (!a.scale) return {vector};
    expect_float_vector(inputs[1], inputs[0].shape.back(), "scale");
    expect_same(inputs[0], inputs[2], "y and dy");
    return a.mean ? std::vector<TensorDesc>{inputs[0], vector, vector} : std::vector<TensorDesc>{inputs[0], vector};
}

/// The gradient of the scale is made of y instead of x, so that y may be written over x.
void standardise_gradient(GradContext& context) {
    const auto& a = context.attrs_as<StandardiseAttrs>();
    std::vector<ValueId> inputs = {context.grad_output(0)};
    if (a.scale) inputs = {context.output(0), context.input(a.mean ? 2 : 1), context.grad_output(0)};
    const std::vector<ValueId> gradients = context.add(OpKind::standardise_grad, a, std::move(inputs), "grad");
    if (!a.scale) context.set_grad(0, context.grad_output(0));
    const std::size_t first = a.scale ? 0 : 1;  // input that the op's first result is the gradient of
    for (std::size_t i = 0; i < gradients.size(); ++i)
        context.set_grad(first + i, gradients[i]);
}

void evaluate_standardise(const StandardiseAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const auto channels = static_cast<std::size_t>(inputs[0]->desc.shape.back());
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        double y = inputs[0]->values[i];
        if (a.mean) y -= inputs[1]->values[i % channels];
        if (a.scale) y *= inputs.back()->values[i % channels];
        outputs[0].values[i] = y;
    }
}

void evaluate_standardise_grad(const StandardiseAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const auto channels = static_cast<std::size_t>(inputs[0]->desc.shape.back());
    const std::vector<double>& dy = inputs.back()->values;
    for (std::size_t i = 0; i < dy.size(); ++i) {
        const std::size_t c = i % channels;
        if (!a.scale) {
            outputs[0].values[c] -= dy[i];
            continue;
        }
        const double scale = inputs[1]->values[c];
        outputs[0].values[i] = dy[i] * scale;
        if (a.mean) outputs[1].values[c] -= dy[i] * scale;
        outputs.back().values[c] += dy[i] * inputs[0]->values[i] / scale;
    }
}

// ---- rows ----

constexpr std::size_t kRowsRead = proxy_row::inverse_deviation + 1;  // by the network

void expect_proxy(const TensorDesc& desc, std::string_view what) {
    expect_floating(desc, what);
    expect_rank(desc, 4, what);
    expect_shape(desc, {kProxyRows, 1, 1, desc.shape[3]}, what);
}

std::vector<TensorDesc> infer_rows(const ProxyNormAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_proxy(inputs[0], "a proxy");
    return std::vector<TensorDesc>(kRowsRead, {DType::f32, {inputs[0].shape[3]}});
}

void rows_gradient(GradContext& context) {
    auto attrs = context.attrs_as<ProxyNormAttrs>();
    std::vector<ValueId> inputs;
    for (std::size_t row = 0; row < kRowsRead; ++row) {
        if (!context.has_grad_output(row)) continue;
        attrs.rows.push_back(static_cast<std::int64_t>(row));
        inputs.push_back(context.grad_output(row));
    }
    context.set_grad(0, context.add_one(OpKind::proxy_norm_rows_grad, std::move(attrs), std::move(inputs), "grad"));
}

std::vector<TensorDesc> infer_rows_grad(const ProxyNormAttrs& a, Descs inputs) {
    if (a.rows.empty()) reject("no rows");
    expect_inputs(inputs, a.rows.size());
    std::int64_t previous = -1;
    for (const std::int64_t row : a.rows) {
        if (row <= previous || row >= static_cast<std::int64_t>(kRowsRead))
            reject("rows that are not 0 to 3, ascending");
        previous = row;
    }
    expect_rank(inputs[0], 1, "the gradient of a row");
    for (const TensorDesc& row : inputs)
        expect_float_vector(row, inputs[0].shape[0], "the gradient of a row");
    return {{DType::f32, {kProxyRows, 1, 1, inputs[0].shape[0]}}};
}

void evaluate_rows(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const auto channels = static_cast<std::ptrdiff_t>(inputs[0]->desc.shape[3]);
    auto from = inputs[0]->values.begin();
    for (graph::RefTensor& row : outputs) {
        row.values.assign(from, from + channels);
        from += channels;
    }
}

void evaluate_rows_grad(const ProxyNormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    for (std::size_t i = 0; i < a.rows.size(); ++i) {
        const auto offset = a.rows[i] * inputs[0]->desc.elements();
        std::copy(inputs[i]->values.begin(), inputs[i]->values.end(), outputs[0].values.begin() + offset);
    }
}

// ---- proxy sample ----

const std::vector<double>& quantiles() {
    static const std::vector<double> values = normal_quantiles(kProxySamples);
    return values;
}

/// One channel of a proxy.
class ProxySample {
public:
    ProxySample(const ProxyNormAttrs& a, const graph::RefTensor& proxy, std::size_t channel)
        : activation_(a.activation), epsilon_(a.epsilon) {
        const auto channels = static_cast<std::size_t>(proxy.desc.shape[3]);
        for (std::size_t row = 0; row < rows_.size(); ++row)
            rows_[row] = proxy.values[row * channels + channel];
        for (const double z : quantiles())
            mean_ += activated(activation_, input(z)) / static_cast<double>(kProxySamples);
        for (const double z : quantiles())
            variance_ += std::pow(activated(activation_, input(z)) - mean_, 2) / static_cast<double>(kProxySamples);
    }

    double mean() const { return mean_; }
    double inverse_deviation() const { return 1 / std::sqrt(variance_ + epsilon_); }

    /// Gradients of beta, gamma, beta' and gamma' in their rows; the others are 0.
    std::array<double, kProxyRows> gradient(double dmean, double dinverse_deviation) const {
        std::array<double, kProxyRows> result{};
        const double dvariance = -0.5 * dinverse_deviation * std::pow(inverse_deviation(), 3);
        for (const double z : quantiles()) {
            const double u = input(z);
            const double dp = (dmean + 2 * dvariance * (activated(activation_, u) - mean_)) / kProxySamples;
            const double du = dp * slope_at_input(activation_, u);
            result[proxy_row::beta] += du;
            result[proxy_row::gamma] += du * normal(z);
            result[proxy_row::proxy_beta] += du * rows_[proxy_row::gamma];
            result[proxy_row::proxy_gamma] += du * rows_[proxy_row::gamma] * z;
        }
        return result;
    }

private:
    /// The proxy of the normalised activation.
    double normal(double z) const { return (1 + rows_[proxy_row::proxy_gamma]) * z + rows_[proxy_row::proxy_beta]; }
    double input(double z) const { return rows_[proxy_row::gamma] * normal(z) + rows_[proxy_row::beta]; }

    Activation activation_;
    double epsilon_;
    std::array<double, kProxyRows> rows_{};
    double mean_ = 0;
    double variance_ = 0;
};

std::vector<TensorDesc> infer_gradient(const ProxyNormAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_proxy(inputs[0], "a proxy");
    expect_type(inputs[1], DType::f32, "the gradient of a proxy");
    expect_shape(inputs[1], inputs[0].shape, "the gradient of a proxy");
    expect_same(inputs[2], {DType::f32, {}}, "loss_scaling and f32[]");
    return {inputs[1]};
}

void evaluate_gradient(const ProxyNormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const auto channels = static_cast<std::size_t>(inputs[0]->desc.shape[3]);
    const std::vector<double>& proxy = inputs[0]->values;
    const std::vector<double>& arriving = inputs[1]->values;
    const double loss_scaling = inputs[2]->values[0];
    for (std::size_t c = 0; c < channels; ++c) {
        const auto through = ProxySample(a, *inputs[0], c)
                                 .gradient(arriving[proxy_row::mean * channels + c],
                                           arriving[proxy_row::inverse_deviation * channels + c]);
        for (const auto row : {proxy_row::beta, proxy_row::gamma, proxy_row::proxy_beta, proxy_row::proxy_gamma}) {
            const std::size_t i = row * channels + c;
            const double weight_decay =
                row == proxy_row::proxy_beta || row == proxy_row::proxy_gamma ? a.weight_decay * loss_scaling : 0;
            outputs[0].values[i] = arriving[i] + through[row] + weight_decay * proxy[i];
        }
    }
}

std::vector<TensorDesc> infer_statistics(const ProxyNormAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_proxy(inputs[0], "a proxy");
    return {};
}

void evaluate_statistics(const ProxyNormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const auto channels = static_cast<std::size_t>(inputs[0]->desc.shape[3]);
    outputs[0].values = inputs[0]->values;
    for (std::size_t c = 0; c < channels; ++c) {
        const ProxySample sample(a, *inputs[0], c);
        outputs[0].values[proxy_row::mean * channels + c] = sample.mean();
        outputs[0].values[proxy_row::inverse_deviation * channels + c] = sample.inverse_deviation();
    }
}

// ---- attributes as text ----

void describe_standardise(const StandardiseAttrs& a, AttrText& text) {
    text.flag("mean", a.mean);
    text.flag("scale", a.scale);
}

void describe_proxy(const ProxyNormAttrs& a, AttrText& text) {
    text.activation(a.activation);
    text.item("epsilon", a.epsilon);
    text.item("weight decay", a.weight_decay);
    text.shape("rows", a.rows);
}

}  // namespace

std::vector<OpDef> proxy_norm_ops() {
    return {
        {.kind = OpKind::standardise,
         .inputs = {{Layout::same}, {}},
         .results = {Layout::same},
         .infer = typed<infer_standardise>,
         .gradient = standardise_gradient,
         .flops = flops_per_input<2>,
         .evaluate = typed<evaluate_standardise>,
         .describe = typed<describe_standardise>,
         .by_sample = always},
        {.kind = OpKind::standardise_grad,
         .inputs = {{Layout::same}, {}, {Layout::same}},
         .results = {Layout::same, Layout::plain},
         .infer = typed<infer_standardise_grad>,
         .flops = flops_per_input<4>,
         .evaluate = typed<evaluate_standardise_grad>,
         .describe = typed<describe_standardise>},
        {.kind = OpKind::proxy_norm_rows,
         .follows_weights = true,
         .infer = typed<infer_rows>,
         .gradient = rows_gradient,
         .evaluate = evaluate_rows,
         .describe = typed<describe_proxy>},
        {.kind = OpKind::proxy_norm_rows_grad,
         .infer = typed<infer_rows_grad>,
         .evaluate = typed<evaluate_rows_grad>,
         .describe = typed<describe_proxy>},
        {.kind = OpKind::proxy_norm_gradient,
         .infer = typed<infer_gradient>,
         .flops = flops_per_input<20 * kProxySamples / kProxyRows>,
         .evaluate = typed<evaluate_gradient>,
         .describe = typed<describe_proxy>},
        {.kind = OpKind::proxy_norm_statistics,
         .inputs = {{.use = Use::target}},
         .infer = typed<infer_statistics>,
         .flops = flops_per_input<10 * kProxySamples / kProxyRows>,
         .evaluate = typed<evaluate_statistics>,
         .describe = typed<describe_proxy>},
    };
}

}  // namespace cnntrain::ops
