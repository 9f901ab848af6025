// Resize (https://onnx.ai/onnx/operators/onnx__Resize.html): linear and cubic, one axis after the other.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "exports/onnx/operators.h"

namespace cnntrain::exports {

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

/// What the attributes say.
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

/// Of `in` elements that become `out`.
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

/// To the sizes of input 3.
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

}  // namespace cnntrain::exports
