#pragma once

#include <poplin/ConvParams.hpp>

namespace poplin {

/// Of the convolution that computes the gradient of a convolution's input from that of its output.
ConvParams getGradientParams(const ConvParams& params);

}  // namespace poplin
