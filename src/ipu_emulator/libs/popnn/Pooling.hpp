#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popnn/PoolingDef.hpp>

namespace popnn::pooling {

/// Windows over [batch][channels][field...]. Negative padding truncates. Padding is never a maximum.
struct PoolParams {
    PoolParams(PoolingType poolingType_, std::vector<std::size_t> inputFieldShape_,
               std::vector<std::size_t> kernelShape_, std::vector<unsigned> stride_,
               std::vector<int> inputTruncationOrPaddingLower_, std::vector<int> inputTruncationOrPaddingUpper_,
               std::size_t numChannels_, std::size_t batchSize_, poplar::Type dType_)
        : poolingType(poolingType_),
          inputFieldShape(std::move(inputFieldShape_)),
          kernelShape(std::move(kernelShape_)),
          stride(std::move(stride_)),
          inputTruncationOrPaddingLower(std::move(inputTruncationOrPaddingLower_)),
          inputTruncationOrPaddingUpper(std::move(inputTruncationOrPaddingUpper_)),
          numChannels(numChannels_),
          batchSize(batchSize_),
          dType(dType_) {}

    std::vector<std::size_t> getOutputFieldShape() const;

    PoolingType poolingType;
    std::vector<std::size_t> inputFieldShape;
    std::vector<std::size_t> kernelShape;
    std::vector<unsigned> stride;
    std::vector<int> inputTruncationOrPaddingLower;
    std::vector<int> inputTruncationOrPaddingUpper;
    std::size_t numChannels;
    std::size_t batchSize;
    poplar::Type dType;
};

poplar::Tensor pool(poplar::Graph& graph, const PoolParams& params, const poplar::Tensor& in,
                    poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                    const poplar::OptionFlags& options = {});
/// A window's gradient goes to every element that equals the maximum. useScaledGradient is false.
poplar::Tensor poolInputGradient(poplar::Graph& graph, const PoolParams& params, const poplar::Tensor& in,
                                 const poplar::Tensor& pooled, const poplar::Tensor& pooledGradient,
                                 bool useScaledGradient, poplar::program::Sequence& prog,
                                 const poplar::DebugContext& debugContext = {},
                                 const poplar::OptionFlags& options = {});

}  // namespace popnn::pooling
