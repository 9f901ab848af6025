#pragma once

namespace popnn {

/// GELU: by tanh, GELU_ERF: by erf. Softmaxes act on the last dimension; STABLE and SCALED ones subtract its maximum,
/// SCALED ones multiply the result so that small probabilities are no subnormal halves.
enum class NonLinearityType {
    SIGMOID,
    HARD_SIGMOID,
    RELU,
    TANH,
    GELU,
    GELU_ERF,
    SWISH,
    SOFTMAX,
    SOFTMAX_STABLE,
    SOFTMAX_SCALED,
};

}  // namespace popnn
