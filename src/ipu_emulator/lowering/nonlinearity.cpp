#include <popnn/LogSoftmax.hpp>
#include <popnn/Loss.hpp>
#include <popnn/NonLinearity.hpp>
#include <popops/ElementWise.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ipu_emulator/lowering/support.h"
#include "ipu_emulator/model/view.h"

namespace ipu_emulator {
namespace {

using namespace popops::expr;
using poplar::Tensor;
using popnn::NonLinearityType;

constexpr float kGeluScale = 0.79788456f;  // sqrt(2 / pi)
constexpr float kGeluCube = 0.044715f;
constexpr float kNormalPeak = 0.39894228f;  // 1 / sqrt(2 pi)
constexpr float kInverseRoot2 = 0.70710678f;

bool is_softmax(NonLinearityType type) {
    return type == NonLinearityType::SOFTMAX || type == NonLinearityType::SOFTMAX_STABLE ||
           type == NonLinearityType::SOFTMAX_SCALED;
}

/// The factor of SOFTMAX_SCALED, which keeps small probabilities from being subnormal halves. Not verified on an IPU.
constexpr float kSoftmaxScaling = 16376.0f;

float scaling_of(NonLinearityType type) {
    return type == NonLinearityType::SOFTMAX_SCALED ? kSoftmaxScaling : 1.0f;
}

Any formula(NonLinearityType type) {
    switch (type) {
        case NonLinearityType::SIGMOID:
            return Sigmoid(_1);
        case NonLinearityType::HARD_SIGMOID:
            return Clamp(_1 * 0.2f + 0.5f, Const(0.0f), Const(1.0f));
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
        default:
            break;
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
        case NonLinearityType::HARD_SIGMOID:
            return Select(_2 * 0.2f, Const(0.0f), And(_1 > 0.0f, _1 < 1.0f));
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
        default:
            break;
    }
    return _2;
}

/// Adds an operation that computes the last dimension row by row: compute(row of each operand, result, n).
template <class Compute> void add_rows(const std::string& name, const std::vector<Tensor>& reads, const Tensor& out,
                                       poplar::program::Sequence& prog, Compute compute) {
    require(out.rank() >= 1 && is_float(out.elementType()), name,
            "expected a tensor of half or float with a dimension");
    const std::size_t n = out.dim(static_cast<unsigned>(out.rank()) - 1);
    const std::size_t operands = reads.size();
    add_op(prog, {.name = name, .reads = reads, .writes = {out}, .run = [=](OpRun& run) {
                      run.parallel(n == 0 ? 0 : run.write().count() / n, [&](std::size_t row) {
                          LocalScratch local;
                          float* rows[2] = {local.take<float>(n), local.take<float>(n)};
                          float* result = local.take<float>(n);
                          for (std::size_t i = 0; i < operands; ++i)
                              run.read(i).load(row * n, n, rows[i]);
                          compute(rows[0], rows[1], result, n);
                          run.write().store(row * n, n, result);
                      });
                  }});
}

void add_softmax(const std::string& name, const Tensor& in, const Tensor& out, NonLinearityType type,
                 poplar::program::Sequence& prog) {
    const bool stable = type != NonLinearityType::SOFTMAX;
    const float scaling = scaling_of(type);
    add_rows(name, {in}, out, prog, [=](const float* x, const float*, float* y, std::size_t n) {
        const float shift = stable ? *std::max_element(x, x + n) : 0.0f;
        float sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += y[i] = std::exp(x[i] - shift);
        for (std::size_t i = 0; i < n; ++i)
            y[i] = y[i] / sum * scaling;
    });
}

void add_log_softmax(const std::string& name, const Tensor& in, const Tensor& out, poplar::program::Sequence& prog) {
    add_rows(name, {in}, out, prog, [](const float* x, const float*, float* y, std::size_t n) {
        const float shift = *std::max_element(x, x + n);
        float sum = 0;
        for (std::size_t i = 0; i < n; ++i)
            sum += std::exp(x[i] - shift);
        for (std::size_t i = 0; i < n; ++i)
            y[i] = x[i] - shift - std::log(sum);
    });
}

void add_non_linearity(poplar::Graph& graph, NonLinearityType type, const Tensor& in, const Tensor& out,
                       poplar::program::Sequence& prog, const poplar::DebugContext& debug) {
    require(is_float(in.elementType()), op_name(debug, "nonLinearity"), "expected a tensor of half or float");
    if (is_softmax(type)) {
        add_softmax(op_name(debug, "softmax"), in, out, type, prog);
    } else {
        popops::mapWithOutput(graph, formula(type), {in}, out, prog, debug);
    }
}

void run_top_k(OpRun& run, std::size_t n, std::size_t k) {
    run.parallel(n == 0 ? 0 : run.read(0).count() / n, [&](std::size_t row) {
        LocalScratch local;
        float* values = local.take<float>(n);
        auto* places = local.take<std::int32_t>(n);
        run.read(0).load(row * n, n, values);
        std::iota(places, places + n, 0);
        const auto rank = [&](std::int32_t i) {
            return magnitude_bits(values[i]) > kInfinityBits ? -std::numeric_limits<float>::infinity() : values[i];
        };
        const auto is_nan = [&](std::int32_t i) { return magnitude_bits(values[i]) > kInfinityBits; };
        std::partial_sort(places, places + k, places + n, [&](std::int32_t a, std::int32_t b) {
            if (is_nan(a) != is_nan(b)) return is_nan(b);
            return rank(a) != rank(b) ? rank(a) > rank(b) : a < b;
        });
        float* top = local.take<float>(k);
        for (std::size_t i = 0; i < k; ++i)
            top[i] = values[places[i]];
        run.write(0).store(row * k, k, top);
        run.write(1).store(row * k, k, places);
    });
}

}  // namespace
}  // namespace ipu_emulator

namespace popnn {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

void nonLinearityInPlace(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& t, Sequence& prog,
                         const poplar::DebugContext& debugContext) {
    add_non_linearity(graph, nonLinearityType, t, t, prog, debugContext);
}

Tensor nonLinearity(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& t, Sequence& prog,
                    const poplar::DebugContext& debugContext) {
    Tensor out = new_tensor_like(graph, t.elementType(), t, op_name(debugContext, "nonLinearity"));
    add_non_linearity(graph, nonLinearityType, t, out, prog, debugContext);
    return out;
}

void nonLinearityInPlace(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& t,
                         float& nonLinearityScaling, Sequence& prog, const poplar::DebugContext& debugContext) {
    nonLinearityScaling = scaling_of(nonLinearityType);
    nonLinearityInPlace(graph, nonLinearityType, t, prog, debugContext);
}

Tensor nonLinearity(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& t,
                    float& nonLinearityScaling, Sequence& prog, const poplar::DebugContext& debugContext) {
    nonLinearityScaling = scaling_of(nonLinearityType);
    return nonLinearity(graph, nonLinearityType, t, prog, debugContext);
}

Tensor nonLinearityInputGradient(poplar::Graph& graph, NonLinearityType nonLinearityType, const Tensor& act,
                                 const Tensor& outGradient, Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "nonLinearityInputGradient");
    require(act.shape() == outGradient.shape(), name,
            "the shapes " + act.shapeToString() + " and " + outGradient.shapeToString() + " differ");
    Tensor out = new_tensor_like(graph, act.elementType(), act, name);
    require(nonLinearityType != NonLinearityType::SOFTMAX_SCALED, name,
            "a scaled softmax has no gradient here; use SOFTMAX_STABLE");
    if (is_softmax(nonLinearityType)) {
        add_rows(name, {act, outGradient}, out, prog, [](const float* y, const float* g, float* result, std::size_t n) {
            const float sum = std::inner_product(y, y + n, g, 0.0f);
            for (std::size_t i = 0; i < n; ++i)
                result[i] = y[i] * (g[i] - sum);
        });
    } else {
        popops::mapWithOutput(graph, gradient_formula(nonLinearityType), {act, outGradient}, out, prog, debugContext);
    }
    return out;
}

Tensor logSoftmax(poplar::Graph& graph, const Tensor& t, Sequence& prog, const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "logSoftmax");
    Tensor out = new_tensor_like(graph, t.elementType(), t, name);
    add_log_softmax(name, t, out, prog);
    return out;
}

void logSoftmaxInPlace(poplar::Graph&, const Tensor& t, Sequence& prog, const poplar::DebugContext& debugContext) {
    add_log_softmax(op_name(debugContext, "logSoftmax"), t, t, prog);
}

Tensor topK(poplar::Graph& graph, const Tensor& input, Tensor& indices, unsigned K, bool, Sequence& prog,
            const poplar::DebugContext& debugContext) {
    const std::string name = op_name(debugContext, "topK");
    require(
        input.rank() == 2 && K <= input.dim(1) && is_float(input.elementType()), name,
        "expected rows of at least " + std::to_string(K) + " elements of half or float, got " + input.shapeToString());
    Tensor values = new_tensor(graph, input.elementType(), {input.dim(0), K}, name);
    indices = new_tensor(graph, poplar::UNSIGNED_INT, {input.dim(0), K}, name + "/indices");
    add_op(prog, {.name = name,
                  .reads = {input},
                  .writes = {values, indices},
                  .run = [n = input.dim(1), k = std::size_t{K}](OpRun& run) { run_top_k(run, n, k); }});
    return values;
}

}  // namespace popnn
