#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>

#include <algorithm>
#include <cmath>

#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using namespace popops::expr;
using poplar::Tensor;
using popnn::NonLinearityType;

constexpr float kGeluScale = 0.79788456f;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;
constexpr float kNormalPeak = 0.39894228f;  // 1 / sqrt(2 pi)
constexpr float kInverseRoot2 = 0.70710678f;

Any formula(NonLinearityType type) {
    switch (type) {
        case NonLinearityType::SIGMOID:
            return Sigmoid(_1);
        case NonLinearityType::RELU:
            return Relu(_1);
        case NonLinearityType::TANH:
            return Tanh(_1);
        case NonLinearityType::GELU:
            return _1 * 0.5f * (Tanh((_1 + _1 * _1 * _1 * kGeluCube) * kGeluScale) + 1.0f);
        case NonLinearityType::GELU_ERF:
            return GeluErf(_1);
        case NonLinearityType::SWISH:
            return _1 * Sigmoid(_1);
    }
    return _1;
}

/// _1: the input (GELU, GELU_ERF, SWISH) or the output (others), _2: the gradient of the output.
Any gradient_formula(NonLinearityType type) {
    const Any tanh = Tanh((_1 + _1 * _1 * _1 * kGeluCube) * kGeluScale);
    const Any sigmoid = Sigmoid(_1);
    switch (type) {
        case NonLinearityType::SIGMOID:
            return _2 * _1 * (1.0f - _1);
        case NonLinearityType::RELU:
            return Select(_2, Const(0.0f), _1 > 0.0f);
        case NonLinearityType::TANH:
            return _2 * (1.0f - _1 * _1);
        case NonLinearityType::GELU:
            return _2 * 0.5f *
                   (tanh + 1.0f + _1 * kGeluScale * (_1 * _1 * (3 * kGeluCube) + 1.0f) * (1.0f - tanh * tanh));
        case NonLinearityType::GELU_ERF:
            return _2 * ((Erf(_1 * kInverseRoot2) + 1.0f) * 0.5f + _1 * kNormalPeak * Exp(_1 * _1 * -0.5f));
        case NonLinearityType::SWISH:
            return _2 * sigmoid * (_1 * (1.0f - sigmoid) + 1.0f);
    }
    return _2;
}

}  // namespace
}  // namespace ipu_emulator

namespace popnn {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

Tensor nonLinearity(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& t, Sequence& prog,
                    const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "nonLinearity");
    Tensor out = new_tensor_like(graph, t.elementType(), t, name);
    require(is_float(t.elementType()), name, "expected a tensor of half or float");
    popops::mapWithOutput(graph, formula(nonLinearityType), {t}, out, prog, debugContext);
    return out;
}

Tensor nonLinearityInputGradient(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& act,
                                 const Tensor& outGradient, Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "nonLinearityInputGradient");
    require(act.shape() == outGradient.shape(), name,
            "the shapes " + act.shapeToString() + " and " + outGradient.shapeToString() + " differ");
    Tensor out = new_tensor_like(graph, act.elementType(), act, name);
    popops::mapWithOutput(graph, gradient_formula(nonLinearityType), {act, outGradient}, out, prog, debugContext);
    return out;
}

void logSoftmaxInPlace(poplar::Graph&, const Tensor& t, Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "logSoftmax");
    require(t.rank() >= 1 && is_float(t.elementType()), name, "expected a tensor of half or float with a dimension");
    const std::size_t n = t.dim(static_cast<unsigned>(t.rank()) - 1);
    add_op(prog, {.name = name, .reads = {t}, .writes = {t}, .run = [n](OpRun& run) {
                      run.parallel(n == 0 ? 0 : run.write().count() / n, [&](std::size_t row) {
                          LocalScratch local;
                          float* x = local.take<float>(n);
                          run.read(0).load(row * n, n, x);
                          const float shift = *std::max_element(x, x + n);
                          float sum = 0;
                          for (std::size_t i = 0; i < n; ++i)
                              sum += std::exp(x[i] - shift);
                          for (std::size_t i = 0; i < n; ++i)
                              x[i] = x[i] - shift - std::log(sum);
                          run.write().store(row * n, n, x);
                      });
                  }});
}

}  // namespace popnn
