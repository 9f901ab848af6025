#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include <poplar/Type.hpp>

namespace poplin {

/// A convolution out[n][g Co + o][y] = sum over i, k of in[n][g Ci + i][y + k] weights[g][o][i][k], of transformed
/// operands. Input and kernel: truncated, then dilated, then padded with zeros, then flipped. Output: truncated, then
/// strided, then padded. Vectors have an entry for each dimension of the field.
struct ConvParams {
    struct InputTransform {
        std::vector<unsigned> truncationLower;
        std::vector<unsigned> truncationUpper;
        std::vector<unsigned> dilation;
        std::vector<unsigned> paddingLower;
        std::vector<unsigned> paddingUpper;
        std::vector<bool> flip;

        /// No transform.
        explicit InputTransform(std::size_t size)
            : truncationLower(size),
              truncationUpper(size),
              dilation(size, 1),
              paddingLower(size),
              paddingUpper(size),
              flip(size) {}
    };
    struct OutputTransform {
        std::vector<unsigned> truncationLower;
        std::vector<unsigned> truncationUpper;
        std::vector<unsigned> stride;
        std::vector<unsigned> paddingLower;
        std::vector<unsigned> paddingUpper;

        /// No transform.
        explicit OutputTransform(std::size_t size)
            : truncationLower(size), truncationUpper(size), stride(size, 1), paddingLower(size), paddingUpper(size) {}
    };

    ConvParams(poplar::Type inputType_, poplar::Type outputType_, std::size_t batchSize_,
               // NOLINTNEXTLINE(performance-unnecessary-value-param): as in Poplar; its size is read, too
               std::vector<std::size_t> inputFieldShape_, std::vector<std::size_t> kernelShape_,
               std::size_t inputChannelsPerGroup_, std::size_t outputChannelsPerGroup_, std::size_t numConvGroups_)
        : ConvParams(inputType_, outputType_, batchSize_, inputFieldShape_, std::move(kernelShape_),
                     inputChannelsPerGroup_, outputChannelsPerGroup_, numConvGroups_,
                     InputTransform(inputFieldShape_.size()), InputTransform(inputFieldShape_.size()),
                     OutputTransform(inputFieldShape_.size())) {}
    ConvParams(poplar::Type inputType_, poplar::Type outputType_, std::size_t batchSize_,
               std::vector<std::size_t> inputFieldShape_, std::vector<std::size_t> kernelShape_,
               std::size_t inputChannelsPerGroup_, std::size_t outputChannelsPerGroup_, std::size_t numConvGroups_,
               InputTransform inputTransform_, InputTransform kernelTransform_, OutputTransform outputTransform_)
        : inputType(inputType_),
          outputType(outputType_),
          batchSize(batchSize_),
          inputFieldShape(std::move(inputFieldShape_)),
          kernelShape(std::move(kernelShape_)),
          inputChannelsPerGroup(inputChannelsPerGroup_),
          outputChannelsPerGroup(outputChannelsPerGroup_),
          numConvGroups(numConvGroups_),
          inputTransform(std::move(inputTransform_)),
          kernelTransform(std::move(kernelTransform_)),
          outputTransform(std::move(outputTransform_)) {}

    std::size_t getNumFieldDims() const { return inputFieldShape.size(); }
    std::vector<std::size_t> getOutputFieldShape() const;

    poplar::Type inputType;
    poplar::Type outputType;
    std::size_t batchSize;
    std::vector<std::size_t> inputFieldShape;
    std::vector<std::size_t> kernelShape;
    std::size_t inputChannelsPerGroup;
    std::size_t outputChannelsPerGroup;
    std::size_t numConvGroups;
    InputTransform inputTransform;
    InputTransform kernelTransform;
    OutputTransform outputTransform;
};

}  // namespace poplin
