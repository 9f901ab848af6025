// Normalisation: own kernels, in place where a value dies, residual addition and activation fused.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "backend/cpu/kernels/tokens.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/sums.h"
#include "backend/cpu/run/exchange.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::FoldNormAttrs;
using graph::LayerNormAttrs;
using graph::NormAttrs;
using graph::ValueId;

namespace {

const char* const kNormReason = "operands of one elementwise sweep lie alike";

/// Operands that the three forward ops share.
struct ForwardOperands {
    Placed x, gamma, beta, residual, mean, variance, y, sums;
    PlacedStatistics statistics;  // of x
};

template <typename T> NormForward<T> forward_arguments(const ForwardOperands& at, const NormAttrs& attrs) {
    NormForward<T> args;
    args.x = at.x.as<T>();
    args.gamma = at.gamma.as<float>();
    args.beta = at.beta.as<float>();
    args.residual = at.residual.as<T>();
    args.mean = at.mean.as<float>();
    args.variance = at.variance.as<float>();
    args.y = at.y.as<T>();
    args.sums = at.sums.as<float>();
    if (at.statistics.values) args.parts = {at.statistics.values.as<float>(), at.statistics.pixels};
    args.epsilon = attrs.epsilon;
    args.activation = attrs.activation;
    return args;
}

/// Places x, gamma, beta and the residual (input number `residual_at`). The result overwrites the residual or x if
/// they die here.
ForwardOperands place_forward(const NodeContext& lower, std::size_t residual_at) {
    const auto& attrs = lower.node.as<NormAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    ForwardOperands at;
    at.x = lower.values.operand(inputs[0]);
    at.gamma = lower.values.float_vector(inputs[1]);
    at.beta = lower.values.float_vector(inputs[2]);
    if (attrs.residual) {
        at.residual = lower.values.operand_as(inputs[residual_at], at.x.desc, kNormReason);
        if (lower.values.dies_here(inputs[residual_at], at.x.desc)) {
            at.y = lower.values.define_over(y, at.x.desc, inputs[residual_at]);
            return at;
        }
    }
    at.y = lower.values.define_or_reuse(y, at.x.desc, inputs[0]);
    return at;
}

/// Normalises with statistics over the micro-batches of several ranks.
template <typename T> void shared_batch_norm_forward(const Blocks& shape, const NormForward<T>& args,
                                                     NormExchange& norms, std::span<float> scratch) {
    const auto channels = static_cast<std::size_t>(shape.channels());
    channel_statistics(shape, args.x, args.parts, args.mean, args.variance, scratch);
    norms.merge_moments({args.mean, channels}, {args.variance, channels});
    norm_inference(shape, 0, args, scratch);
}

void lower_training_norm(const NodeContext& lower, std::int64_t groups) {
    const auto& attrs = lower.node.as<NormAttrs>();
    const auto& outputs = lower.node.outputs;
    ForwardOperands at = place_forward(lower, 3);
    at.statistics = lower.values.statistics(lower.node.inputs[0]);
    at.mean = lower.values.define(outputs[1]);
    at.variance = lower.values.define(outputs[2]);
    const Blocks shape = blocks_of(at.x);
    if (lower.values.is_averaged(outputs[0])) {
        const std::int64_t parts = norm_sum_parts(shape);
        at.sums = lower.steps.temporary_floats("sums", parts * shape.n * shape.channels());
        lower.values.pixel_sums(outputs[0]) = {at.sums, parts};
    }
    const auto scratch = lower.steps.scratch_floats(norm_scratch_floats(shape, groups));
    add_typed(lower, at.x.dtype, at.statistics.values ? "kernel: statistics of conv2d" : "kernel",
              present({at.x, at.gamma, at.beta, at.residual, at.statistics.values}),
              present({at.y, at.mean, at.variance, at.sums}),
              [at, attrs, shape, groups, scratch]<typename T>(const StepContext& context) {
                  const auto args = forward_arguments<T>(at, attrs);
                  if (groups > 0) {
                      group_norm_forward(shape, groups, args, scratch());
                  } else if (context.norms != nullptr) {
                      shared_batch_norm_forward(shape, args, *context.norms, scratch());
                  } else {
                      batch_norm_forward(shape, args, scratch());
                  }
              });
}

void lower_batch_norm(const NodeContext& lower) {
    lower_training_norm(lower, 0);
}

void lower_group_norm(const NodeContext& lower) {
    lower_training_norm(lower, lower.node.as<NormAttrs>().groups);
}

void lower_norm_inference(const NodeContext& lower) {
    const auto& attrs = lower.node.as<NormAttrs>();
    ForwardOperands at = place_forward(lower, 5);
    at.mean = lower.values.float_vector(lower.node.inputs[3]);
    at.variance = lower.values.float_vector(lower.node.inputs[4]);
    const Blocks shape = blocks_of(at.x);
    const std::int64_t groups = lower.node.kind == graph::OpKind::group_norm_inference ? attrs.groups : 0;
    const auto scratch = lower.steps.scratch_floats(norm_scratch_floats(shape, groups));
    add_typed(lower, at.x.dtype, "kernel", present({at.x, at.gamma, at.beta, at.residual, at.mean, at.variance}),
              {at.y}, [at, attrs, shape, groups, scratch]<typename T>(const StepContext&) {
                  norm_inference(shape, groups, forward_arguments<T>(at, attrs), scratch());
              });
}

struct GradientOperands {
    Placed x, gamma, beta, mean, variance, dy, dy2, gate, spread, y, dx, dgamma, dbeta, dresidual;
};

/// The values that a norm's gradient sums to dy.
std::span<const ValueId> incoming(const graph::Node& gradient) {
    return std::span(gradient.inputs).subspan(5, gradient.as<NormAttrs>().summed_gradient ? 2 : 1);
}

/// Places dy and its parts. At most one of the values is a product with gates, and at most one is spread.
void place_incoming(const NodeContext& lower, GradientOperands& at) {
    for (const ValueId value : incoming(lower.node)) {
        if (const Placed vector = lower.values.spread(value)) {
            at.spread = vector;
            continue;
        }
        const Placed tensor = lower.values.operand_as(value, at.x.desc, kNormReason);
        const std::optional<GatedValue> gated = lower.values.gated(value);
        if (at.dy) at.dy2 = gated ? at.dy : tensor;
        if (gated) at.gate = gated->gate;
        if (!at.dy || gated) at.dy = tensor;
    }
}

template <typename T> NormGradient<T> gradient_arguments(const GradientOperands& at, const NormAttrs& attrs) {
    NormGradient<T> args;
    args.x = at.x.as<T>();
    args.dy = at.dy.as<T>();
    args.dy2 = at.dy2.as<T>();
    args.gate = at.gate.as<T>();
    args.spread = at.spread.as<T>();
    args.y = at.y.as<T>();
    args.gamma = at.gamma.as<float>();
    args.beta = at.beta.as<float>();
    args.mean = at.mean.as<float>();
    args.variance = at.variance.as<float>();
    args.dx = at.dx.as<T>();
    args.dresidual = at.dresidual.as<T>();
    args.dgamma = at.dgamma.as<float>();
    args.dbeta = at.dbeta.as<float>();
    args.epsilon = attrs.epsilon;
    args.activation = attrs.activation;
    args.given_statistics = attrs.given_statistics;
    return args;
}

/// The gradients are written over tensors that die here: dresidual over a dy, dx over x or the other dy.
void place_gradient_results(const NodeContext& lower, GradientOperands& at, std::vector<ValueId> reusable) {
    const auto& outputs = lower.node.outputs;
    const Desc layout = at.x.desc;
    const auto place = [&](ValueId result) {
        for (auto candidate = reusable.begin(); candidate != reusable.end(); ++candidate) {
            if (!lower.values.dies_here(*candidate, layout)) continue;
            const ValueId dying = *candidate;
            reusable.erase(candidate);
            return lower.values.define_over(result, layout, dying);
        }
        return lower.values.define(result, layout);
    };
    if (outputs.size() > 3) at.dresidual = place(outputs[3]);
    at.dx = place(outputs[0]);
    at.dgamma = lower.values.define(outputs[1]);
    at.dbeta = lower.values.define(outputs[2]);
}

void lower_norm_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<NormAttrs>();
    const auto& inputs = lower.node.inputs;
    const std::int64_t groups = lower.node.kind == graph::OpKind::group_norm_grad ? attrs.groups : 0;
    GradientOperands at;
    at.x = lower.values.operand(inputs[0]);
    at.gamma = lower.values.float_vector(inputs[1]);
    at.beta = lower.values.float_vector(inputs[2]);
    at.mean = lower.values.operand(inputs[3]);
    at.variance = lower.values.operand(inputs[4]);
    place_incoming(lower, at);
    const std::span<const ValueId> summands = incoming(lower.node);
    std::vector<ValueId> reusable(summands.begin(), summands.end());
    if (attrs.residual && attrs.activation != graph::Activation::none) {
        at.y = lower.values.operand_as(inputs[5 + summands.size()], at.x.desc, kNormReason);
    }
    reusable.push_back(inputs[0]);
    place_gradient_results(lower, at, reusable);

    const Blocks shape = blocks_of(at.x);
    const auto scratch = lower.steps.scratch_floats(norm_scratch_floats(shape, groups));
    add_typed(lower, at.x.dtype, "kernel",
              present({at.x, at.gamma, at.beta, at.mean, at.variance, at.dy, at.dy2, at.gate, at.spread, at.y}),
              present({at.dx, at.dgamma, at.dbeta, at.dresidual}),
              [at, attrs, shape, groups, scratch]<typename T>(const StepContext& context) {
                  auto args = gradient_arguments<T>(at, attrs);
                  if (!attrs.given_statistics) args.over_ranks = context.norms;
                  if (groups > 0) {
                      group_norm_gradient(shape, groups, args, scratch());
                  } else {
                      batch_norm_gradient(shape, args, scratch());
                  }
              });
}

void lower_fold_norm_weight(const NodeContext& lower) {
    const auto& attrs = lower.node.as<FoldNormAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId folded = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(folded);
    const Placed gamma = lower.values.float_vector(inputs[1]);
    const Placed variance = lower.values.float_vector(inputs[2]);
    const std::int64_t output_channels = desc.shape[3];
    const std::int64_t rows = desc.elements() / output_channels;
    // Row-major HWIO here; the convolution's own copy is made from it.
    const Placed weight = lower.weights.master(graph::strip_casts(lower.graph, inputs[0]));
    const Placed result = lower.values.define(folded, lower.layouts.row_major_desc(folded));
    with_float_type(weight.dtype, [&]<typename In>() {
        with_float_type(result.dtype, [&]<typename Out>() {
            lower.steps.add("kernel", {weight, gamma, variance}, {result},
                            [weight, gamma, variance, result, rows, output_channels, attrs](const StepContext&) {
                                for (std::int64_t i = 0; i < rows * output_channels; ++i) {
                                    const std::int64_t c = i % output_channels;
                                    const double factor =
                                        gamma.as<float>()[c] / std::sqrt(variance.as<float>()[c] + attrs.epsilon);
                                    float w = 0;
                                    if constexpr (std::is_same_v<In, float>) {
                                        w = weight.as<float>()[i];
                                    } else {
                                        w = to_float(weight.as<BFloat16>()[i]);
                                    }
                                    const auto value = static_cast<float>(w * factor);
                                    if constexpr (std::is_same_v<Out, float>) {
                                        result.as<float>()[i] = value;
                                    } else {
                                        result.as<BFloat16>()[i] = to_bfloat16(value);
                                    }
                                }
                            });
        });
    });
}

void lower_fold_norm_bias(const NodeContext& lower) {
    const auto& attrs = lower.node.as<FoldNormAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId bias = lower.node.outputs[0];
    const Placed gamma = lower.values.float_vector(inputs[0]);
    const Placed beta = lower.values.float_vector(inputs[1]);
    const Placed mean = lower.values.float_vector(inputs[2]);
    const Placed variance = lower.values.float_vector(inputs[3]);
    const Placed result = lower.values.define(bias);
    const std::int64_t channels = lower.graph.desc(bias).elements();
    lower.steps.add("kernel", {gamma, beta, mean, variance}, {result},
                    [gamma, beta, mean, variance, result, channels, attrs](const StepContext&) {
                        for (std::int64_t c = 0; c < channels; ++c) {
                            const double inverse = 1.0 / std::sqrt(variance.as<float>()[c] + attrs.epsilon);
                            result.as<float>()[c] = static_cast<float>(
                                beta.as<float>()[c] - mean.as<float>()[c] * gamma.as<float>()[c] * inverse);
                        }
                    });
}

// Layer norm, with the residual addition and dropout before it.

const char* const kRowsReason = "rows of one sweep lie alike";

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
    const Desc desc = row_major(lower.graph.desc(inputs[0]));
    const bool keeps_z = attrs.residual && is_read(lower.graph, outputs[3]);
    const Placed x = lower.values.in_order(inputs[0]);
    const Placed gamma = lower.values.float_vector(inputs[1]);
    const Placed beta = lower.values.float_vector(inputs[2]);
    const Placed residual = attrs.residual ? lower.values.in_order(inputs[3]) : Placed{};
    const Placed z = keeps_z ? lower.values.define_or_reuse(outputs[3], desc, inputs[0]) : Placed{};
    const Placed y =
        keeps_z ? lower.values.define(outputs[0], desc) : lower.values.define_or_reuse(outputs[0], desc, inputs[0]);
    const Placed mean = lower.values.define(outputs[1]);
    const Placed variance = lower.values.define(outputs[2]);
    const RowsShape shape = rows_shape(lower.graph.desc(inputs[0]));
    const ElementDropout base = dropout_of(lower, attrs);
    const auto scratch = lower.steps.scratch_floats(layer_norm_scratch_floats(shape));
    add_typed(lower, x.dtype, "kernel", present({x, gamma, beta, residual}), present({y, z, mean, variance}),
              [=, epsilon = static_cast<float>(attrs.epsilon)]<typename T>(const StepContext& context) {
                  ElementDropout dropout = base;
                  dropout.first_sample = context.first_sample;
                  layer_norm<T>(shape,
                                {.x = x.as<T>(),
                                 .residual = residual.as<T>(),
                                 .gamma = gamma.as<float>(),
                                 .beta = beta.as<float>(),
                                 .y = y.as<T>(),
                                 .z = z.as<T>(),
                                 .mean = mean.as<float>(),
                                 .variance = variance.as<float>(),
                                 .epsilon = epsilon,
                                 .dropout = dropout},
                                scratch());
              });
}

struct LayerNormGradientOperands {
    Placed z, gamma, mean, variance, dy, dy2, dz, dx, dgamma, dbeta;
};

LayerNormGradientOperands place_layer_norm_gradient(const NodeContext& lower, const LayerNormAttrs& attrs) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    LayerNormGradientOperands at;
    const Desc desc = row_major(lower.graph.desc(inputs[0]));
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
    at.dgamma = lower.values.define(outputs[1]);
    at.dbeta = lower.values.define(outputs[2]);
    return at;
}

void lower_layer_norm_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<LayerNormAttrs>();
    const LayerNormGradientOperands at = place_layer_norm_gradient(lower, attrs);
    const RowsShape shape = rows_shape(lower.graph.desc(lower.node.inputs[0]));
    const ElementDropout base = dropout_of(lower, attrs);
    const auto scratch = lower.steps.scratch_floats(layer_norm_scratch_floats(shape));
    add_typed(lower, at.z.dtype, "kernel", present({at.z, at.gamma, at.mean, at.variance, at.dy, at.dy2}),
              present({at.dz, at.dx, at.dgamma, at.dbeta}),
              [=, epsilon = static_cast<float>(attrs.epsilon)]<typename T>(const StepContext& context) {
                  ElementDropout dropout = base;
                  dropout.first_sample = context.first_sample;
                  layer_norm_grad<T>(shape,
                                     {.z = at.z.as<T>(),
                                      .dy = at.dy.as<T>(),
                                      .dy2 = at.dy2.as<T>(),
                                      .gamma = at.gamma.as<float>(),
                                      .mean = at.mean.as<float>(),
                                      .variance = at.variance.as<float>(),
                                      .dz = at.dz.as<T>(),
                                      .dx = at.dx.as<T>(),
                                      .dgamma = at.dgamma.as<float>(),
                                      .dbeta = at.dbeta.as<float>(),
                                      .epsilon = epsilon,
                                      .dropout = dropout},
                                     scratch());
              });
}

}  // namespace

bool is_left_to_norm(const NodeContext& lower, ValueId result) {
    const std::vector<graph::NodeId>& users = lower.graph.value(result).users;
    if (users.size() != 1 || !lower.values.may_alias(result)) return false;
    if (lower.walk.section_of(users.front()) != lower.walk.section()) return false;
    const graph::Node& reader = lower.graph.node(users.front());
    if (reader.kind != graph::OpKind::batch_norm_grad && reader.kind != graph::OpKind::group_norm_grad) return false;
    const std::span<const ValueId> summands = incoming(reader);
    if (std::ranges::find(summands, result) == summands.end()) return false;
    // One of them is a tensor, and one of each kind is enough.
    const bool is_spread = lower.node.kind == graph::OpKind::global_average_pool_grad;
    return std::ranges::none_of(summands, [&](ValueId other) {
        return is_spread ? summands.size() == 1 || lower.values.spread(other) : lower.values.gated(other).has_value();
    });
}

std::span<const LoweringEntry> norm_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::batch_norm, lower_batch_norm},
        {graph::OpKind::batch_norm_inference, lower_norm_inference},
        {graph::OpKind::batch_norm_grad, lower_norm_grad},
        {graph::OpKind::group_norm, lower_group_norm},
        {graph::OpKind::group_norm_inference, lower_norm_inference},
        {graph::OpKind::group_norm_grad, lower_norm_grad},
        {graph::OpKind::layer_norm, lower_layer_norm},
        {graph::OpKind::layer_norm_grad, lower_layer_norm_grad},
        {graph::OpKind::fold_norm_weight, lower_fold_norm_weight},
        {graph::OpKind::fold_norm_bias, lower_fold_norm_bias},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
