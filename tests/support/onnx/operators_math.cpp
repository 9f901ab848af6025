// Products, pools, norms and softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/onnx/operators.h"

namespace cnntrain::weights {
namespace {

/// Windows of convolutions and pools: two axes with equal strides, no dilation, explicit padding.
struct Window {
    std::int64_t stride = 1;
    std::vector<std::int64_t> pads;
};

Window window_of(const NodeCall& call) {
    const std::vector<std::int64_t> strides = call.list("strides", {1, 1});
    const std::vector<std::int64_t> dilations = call.list("dilations", {1, 1});
    Window window{1, call.list("pads", {0, 0, 0, 0})};
    call.require(strides.size() == 2 && window.pads.size() == 4 && strides[0] >= 1, "expected windows of two axes");
    for (const std::int64_t pad : window.pads)
        call.require(pad >= 0 && pad < (std::int64_t{1} << 31), "a padding of " + std::to_string(pad));
    if (strides[0] != strides[1] || dilations != std::vector<std::int64_t>{1, 1} || call.integer("ceil_mode", 0) != 0)
        call.unsupported("unequal strides, dilation or ceil_mode");
    window.stride = strides[0];
    return window;
}

std::int64_t windows(const NodeCall& call, std::int64_t size, std::int64_t before, std::int64_t after,
                     std::int64_t kernel, std::int64_t stride) {
    call.require(kernel >= 1 && size + before + after >= kernel,
                 "a window of " + std::to_string(kernel) + " on " + std::to_string(size) + " pixels");
    return (size + before + after - kernel) / stride + 1;
}

/// The result's shape for x[N,C,H,W].
Shape window_shape(const NodeCall& call, const Shape& x, std::int64_t channels, std::int64_t height, std::int64_t width,
                   const Window& window) {
    return {x[0], channels, windows(call, x[2], window.pads[0], window.pads[2], height, window.stride),
            windows(call, x[3], window.pads[1], window.pads[3], width, window.stride)};
}

/// The product of some sizes, within reach.
std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
    std::int64_t result = 1;
    for (std::size_t i = begin; i < end; ++i)
        result *= shape[i];
    return result;
}

}  // namespace

Array run_conv(const NodeCall& call) {
    const Array& x = call.reals(0, 4);
    const Array& weight = call.reals(1, 4);
    const Window window = window_of(call);
    const std::int64_t groups = call.integer("group", 1);
    const Shape& w = weight.shape;
    call.require(groups >= 1 && x.shape[1] % groups == 0 && w[0] % groups == 0 && w[1] == x.shape[1] / groups,
                 "a kernel " + to_string(w) + " of " + std::to_string(groups) + " groups on " + to_string(x.shape));
    if (!call.is_constant(1) || (call.has(2) && !call.is_constant(2))) call.unsupported("weights that are computed");
    const Array* const bias = call.has(2) ? &call.vector(2, w[0]) : nullptr;
    Array result = call.made(window_shape(call, x.shape, w[0], w[2], w[3], window));
    if (result.reals.empty()) return result;
    call.products().convolution(call.name(), x, weight, bias, {window.stride, window.pads, groups}, result);
    return result;
}

void Products::convolution(const std::string& /*node*/, const Array& x, const Array& weight, const Array* bias,
                           const Convolution& how, Array& result) {
    const Shape& in = x.shape;
    const Shape& w = weight.shape;
    const Shape& out = result.shape;
    const std::int64_t group_outputs = w[0] / how.groups;
    std::vector<double> sums(at(out[3]));
    for (std::int64_t row = 0; row < out[0] * out[1] * out[2]; ++row) {
        const std::int64_t channel = row / out[2] % out[1];
        const std::int64_t sample = row / (out[2] * out[1]);
        std::ranges::fill(sums, bias != nullptr ? bias->reals[at(channel)] : 0);
        for (std::int64_t k = 0; k < w[1] * w[2]; ++k) {
            const std::int64_t from = channel / group_outputs * w[1] + k / w[2];
            const std::int64_t y = row % out[2] * how.stride + k % w[2] - how.pads[0];
            if (y < 0 || y >= in[2]) continue;
            const float* const line = &x.reals[at(((sample * in[1] + from) * in[2] + y) * in[3])];
            const float* const factors = &weight.reals[at((channel * w[1] * w[2] + k) * w[3])];
            for (std::int64_t i = 0; i < w[3]; ++i) {
                const std::int64_t shift = i - how.pads[1];
                for (std::int64_t c = 0; c < out[3]; ++c) {
                    const std::int64_t z = c * how.stride + shift;
                    if (z >= 0 && z < in[3]) sums[at(c)] += double{line[z]} * double{factors[i]};
                }
            }
        }
        std::ranges::transform(sums, &result.reals[at(row * out[3])],
                               [](double sum) { return static_cast<float>(sum); });
    }
}

namespace {

void multiply(const float* a, const float* b, float* c, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    std::vector<double> sums(at(columns));
    for (std::int64_t r = 0; r < rows; ++r) {
        std::ranges::fill(sums, 0);
        for (std::int64_t i = 0; i < inner; ++i) {
            const double factor = a[r * inner + i];
            for (std::int64_t k = 0; k < columns; ++k)
                sums[at(k)] += factor * double{b[i * columns + k]};
        }
        std::ranges::transform(sums, c + r * columns, [](double sum) { return static_cast<float>(sum); });
    }
}

Array transposed_matrix(const NodeCall& call, const Array& matrix) {
    const std::int64_t rows = matrix.shape[0];
    const std::int64_t columns = matrix.shape[1];
    Array result = call.made({columns, rows});
    for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c)
            result.reals[at(c * rows + r)] = matrix.reals[at(r * columns + c)];
    }
    return result;
}

}  // namespace

void Products::dense(const std::string& /*node*/, const Array& a, const Array& b, Array& result) {
    multiply(a.reals.data(), b.reals.data(), result.reals.data(), a.shape[0], a.shape[1], b.shape[1]);
}

void Products::matrices(const std::string& /*node*/, const Array& a, const Array& b, Array& result) {
    const std::int64_t rows = a.shape[1];
    const std::int64_t inner = a.shape[2];
    const std::int64_t columns = b.shape[2];
    for (std::int64_t i = 0; i < a.shape[0]; ++i) {
        multiply(a.reals.data() + i * rows * inner, b.reals.data() + i * inner * columns,
                 result.reals.data() + i * rows * columns, rows, inner, columns);
    }
}

/// a[M,K] * b[K,N] + c[N].
Array run_gemm(const NodeCall& call) {
    const Array& a = call.reals(0, 2);
    const Array& stored = call.reals(1, 2);
    if (call.integer("transA", 0) != 0 || call.number("alpha", 1) != 1 || call.number("beta", 1) != 1 ||
        !call.is_constant(1))
        call.unsupported("a transposed first operand, factors, or a second operand that is computed");
    const bool transposed = call.integer("transB", 0) != 0;
    const Array turned = transposed ? transposed_matrix(call, stored) : Array{};
    const Array& b = transposed ? turned : stored;
    call.require(a.shape[1] == b.shape[0], to_string(a.shape) + " times " + to_string(b.shape));
    Array result = call.made({a.shape[0], b.shape[1]});
    if (result.reals.empty()) return result;
    call.products().dense(call.name(), a, b, result);
    if (!call.has(2)) return result;
    const Array& bias = call.vector(2, b.shape[1]);
    for (std::size_t i = 0; i < result.reals.size(); ++i)
        result.reals[i] += bias.reals[i % bias.reals.size()];
    return result;
}

Array run_matmul(const NodeCall& call) {
    const Array& a = call.reals(0);
    const Array& b = call.reals(1);
    const std::size_t rank = a.shape.size();
    call.require(rank >= 2 && b.shape.size() >= 2 && a.shape.back() == b.shape[b.shape.size() - 2],
                 to_string(a.shape) + " times " + to_string(b.shape));
    Shape shape = a.shape;
    shape.back() = b.shape.back();
    Array result = call.made(shape);
    if (result.reals.empty()) return result;
    if (b.shape.size() == 2 && call.is_constant(1)) {
        const Array rows{.shape = {product(a.shape, 0, rank - 1), a.shape.back()}, .reals = a.reals};
        result.shape = {rows.shape[0], b.shape[1]};
        call.products().dense(call.name(), rows, b, result);
    } else {
        const bool same = b.shape.size() == rank && std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin());
        if (!same) call.unsupported("matrices of other axes than " + to_string(a.shape));
        const std::int64_t count = product(a.shape, 0, rank - 2);
        const Array left{.shape = {count, a.shape[rank - 2], a.shape[rank - 1]}, .reals = a.reals};
        const Array right{.shape = {count, b.shape[rank - 2], b.shape[rank - 1]}, .reals = b.reals};
        result.shape = {count, a.shape[rank - 2], b.shape[rank - 1]};
        call.products().matrices(call.name(), left, right, result);
    }
    result.shape = shape;
    return result;
}

/// Numbers of uint8 times those of int8, which were read as reals.
Array run_matmul_integer(const NodeCall& call) {
    const Array& a = call.integers(0);
    const Array& b = call.reals(1, 2);
    call.require(!a.shape.empty() && a.shape.back() == b.shape[0], to_string(a.shape) + " times " + to_string(b.shape));
    Shape shape = a.shape;
    shape.back() = b.shape[1];
    Array result = call.made(shape, /*real=*/false);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const auto row = static_cast<std::int64_t>(i) / b.shape[1] * b.shape[0];
        const auto column = static_cast<std::int64_t>(i) % b.shape[1];
        for (std::int64_t k = 0; k < b.shape[0]; ++k) {
            result.integers[i] += a.integers[static_cast<std::size_t>(row + k)] *
                                  static_cast<std::int64_t>(b.reals[static_cast<std::size_t>(k * b.shape[1] + column)]);
        }
    }
    return result;
}

Array run_max_pool(const NodeCall& call) {
    const Array& x = call.reals(0, 4);
    const Window window = window_of(call);
    const std::vector<std::int64_t> kernel = call.list("kernel_shape", {});
    call.require(kernel.size() == 2, "expected a window of two axes");
    Array result = call.made(window_shape(call, x.shape, x.shape[1], kernel[0], kernel[1], window));
    const Shape& out = result.shape;
    for (std::int64_t i = 0; i < std::ssize(result.reals); ++i) {
        const std::int64_t plane = i / (out[2] * out[3]);
        const std::int64_t top = i / out[3] % out[2] * window.stride - window.pads[0];
        const std::int64_t left = i % out[3] * window.stride - window.pads[1];
        float most = -std::numeric_limits<float>::infinity();
        for (std::int64_t y = std::max<std::int64_t>(top, 0); y < std::min(top + kernel[0], x.shape[2]); ++y) {
            for (std::int64_t z = std::max<std::int64_t>(left, 0); z < std::min(left + kernel[1], x.shape[3]); ++z)
                most = std::max(most, x.reals[at((plane * x.shape[2] + y) * x.shape[3] + z)]);
        }
        result.reals[at(i)] = most;
    }
    return result;
}

Array run_global_average_pool(const NodeCall& call) {
    const Array& x = call.reals(0, 4);
    Array result = call.made({x.shape[0], x.shape[1], 1, 1});
    const std::size_t pixels = at(x.shape[2] * x.shape[3]);
    call.require(pixels > 0, "images without pixels");
    for (std::size_t i = 0; i < result.reals.size(); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < pixels; ++k)
            sum += x.reals[i * pixels + k];
        result.reals[i] = static_cast<float>(sum / static_cast<double>(pixels));
    }
    return result;
}

Array run_batch_norm(const NodeCall& call) {
    const Array& x = call.reals(0);
    call.require(x.shape.size() >= 2, "expected at least two axes");
    const std::int64_t channels = x.shape[1];
    const Array& gamma = call.vector(1, channels);
    const Array& beta = call.vector(2, channels);
    const Array& mean = call.vector(3, channels);
    const Array& variance = call.vector(4, channels);
    if (call.integer("training_mode", 0) != 0) call.unsupported("statistics of the batch");
    const double epsilon = call.number("epsilon", 1e-5);
    const std::size_t pixels = at(product(x.shape, 2, x.shape.size()));
    Array result = x;
    for (std::size_t i = 0; i < result.reals.size(); ++i) {
        const std::size_t c = i / pixels % at(channels);
        result.reals[i] = static_cast<float>((double{x.reals[i]} - mean.reals[c]) /
                                                 std::sqrt(double{variance.reals[c]} + epsilon) * gamma.reals[c] +
                                             beta.reals[c]);
    }
    return result;
}

namespace {

/// y = (x - mean) / sqrt(variance + epsilon) for each row of so many elements.
void normalise_rows(std::vector<float>& values, std::size_t row, double epsilon) {
    for (std::size_t begin = 0; row > 0 && begin + row <= values.size(); begin += row) {
        double sum = 0;
        for (std::size_t i = 0; i < row; ++i)
            sum += values[begin + i];
        const double mean = sum / static_cast<double>(row);
        double squares = 0;
        for (std::size_t i = 0; i < row; ++i)
            squares += (values[begin + i] - mean) * (values[begin + i] - mean);
        const double scale = 1 / std::sqrt(squares / static_cast<double>(row) + epsilon);
        for (std::size_t i = 0; i < row; ++i)
            values[begin + i] = static_cast<float>((values[begin + i] - mean) * scale);
    }
}

}  // namespace

Array run_instance_norm(const NodeCall& call) {
    const Array& x = call.reals(0);
    call.require(x.shape.size() >= 3, "expected at least three axes");
    const std::int64_t channels = x.shape[1];
    const Array& scale = call.vector(1, channels);
    const Array& shift = call.vector(2, channels);
    const std::size_t row = at(product(x.shape, 2, x.shape.size()));
    Array result = x;
    normalise_rows(result.reals, row, call.number("epsilon", 1e-5));
    for (std::size_t i = 0; i < result.reals.size(); ++i) {
        const std::size_t c = i / row % at(channels);
        result.reals[i] = result.reals[i] * scale.reals[c] + shift.reals[c];
    }
    return result;
}

Array run_layer_norm(const NodeCall& call) {
    const Array& x = call.reals(0);
    call.require(!x.shape.empty(), "expected at least one axis");
    if (call.axis(call.integer("axis", -1), x.shape.size()) + 1 != std::ssize(x.shape))
        call.unsupported("a norm of other axes than the last");
    const Array& scale = call.vector(1, x.shape.back());
    Array result = x;
    normalise_rows(result.reals, at(x.shape.back()), call.number("epsilon", 1e-5));
    const Array* const shift = call.has(2) ? &call.vector(2, x.shape.back()) : nullptr;
    for (std::size_t i = 0; i < result.reals.size(); ++i) {
        const std::size_t c = i % scale.reals.size();
        result.reals[i] = result.reals[i] * scale.reals[c] + (shift != nullptr ? shift->reals[c] : 0);
    }
    return result;
}

Array run_softmax(const NodeCall& call) {
    Array result = call.reals(0);
    call.require(!result.shape.empty(), "expected at least one axis");
    if (call.axis(call.integer("axis", -1), result.shape.size()) + 1 != std::ssize(result.shape))
        call.unsupported("a softmax over another axis than the last");
    const std::size_t row = at(result.shape.back());
    for (std::size_t begin = 0; row > 0 && begin + row <= result.reals.size(); begin += row) {
        float* const values = result.reals.data() + begin;
        const float most = *std::max_element(values, values + row);
        double sum = 0;
        for (std::size_t i = 0; i < row; ++i)
            sum += values[i] = std::exp(values[i] - most);
        for (std::size_t i = 0; i < row; ++i)
            values[i] = static_cast<float>(values[i] / sum);
    }
    return result;
}

// Resize (https://onnx.ai/onnx/operators/onnx__Resize.html): linear and cubic, one axis after the other.

namespace {

struct Tap {
    std::size_t place;
    double weight;
};
using Taps = std::vector<std::vector<Tap>>;  // by output element

double linear(double x) {
    return std::max(1 - std::abs(x), 0.0);
}

double cubic(double x, double a) {
    x = std::abs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The filter that the attributes describe.
struct Filter {
    explicit Filter(const NodeCall& call)
        : cubic_coefficient(call.number("cubic_coeff_a", -0.75)),
          antialias(call.integer("antialias", 0) != 0),
          exclude_outside(call.integer("exclude_outside", 0) != 0) {
        const std::string mode = call.text("mode", "nearest");
        const std::string place = call.text("coordinate_transformation_mode", "half_pixel");
        if (mode != "linear" && mode != "cubic") call.unsupported("the mode " + mode);
        if (place != "half_pixel" && place != "asymmetric") call.unsupported("the places " + place);
        if (call.text("keep_aspect_ratio_policy", "stretch") != "stretch") call.unsupported("kept aspect ratios");
        is_cubic = mode == "cubic";
        offset = place == "half_pixel" ? 0.5 : 0;
    }

    double at(double x) const { return is_cubic ? cubic(x, cubic_coefficient) : linear(x); }
    double support() const { return is_cubic ? 2 : 1; }

    double cubic_coefficient;
    bool antialias;
    bool exclude_outside;
    bool is_cubic = false;
    double offset = 0;
};

/// The taps of `in` elements that become `out`.
Taps taps_of(const Filter& filter, std::int64_t in, std::int64_t out) {
    const double scale = static_cast<double>(out) / static_cast<double>(in);
    const double width = filter.antialias ? std::max(1.0, 1 / scale) : 1;
    Taps taps(at(out));
    for (std::int64_t i = 0; i < out; ++i) {
        std::vector<Tap>& of = taps[at(i)];
        const double centre = (static_cast<double>(i) + filter.offset) / scale - filter.offset;
        const auto last = static_cast<std::int64_t>(std::floor(centre + filter.support() * width));
        double sum = 0;
        for (auto k = static_cast<std::int64_t>(std::ceil(centre - filter.support() * width)); k <= last; ++k) {
            if (filter.exclude_outside && (k < 0 || k >= in)) continue;
            const double weight = filter.at((static_cast<double>(k) - centre) / width);
            of.push_back({static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, in - 1)), weight});
            sum += weight;
        }
        for (Tap& tap : of)
            tap.weight /= sum;
    }
    return taps;
}

Array resized(const NodeCall& call, const Array& x, std::size_t axis, std::int64_t out, const Filter& filter) {
    Shape shape = x.shape;
    call.require(shape[axis] > 0, "an axis without elements");
    shape[axis] = out;
    Array result = call.made(shape);
    const Taps taps = taps_of(filter, x.shape[axis], out);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < shape.size(); ++i)
        inner *= static_cast<std::size_t>(shape[i]);
    const std::size_t in = inner * static_cast<std::size_t>(x.shape[axis]);
    std::vector<double> sums(inner);
    for (std::size_t row = 0; inner > 0 && (row + 1) * inner <= result.reals.size(); ++row) {
        const std::size_t outer = row / taps.size();
        std::ranges::fill(sums, 0.0);
        for (const Tap& tap : taps[row % taps.size()]) {
            const float* const from = x.reals.data() + outer * in + tap.place * inner;
            for (std::size_t i = 0; i < inner; ++i)
                sums[i] += tap.weight * from[i];
        }
        std::ranges::transform(sums, result.reals.begin() + static_cast<std::ptrdiff_t>(row * inner),
                               [](double sum) { return static_cast<float>(sum); });
    }
    return result;
}

}  // namespace

/// Resizes to the sizes of input 3.
Array run_resize(const NodeCall& call) {
    if (call.has(1) || call.has(2)) call.unsupported("a region, or scales instead of sizes");
    const std::vector<std::int64_t>& sizes = call.integers(3).integers;
    const std::vector<std::int64_t> axes = call.list("axes", {});
    call.require(!axes.empty() && axes.size() == sizes.size(), "expected a size for each of its axes");
    const Filter filter(call);
    Array result = call.reals(0);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        result =
            resized(call, result, static_cast<std::size_t>(call.axis(axes[i], result.shape.size())), sizes[i], filter);
    }
    return result;
}

}  // namespace cnntrain::weights
