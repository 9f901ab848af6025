#include <popnn/Pooling.hpp>

#include <algorithm>
#include <limits>

#include "ipu_emulator/lowering/support.h"

namespace ipu_emulator {
namespace {

using poplar::Tensor;
using popnn::pooling::PoolParams;

/// The inputs that an output of one dimension reads.
struct Window {
    std::size_t begin;
    std::size_t end;
};

struct PoolShape {
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
    PoolShape shape{.batch = params.batchSize,
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

void run_pool(OpRun& run, const PoolShape& s) {
    const float* in = load_all(run, run.read(0));
    run.parallel(s.outputs(), [&](std::size_t output) {
        LocalScratch local;
        float* most = local.take<float>(s.channels);
        std::fill_n(most, s.channels, -std::numeric_limits<float>::infinity());
        for_window(s, output, [&](std::size_t row) {
            const float* values = in + row * s.channels;
            for (std::size_t c = 0; c < s.channels; ++c)
                most[c] = std::max(most[c], values[c]);
        });
        run.write().store(output * s.channels, s.channels, most);
    });
}

/// Operands: the pooled gradient, the input and the result. A window adds its gradient to the inputs that equal its
/// result.
void run_pool_gradient(OpRun& run, const PoolShape& s) {
    const float* gradients = load_all(run, run.read(0));
    const float* in = load_all(run, run.read(1));
    const float* pooled = load_all(run, run.read(2));
    float* result = run.scratch<float>(run.write().count());
    const std::size_t outputs = s.y.size() * s.x.size();
    const std::size_t inputs = s.input_y * s.input_x * s.channels;
    run.parallel(s.batch, [&](std::size_t n) {
        std::fill_n(result + n * inputs, inputs, 0.0f);
        for (std::size_t output = n * outputs; output < (n + 1) * outputs; ++output) {
            const float* gradient = gradients + output * s.channels;
            const float* most = pooled + output * s.channels;
            for_window(s, output, [&](std::size_t row) {
                for (std::size_t c = row * s.channels, i = 0; i < s.channels; ++c, ++i)
                    if (in[c] == most[i]) result[c] += gradient[i];
            });
        }
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
    require(!useScaledGradient, name, "gradients are not scaled");
    Tensor out = new_activations(graph, params.dType, tensor_shape(params, params.inputFieldShape), name);
    add_op(prog, {.name = name,
                  .reads = {channels_last(pooledGradient), channels_last(in), channels_last(pooled)},
                  .writes = {channels_last(out)},
                  .run = [s = pool_shape(params, name)](OpRun& run) { run_pool_gradient(run, s); }});
    return out;
}

}  // namespace popnn::pooling
