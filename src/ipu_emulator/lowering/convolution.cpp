#include <algorithm>
#include <numeric>
#include <poplin/ConvParams.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>

#include "ipu_emulator/lowering/conv_geometry.h"
#include "ipu_emulator/lowering/products.h"
#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/numerics/random.h"

namespace poplin {

using Transform = ConvParams::InputTransform;

namespace {

/// Size after truncation, dilation and padding.
std::size_t transformed(std::size_t size, const Transform& t, std::size_t dim) {
    const std::size_t kept = size - t.truncationLower[dim] - t.truncationUpper[dim];
    const std::size_t dilated = kept == 0 ? 0 : (kept - 1) * t.dilation[dim] + 1;
    return dilated + t.paddingLower[dim] + t.paddingUpper[dim];
}

/// Positions of the convolution before the output's transform.
std::size_t valid_positions(const ConvParams& params, std::size_t dim) {
    const std::size_t input = transformed(params.inputFieldShape[dim], params.inputTransform, dim);
    const std::size_t kernel = transformed(params.kernelShape[dim], params.kernelTransform, dim);
    ipu_emulator::require(
        kernel <= input, "poplin::ConvParams",
        "a kernel of " + std::to_string(kernel) + " is larger than the padded input of " + std::to_string(input));
    return input - kernel + 1;
}

}  // namespace

std::vector<std::size_t> ConvParams::getOutputFieldShape() const {
    std::vector<std::size_t> shape;
    const OutputTransform& t = outputTransform;
    for (std::size_t dim = 0; dim < inputFieldShape.size(); ++dim) {
        const std::size_t kept = valid_positions(*this, dim) - t.truncationLower[dim] - t.truncationUpper[dim];
        shape.push_back((kept + t.stride[dim] - 1) / t.stride[dim] + t.paddingLower[dim] + t.paddingUpper[dim]);
    }
    return shape;
}

ConvParams getGradientParams(const ConvParams& params) {
    ConvParams result(params.inputType, params.outputType, params.batchSize, params.getOutputFieldShape(),
                      params.kernelShape, params.outputChannelsPerGroup, params.inputChannelsPerGroup,
                      params.numConvGroups);
    const Transform& in = params.inputTransform;
    const ConvParams::OutputTransform& out = params.outputTransform;
    // The kernel is reversed: what was below is above.
    result.kernelTransform = params.kernelTransform;
    std::swap(result.kernelTransform.truncationLower, result.kernelTransform.truncationUpper);
    std::swap(result.kernelTransform.paddingLower, result.kernelTransform.paddingUpper);
    result.inputTransform.truncationLower = out.paddingLower;
    result.inputTransform.truncationUpper = out.paddingUpper;
    result.inputTransform.dilation = out.stride;
    result.outputTransform.truncationLower = in.paddingLower;
    result.outputTransform.truncationUpper = in.paddingUpper;
    result.outputTransform.stride = in.dilation;
    result.outputTransform.paddingLower = in.truncationLower;
    result.outputTransform.paddingUpper = in.truncationUpper;
    for (std::size_t dim = 0; dim < params.getNumFieldDims(); ++dim) {
        ipu_emulator::require(!in.flip[dim], "poplin::getGradientParams", "the input is flipped");
        const auto kernel = static_cast<unsigned>(transformed(params.kernelShape[dim], params.kernelTransform, dim));
        const std::size_t kept = valid_positions(params, dim) - out.truncationLower[dim] - out.truncationUpper[dim];
        // Positions after the last one that the stride reaches.
        const auto unreached = static_cast<unsigned>((kept - 1) % out.stride[dim]);
        result.inputTransform.paddingLower[dim] = kernel - 1 + out.truncationLower[dim];
        result.inputTransform.paddingUpper[dim] = kernel - 1 + out.truncationUpper[dim] + unreached;
    }
    return result;
}

}  // namespace poplin

namespace ipu_emulator {
namespace {

/// Source of each position of a transformed operand; -1: a zero.
std::vector<int> sources(std::size_t size, const poplin::ConvParams::InputTransform& t, std::size_t dim) {
    const std::size_t lower = t.truncationLower[dim];
    const std::size_t kept = size - lower - t.truncationUpper[dim];
    std::vector<int> result(t.paddingLower[dim], -1);
    for (std::size_t i = 0; i < kept; ++i) {
        if (i != 0) result.insert(result.end(), t.dilation[dim] - 1, -1);
        result.push_back(static_cast<int>(lower + i));
    }
    result.insert(result.end(), t.paddingUpper[dim], -1);
    if (t.flip[dim]) std::ranges::reverse(result);
    return result;
}

}  // namespace

FieldAxis field_axis(const poplin::ConvParams& params, std::size_t dim) {
    const std::vector<int> input = sources(params.inputFieldShape[dim], params.inputTransform, dim);
    const std::vector<int> kernel = sources(params.kernelShape[dim], params.kernelTransform, dim);
    const auto& t = params.outputTransform;
    FieldAxis axis{.input = params.inputFieldShape[dim],
                   .output = params.getOutputFieldShape()[dim],
                   .kernel = params.kernelShape[dim]};
    axis.source.assign(axis.output * axis.kernel, -1);
    const std::size_t strided = axis.output - t.paddingLower[dim] - t.paddingUpper[dim];
    for (std::size_t i = 0; i < strided; ++i) {
        const std::size_t position = t.truncationLower[dim] + i * t.stride[dim];
        for (std::size_t k = 0; k < kernel.size(); ++k) {
            if (kernel[k] < 0) continue;
            const std::size_t out = t.paddingLower[dim] + i;
            axis.source[out * axis.kernel + static_cast<std::size_t>(kernel[k])] = input[position + k];
        }
    }
    // Outputs that read the same kernel positions lie together, so that kernels leave out zeros of dilated inputs.
    axis.order.resize(axis.output);
    std::iota(axis.order.begin(), axis.order.end(), std::size_t{0});
    const auto reads = [&](std::size_t out) {
        std::vector<bool> result;
        for (std::size_t k = 0; k < axis.kernel; ++k)
            result.push_back(axis.source[out * axis.kernel + k] >= 0);
        return result;
    };
    if (params.inputTransform.dilation[dim] != 1)
        std::ranges::stable_sort(axis.order, [&](std::size_t a, std::size_t b) { return reads(a) < reads(b); });
    return axis;
}

namespace {

using poplar::Tensor;
using poplin::ConvParams;

constexpr std::size_t kBlockRows = 48;      // outputs that one task computes, at least
constexpr std::size_t kBlockDepth = 512;    // positions whose gradients stay in the first cache; a multiple of kGroup
constexpr std::size_t kBlockChannels = 48;  // input channels of a task of weight gradients; a multiple of kRows

/// Sizes of a convolution, its field as two dimensions.
struct ConvShape {
    std::size_t batch = 1;
    std::size_t groups = 1;
    std::size_t in = 1;   // channels of a group
    std::size_t out = 1;  // channels of a group
    FieldAxis y = {};
    FieldAxis x = {};

    std::size_t all_in() const { return groups * in; }
    std::size_t all_out() const { return groups * out; }
    std::size_t kernel() const { return y.kernel * x.kernel; }
    std::size_t positions() const { return batch * y.output * x.output; }
    std::size_t full_groups() const { return in / kGroup * kernel(); }
    std::size_t rest() const { return in % kGroup; }
    std::size_t row_groups() const { return full_groups() + (rest() != 0 ? kernel() : 0); }
};

ConvShape conv_shape(const ConvParams& params, const std::string& name) {
    const std::size_t dims = params.getNumFieldDims();
    require(dims >= 1 && dims <= 2, name, "expected a field of one or two dimensions, got " + std::to_string(dims));
    ConvShape shape{.batch = params.batchSize,
                    .groups = params.numConvGroups,
                    .in = params.inputChannelsPerGroup,
                    .out = params.outputChannelsPerGroup};
    shape.x = field_axis(params, dims - 1);
    if (dims == 2) shape.y = field_axis(params, 0);
    return shape;
}

std::vector<std::size_t> activation_shape(const ConvParams& params, bool output) {
    const std::size_t channels = output ? params.outputChannelsPerGroup : params.inputChannelsPerGroup;
    std::vector<std::size_t> shape{params.batchSize, params.numConvGroups * channels};
    const std::vector<std::size_t> field = output ? params.getOutputFieldShape() : params.inputFieldShape;
    shape.insert(shape.end(), field.begin(), field.end());
    return shape;
}

std::vector<std::size_t> weight_shape(const ConvParams& params) {
    std::vector<std::size_t> shape{params.numConvGroups, params.outputChannelsPerGroup, params.inputChannelsPerGroup};
    shape.insert(shape.end(), params.kernelShape.begin(), params.kernelShape.end());
    return shape;
}

/// [groups][out][in][kernel...] as [groups][kernel...][in][out].
Tensor kernel_order(const Tensor& weights) {
    const auto rank = static_cast<unsigned>(weights.rank());
    std::vector<unsigned> order{0};
    for (unsigned dim = 3; dim < rank; ++dim)
        order.push_back(dim);
    order.push_back(2);
    order.push_back(1);
    return weights.dimShuffle(order);
}

/// [groups][out][in][kernel...] as the weights of the input's gradient.
Tensor transposed_flipped(const Tensor& weights) {
    Tensor result = weights.dimShufflePartial({1, 2}, {2, 1});
    for (unsigned dim = 3; dim < weights.rank(); ++dim)
        result = result.reverse(dim);
    return result;
}

Tensor new_weights(poplar::Graph& graph, poplar::Type type, const ConvParams& params, const std::string& name) {
    std::vector<std::size_t> shape{params.numConvGroups};
    shape.insert(shape.end(), params.kernelShape.begin(), params.kernelShape.end());
    shape.push_back(params.inputChannelsPerGroup);
    shape.push_back(params.outputChannelsPerGroup);
    const auto rank = static_cast<unsigned>(shape.size());
    std::vector<unsigned> order{0, rank - 1, rank - 2};
    for (unsigned dim = 1; dim + 2 < rank; ++dim)
        order.push_back(dim);
    return new_tensor(graph, type, shape, name).dimShuffle(order);
}

void check_operand(const std::string& name, const std::string& what, const Tensor& t,
                   const std::vector<std::size_t>& shape, poplar::Type type) {
    require(t.shape() == shape, name, what + " are " + t.shapeToString() + ", expected " + shape_text(shape));
    require(t.elementType() == type, name,
            what + " are " + t.elementType().toString() + ", expected " + type.toString());
}

/// Weights [groups][kernel][in][out] as panels: depth is channels in groups of 16, then kernel positions, then
/// channels.
const float* pack_weights(OpRun& run, const ConvShape& s) {
    const float* weights = load_all(run, run.read(1));
    const std::size_t panels = (s.out + kPanel - 1) / kPanel;
    const std::size_t depth = s.kernel() * s.in;
    auto* packed = run.scratch<float>(s.groups * panels * depth * kPanel);
    run.parallel(s.groups * panels, [&](std::size_t task) {
        const std::size_t group = task / panels;
        const std::size_t first = task % panels * kPanel;
        const std::size_t columns = std::min(kPanel, s.out - first);
        float* to = packed + task * depth * kPanel;
        for (std::size_t channel = 0; channel < s.in; channel += kGroup) {
            const std::size_t length = std::min(kGroup, s.in - channel);
            for (std::size_t k = 0; k < s.kernel(); ++k) {
                const float* from = weights + ((group * s.kernel() + k) * s.in + channel) * s.out + first;
                for (std::size_t i = 0; i < length; ++i, to += kPanel, from += s.out) {
                    std::copy_n(from, columns, to);
                    std::fill(to + columns, to + kPanel, 0.0f);
                }
            }
        }
    });
    return packed;
}

/// The inputs of one output: a pointer for each group of channels and kernel position.
void point_at_inputs(const ConvShape& s, const float* image, std::size_t oy, std::size_t ox, const float* zeros,
                     const float** to) {
    const int* ys = &s.y.source[oy * s.y.kernel];
    const int* xs = &s.x.source[ox * s.x.kernel];
    for (std::size_t channel = 0; channel < s.in; channel += kGroup) {
        for (std::size_t ky = 0; ky < s.y.kernel; ++ky) {
            const float* line =
                image + static_cast<std::size_t>(std::max(ys[ky], 0)) * s.x.input * s.all_in() + channel;
            for (std::size_t kx = 0; kx < s.x.kernel; ++kx) {
                const bool inside = ys[ky] >= 0 && xs[kx] >= 0;
                *to++ = inside ? line + static_cast<std::size_t>(xs[kx]) * s.all_in() : zeros;
            }
        }
    }
}

/// Lines [first, first + lines) of the output, all channels.
void forward_block(OpRun& run, const ConvShape& s, const PartialPolicy& policy, const float* input,
                   const float* weights, const float* zeros, std::size_t first, std::size_t lines) {
    LocalScratch local;
    const std::size_t rows = lines * s.x.output;
    const std::size_t panels = (s.out + kPanel - 1) / kPanel;
    const std::size_t first_element = first * s.x.output * s.all_out();
    const float** left = local.take<const float*>(rows * s.row_groups());
    float* sums = local.take<float>(rows * panels * kPanel);
    const bool dense = s.groups == 1 && s.out % kPanel == 0;
    float* result = dense ? sums : local.take<float>(rows * s.all_out());
    const auto place = [&](std::size_t r) { return r / s.x.output * s.x.output + s.x.order[r % s.x.output]; };
    for (std::size_t group = 0; group < s.groups; ++group) {
        for (std::size_t r = 0; r < rows; ++r) {
            const std::size_t line = first + r / s.x.output;
            const float* image = input + line / s.y.output * s.y.input * s.x.input * s.all_in() + group * s.in;
            point_at_inputs(s, image, line % s.y.output, place(r) % s.x.output, zeros, left + r * s.row_groups());
        }
        const std::size_t depth = s.kernel() * s.in;
        const PackedColumns right{.data = weights + group * panels * depth * kPanel,
                                  .columns = s.out,
                                  .full = {s.full_groups(), kGroup},
                                  .rest = {s.rest() != 0 ? s.kernel() : 0, s.rest()}};
        std::fill_n(sums, rows * panels * kPanel, 0.0f);
        const ProductRounding rounding = product_rounding(run, policy, first_element + group * s.out);
        if (multiply_rows(right, left, rows, zeros, sums, rounding, place)) run.report(kOverflowed);
        for (std::size_t r = 0; !dense && r < rows; ++r)
            std::copy_n(sums + r * panels * kPanel, s.out, result + r * s.all_out() + group * s.out);
    }
    run.write().store(first_element, rows * s.all_out(), result);
}

/// `count` zeros.
float* zeroed(OpRun& run, std::size_t count) {
    auto* values = run.scratch<float>(count);
    std::fill_n(values, count, 0.0f);
    return values;
}

void run_forward(OpRun& run, const ConvShape& s, const PartialPolicy& policy) {
    const float* input = load_all(run, run.read(0));
    const float* weights = pack_weights(run, s);
    const float* zeros = zeroed(run, kGroup);
    const std::size_t lines = std::max<std::size_t>(1, kBlockRows / s.x.output);
    run.in_pieces(s.batch * s.y.output, lines, [&](std::size_t first, std::size_t count) {
        forward_block(run, s, policy, input, weights, zeros, first, count);
    });
}

/// The inputs that kernel position (ky, kx) multiplies at `count` outputs from `first` on.
void point_at_positions(const ConvShape& s, const float* input, std::size_t ky, std::size_t kx, std::size_t first,
                        std::size_t count, const float* zeros, const float** to) {
    std::size_t ox = first % s.x.output;
    std::size_t line = first / s.x.output;
    while (count != 0) {
        const int iy = s.y.source[line % s.y.output * s.y.kernel + ky];
        const std::size_t image = line / s.y.output * s.y.input + static_cast<std::size_t>(std::max(iy, 0));
        const float* row = input + image * s.x.input * s.all_in();
        for (; ox < s.x.output && count != 0; ++ox, --count) {
            const int ix = s.x.source[ox * s.x.kernel + kx];
            *to++ = iy >= 0 && ix >= 0 ? row + static_cast<std::size_t>(ix) * s.all_in() : zeros;
        }
        ox = 0;
        ++line;
    }
}

/// Gradients of the weights of channels [first, first + count) at one kernel position of one group.
void weight_block(OpRun& run, const ConvShape& s, const PartialPolicy& policy, const float* input,
                  const float* gradients, const float* zeros, std::size_t slot, std::size_t first, std::size_t count) {
    LocalScratch local;
    const std::size_t group = slot / s.kernel();
    const std::size_t k = slot % s.kernel();
    const std::size_t panels = (s.out + kPanel - 1) / kPanel;
    const std::size_t width = panels * kPanel;
    const std::size_t first_element = (slot * s.in + first) * s.out;
    const float** left = local.take<const float*>(kBlockDepth);
    float* sums = local.take<float>(count * width);
    std::fill_n(sums, count * width, 0.0f);
    ProductRounding rounding = product_rounding(run, policy, first_element);
    bool overflowed = false;
    for (std::size_t begin = 0; begin < s.positions(); begin += kBlockDepth) {
        const std::size_t depth = std::min(kBlockDepth, s.positions() - begin);
        point_at_positions(s, input + group * s.in, k / s.x.kernel, k % s.x.kernel, begin, depth, zeros, left);
        const Depth full{depth / kGroup, kGroup};
        const Depth rest{depth % kGroup != 0 ? std::size_t{1} : 0, depth % kGroup};
        for (std::size_t channel = 0; channel < count; channel += kRows) {
            for (std::size_t panel = 0; panel < panels; ++panel) {
                float* block[kRows];
                const std::size_t rows = std::min(kRows, count - channel);
                for (std::size_t r = 0; r < rows; ++r)
                    block[r] = sums + (channel + r) * width + panel * kPanel;
                const float* b = gradients + ((group * panels + panel) * s.positions() + begin) * kPanel;
                rounding.key = mix(rounding.key);
                overflowed |= add_products_by_depth(left, first + channel, b, full, {block, rows}, rounding);
                overflowed |= add_products_by_depth(left + full.groups * kGroup, first + channel,
                                                    b + full.groups * kGroup * kPanel, rest, {block, rows}, rounding);
            }
        }
    }
    if (overflowed) run.report(kOverflowed);
    float* result = local.take<float>(count * s.out);
    for (std::size_t r = 0; r < count; ++r)
        std::copy_n(sums + r * width, s.out, result + r * s.out);
    run.write().store(first_element, count * s.out, result);
}

void run_weight_gradient(OpRun& run, const ConvShape& s, const PartialPolicy& policy) {
    const float* gradients = pack_columns(run, {.from = load_all(run, run.read(0)),
                                                .groups = s.groups,
                                                .depth = s.positions(),
                                                .columns = s.out,
                                                .group_stride = s.out,
                                                .row_stride = s.all_out()});
    const float* input = load_all(run, run.read(1));
    const float* zeros = zeroed(run, s.in + kRows);
    const std::size_t blocks = (s.in + kBlockChannels - 1) / kBlockChannels;
    run.parallel(s.groups * s.kernel() * blocks, [&](std::size_t task) {
        const std::size_t first = task % blocks * kBlockChannels;
        weight_block(run, s, policy, input, gradients, zeros, task / blocks, first,
                     std::min(kBlockChannels, s.in - first));
    });
}

}  // namespace
}  // namespace ipu_emulator

namespace poplin {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor createWeights(poplar::Graph& graph, const ConvParams& params, const poplar::DebugContext& debugContext,
                     const poplar::OptionFlags& options, PlanningCache* cache) {
    conv_policy(options, params.inputType);
    note_plan(cache, params, options, "forward");
    return new_weights(graph, params.inputType, params, op_name(debugContext, "weights"));
}

Tensor createInput(poplar::Graph& graph, const ConvParams& params, const poplar::DebugContext& debugContext,
                   const poplar::OptionFlags& options, PlanningCache* cache) {
    conv_policy(options, params.inputType);
    note_plan(cache, params, options, "forward");
    return new_activations(graph, params.inputType, activation_shape(params, false), op_name(debugContext, "input"));
}

Tensor convolution(poplar::Graph& graph, const Tensor& in, const Tensor& weights, const ConvParams& params,
                   bool transposeAndFlipWeights, Sequence& prog, const poplar::DebugContext& debugContext,
                   const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "convolution");
    const PartialPolicy policy = conv_policy(options, params.inputType);
    const Tensor kernel = transposeAndFlipWeights ? transposed_flipped(weights) : weights;
    check_operand(name, "activations", in, activation_shape(params, false), params.inputType);
    check_operand(name, "weights", kernel, weight_shape(params), params.inputType);
    note_plan(cache, params, options, "forward");
    Tensor out = new_activations(graph, params.outputType, activation_shape(params, true), name);
    add_op(prog, {.name = name,
                  .reads = {channels_last(in), kernel_order(kernel)},
                  .writes = {channels_last(out)},
                  .draws = draws_of(policy),
                  .run = [s = conv_shape(params, name), policy](OpRun& run) { run_forward(run, s, policy); }});
    return out;
}

Tensor calculateWeightDeltas(poplar::Graph& graph, const Tensor& zDeltas, const Tensor& activations,
                             const ConvParams& params, Sequence& prog, const poplar::DebugContext& debugContext,
                             const poplar::OptionFlags& options, PlanningCache* cache) {
    const std::string name = op_name(debugContext, "calculateWeightDeltas");
    const PartialPolicy policy = conv_policy(options, params.inputType);
    check_operand(name, "gradients", zDeltas, activation_shape(params, true), params.inputType);
    check_operand(name, "activations", activations, activation_shape(params, false), params.inputType);
    note_plan(cache, params, options, "update");
    Tensor out = new_weights(graph, params.outputType, params, name);
    add_op(prog, {.name = name,
                  .reads = {channels_last(zDeltas), channels_last(activations)},
                  .writes = {kernel_order(out)},
                  .draws = draws_of(policy),
                  .run = [s = conv_shape(params, name), policy](OpRun& run) { run_weight_gradient(run, s, policy); }});
    return out;
}

}  // namespace poplin
