#include <poplin/ConvParams.hpp>
#include <poplin/ConvUtil.hpp>

#include <algorithm>
#include <numeric>

#include "ipu_emulator/lowering/conv_geometry.h"
#include "ipu_emulator/lowering/support.h"

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

}  // namespace ipu_emulator
