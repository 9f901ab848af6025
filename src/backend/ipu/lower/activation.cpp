#include "backend/ipu/lower/activation.h"

#include <popnn/NonLinearity.hpp>

#include "cnntrain/base/error.h"

namespace cnntrain::ipu {

using graph::Activation;
using popnn::NonLinearityType;

namespace {

NonLinearityType non_linearity(Activation activation) {
    switch (activation) {
        case Activation::none:
            break;
        case Activation::relu:
            return NonLinearityType::RELU;
        case Activation::swish:
            return NonLinearityType::SWISH;
        case Activation::sigmoid:
            return NonLinearityType::SIGMOID;
        case Activation::gelu:
            return NonLinearityType::GELU_ERF;
        case Activation::gelu_tanh:
            return NonLinearityType::GELU;
        case Activation::tanh:
            return NonLinearityType::TANH;
    }
    throw Error(ErrorKind::internal, "no non-linearity");
}

}  // namespace

poplar::Tensor activated(const NodeContext& node, Activation activation, const poplar::Tensor& x) {
    if (activation == Activation::none) return x;
    return popnn::nonLinearity(node.device, non_linearity(activation), x, node.program, node.debug());
}

poplar::Tensor times_slope(const NodeContext& node, Activation activation, const poplar::Tensor& at,
                           const poplar::Tensor& dy) {
    if (activation == Activation::none) return dy;
    return popnn::nonLinearityInputGradient(node.device, non_linearity(activation), at, dy, node.program, node.debug());
}

}  // namespace cnntrain::ipu
