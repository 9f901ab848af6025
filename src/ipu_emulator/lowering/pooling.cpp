#include <popnn/Pooling.hpp>

#include <algorithm>
#include <limits>

#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using poplar::Tensor;
using popnn::PoolingType;
using popnn::pooling::PoolParams;

/// The inputs that an output of one dimension reads.
struct Window {
    std::size_t begin;
    std::size_t end;
};

struct PoolShape {
    PoolingType type;
    std::size_t batch;
    std::size_t channels;
    std::vector<Window> y;
    std::vector<Window> x;
    std::size_t input_y;
    std::size_t input_x;

    std::size_t outputs() const { return batch * y.size() * x.size(); }
};

std::vector<Window> windows(const PoolParams& params, std::size_t dim) {
    std::vector<Window> result;
    const auto size = static_cast<long>(params.inputFieldShape[dim]);
    const long lower = params.inputTruncationOrPaddingLower[dim];
    const long upper = params.inputTruncationOrPaddingUpper[dim];
    const auto kernel = static_cast<long>(params.kernelShape[dim]);
    const long first = std::max(0L, -lower);  // truncated elements are not read
    const long last = std::min(size, size + upper);
    require(size + lower + upper >= kernel, "popnn::pooling", "a window is larger than the padded input");
    const long count = (size + lower + upper - kernel) / static_cast<long>(params.stride[dim]) + 1;
    for (long i = 0; i < count; ++i) {
        const long begin = i * static_cast<long>(params.stride[dim]) - lower;
        const long low = std::clamp(begin, first, last);
        const long high = std::clamp(begin + kernel, low, last);
        result.push_back({static_cast<std::size_t>(low), static_cast<std::size_t>(high)});
    }
    return result;
}

PoolShape pool_shape(const PoolParams& params, const std::string& name) {
    const std::size_t dims = params.inputFieldShape.size();
    require(dims >= 1 && dims <= 2, name, "expected a field of one or two dimensions, got " + std::to_string(dims));
    PoolShape shape{.type = params.poolingType,
                    .batch = params.batchSize,
                    .channels = params.numChannels,
                    .y = {{0, 1}},
                    .x = windows(params, dims - 1),
                    .input_y = 1,
                    .input_x = params.inputFieldShape[dims - 1]};
    if (dims == 2) {
        shape.y = windows(params, 0);
        shape.input_y = params.inputFieldShape[0];
    }
    return shape;
}

/// Calls visit(input row) for the inputs of an output, rows of channels.
template <class Visit> void for_window(const PoolShape& s, std::size_t output, Visit visit) {
    const Window& x = s.x[output % s.x.size()];
    const Window& y = s.y[output / s.x.size() % s.y.size()];
    const std::size_t image = output / s.x.size() / s.y.size() * s.input_y;
    for (std::size_t iy = y.begin; iy < y.end; ++iy) {
        for (std::size_t ix = x.begin; ix < x.end; ++ix)
            visit((image + iy) * s.input_x + ix);
    }
}

std::size_t window_size(const PoolShape& s, std::size_t output) {
    const Window& x = s.x[output % s.x.size()];
    const Window& y = s.y[output / s.x.size() % s.y.size()];
    return (x.end - x.begin) * (y.end - y.begin);
}

void run_pool(OpRun& run, const PoolShape& s) {
    const float* in = load_all(run, run.read(0));
    run.parallel(s.outputs(), [&](std::size_t output) {
        LocalScratch local;
        float* total = local.take<float>(s.channels);
        const bool max = s.type == PoolingType::MAX;
        std::fill_n(total, s.channels, max ? -std::numeric_limits<float>::infinity() : 0.0f);
        for_window(s, output, [&](std::size_t row) {
            const float* values = in + row * s.channels;
            for (std::size_t c = 0; c < s.channels; ++c)
                total[c] = max ? std::max(total[c], values[c]) : total[c] + values[c];
        });
        const std::size_t size = window_size(s, output);
        if (s.type == PoolingType::AVG && size != 0) {
            for (std::size_t c = 0; c < s.channels; ++c)
                total[c] /= static_cast<float>(size);
        }
        run.write().store(output * s.channels, s.channels, total);
    });
}

/// Operands of a pooling gradient. For maxima, a window adds its gradient to the inputs that equal its result.
struct PoolGradient {
    const float* in = nullptr;
    const float* pooled = nullptr;
    const float* gradient = nullptr;
    bool scaled = false;
};

void add_window(const PoolShape& s, const PoolGradient& g, std::size_t output, float* ties, float* result) {
    const float* gradient = g.gradient + output * s.channels;
    if (s.type != PoolingType::MAX) {
        const std::size_t size = window_size(s, output);
        const float share = s.type == PoolingType::AVG && size != 0 ? 1.0f / static_cast<float>(size) : 1.0f;
        for_window(s, output, [&](std::size_t row) {
            for (std::size_t c = 0; c < s.channels; ++c)
                result[row * s.channels + c] += share * gradient[c];
        });
        return;
    }
    const float* pooled = g.pooled + output * s.channels;
    std::fill_n(ties, s.channels, g.scaled ? 0.0f : 1.0f);
    for_window(s, output, [&](std::size_t row) {
        for (std::size_t c = 0; g.scaled && c < s.channels; ++c)
            ties[c] += g.in[row * s.channels + c] == pooled[c] ? 1.0f : 0.0f;
    });
    for_window(s, output, [&](std::size_t row) {
        for (std::size_t c = 0; c < s.channels; ++c)
            if (g.in[row * s.channels + c] == pooled[c]) result[row * s.channels + c] += gradient[c] / ties[c];
    });
}

/// Operands: the pooled gradient, and for maxima the input and the result.
void run_pool_gradient(OpRun& run, const PoolShape& s, bool scaled) {
    PoolGradient g{.gradient = load_all(run, run.read(0)), .scaled = scaled};
    if (s.type == PoolingType::MAX) {
        g.in = load_all(run, run.read(1));
        g.pooled = load_all(run, run.read(2));
    }
    float* result = run.scratch<float>(run.write().count());
    const std::size_t outputs = s.y.size() * s.x.size();
    const std::size_t inputs = s.input_y * s.input_x * s.channels;
    run.parallel(s.batch, [&](std::size_t n) {
        LocalScratch local;
        float* ties = local.take<float>(s.channels);
        std::fill_n(result + n * inputs, inputs, 0.0f);
        for (std::size_t i = 0; i < outputs; ++i)
            add_window(s, g, n * outputs + i, ties, result);
        run.write().store(n * inputs, inputs, result + n * inputs);
    });
}

std::vector<std::size_t> tensor_shape(const PoolParams& params, const std::vector<std::size_t>& field) {
    std::vector<std::size_t> shape{params.batchSize, params.numChannels};
    shape.insert(shape.end(), field.begin(), field.end());
    return shape;
}

void check_tensor(const std::string& name, const Tensor& t, const PoolParams& params,
                  const std::vector<std::size_t>& field) {
    const std::vector<std::size_t> shape = tensor_shape(params, field);
    require(t.shape() == shape && t.elementType() == params.dType && is_float(params.dType), name,
            "expected a tensor " + shape_text(shape) + " of the parameters' type, half or float, got " +
                t.shapeToString() + " of " + t.elementType().toString());
}

Tensor add_gradient(poplar::Graph& graph, const PoolParams& params, std::vector<Tensor> reads, bool scaled,
                    poplar::program::Sequence& prog, const std::string& name) {
    for (Tensor& t : reads)
        t = channels_last(t);
    Tensor out = new_activations(graph, params.dType, tensor_shape(params, params.inputFieldShape), name);
    add_op(prog, {.name = name,
                  .reads = std::move(reads),
                  .writes = {channels_last(out)},
                  .run = [s = pool_shape(params, name), scaled](OpRun& run) { run_pool_gradient(run, s, scaled); }});
    return out;
}

}  // namespace
}  // namespace ipu_emulator

namespace popnn::pooling {

using namespace ipu_emulator;
using poplar::Tensor;
using poplar::program::Sequence;

std::vector<std::size_t> PoolParams::getOutputFieldShape() const {
    std::vector<std::size_t> shape;
    for (std::size_t dim = 0; dim < inputFieldShape.size(); ++dim)
        shape.push_back(windows(*this, dim).size());
    return shape;
}

Tensor pool(poplar::Graph& graph, const PoolParams& params, const Tensor& in, Sequence& prog,
            const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "pool");
    check_options(name, options, {});
    check_tensor(name, in, params, params.inputFieldShape);
    Tensor out = new_activations(graph, params.dType, tensor_shape(params, params.getOutputFieldShape()), name);
    add_op(prog, {.name = name,
                  .reads = {channels_last(in)},
                  .writes = {channels_last(out)},
                  .run = [s = pool_shape(params, name)](OpRun& run) { run_pool(run, s); }});
    return out;
}

Tensor poolInputGradient(poplar::Graph& graph, const PoolParams& params, const Tensor& in, const Tensor& pooled,
                         const Tensor& pooledGradient, bool useScaledGradient, Sequence& prog,
                         const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "poolInputGradient");
    check_options(name, options, {});
    check_tensor(name, in, params, params.inputFieldShape);
    check_tensor(name, pooled, params, params.getOutputFieldShape());
    check_tensor(name, pooledGradient, params, params.getOutputFieldShape());
    return add_gradient(graph, params, {pooledGradient, in, pooled}, useScaledGradient, prog, name);
}

Tensor poolInputGradient(poplar::Graph& graph, const PoolParams& params, unsigned, const Tensor& pooledGradient,
                         Sequence& prog, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options) {
    const std::string name = op_name(debugContext, "poolInputGradient");
    check_options(name, options, {});
    require(params.poolingType != PoolingType::MAX, name, "the gradient of maxima needs the input and the result");
    check_tensor(name, pooledGradient, params, params.getOutputFieldShape());
    return add_gradient(graph, params, {pooledGradient}, false, prog, name);
}

}  // namespace popnn::pooling
