#pragma once

#include <poplin/ConvParams.hpp>

namespace poplin {

/// Parameters of the convolution that computes the gradient of a convolution's input from the gradient of its output.
ConvParams getGradientParams(const ConvParams& params);

}  // namespace poplin
