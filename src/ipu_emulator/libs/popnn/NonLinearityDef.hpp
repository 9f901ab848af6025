#pragma once

namespace popnn {

/// GELU: by tanh, GELU_ERF: by erf.
enum class NonLinearityType { SIGMOID, RELU, TANH, GELU, GELU_ERF, SWISH };

}  // namespace popnn
