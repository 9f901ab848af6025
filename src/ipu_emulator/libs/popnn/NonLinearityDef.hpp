#pragma once

namespace popnn {

/// GELU: by tanh, GELU_ERF: by erf. Softmaxes act on the last dimension; STABLE ones subtract its maximum.
enum class NonLinearityType { SIGMOID, HARD_SIGMOID, RELU, TANH, GELU, GELU_ERF, SWISH, SOFTMAX, SOFTMAX_STABLE };

}  // namespace popnn
