// Operators that work element by element, and reductions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "cnntrain/base/error.h"
#include "exports/onnx/operators.h"

namespace cnntrain::exports {

namespace {

template <typename Function> Array each(const NodeCall& call, Function function) {
    Array result = call.reals(0);
    std::ranges::transform(result.reals, result.reals.begin(), function);
    return result;
}

/// Steps through a tensor by the shape to which it is broadcast: 0 along axes that are repeated.
std::vector<std::size_t> broadcast_steps(const Shape& from, const Shape& to) {
    std::vector<std::size_t> steps(to.size(), 0);
    std::size_t step = 1;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::size_t axis = from.size() - 1 - i;
        if (from[axis] != 1) steps[to.size() - 1 - i] = step;
        step *= static_cast<std::size_t>(from[axis]);
    }
    return steps;
}

Shape broadcast_shape(const NodeCall& call, const Shape& a, const Shape& b) {
    Shape result(std::max(a.size(), b.size()));
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t of_a = i < a.size() ? a[a.size() - 1 - i] : 1;
        const std::int64_t of_b = i < b.size() ? b[b.size() - 1 - i] : 1;
        call.require(of_a == of_b || of_a == 1 || of_b == 1,
                     "shapes " + to_string(a) + " and " + to_string(b) + " do not fit");
        result[result.size() - 1 - i] = of_a == 1 ? of_b : of_a;
    }
    return result;
}

template <typename From, typename To, typename Function>
void combine(const Array& a, const std::vector<From>& of_a, const Array& b, const std::vector<From>& of_b,
             const Shape& shape, std::vector<To>& result, Function function) {
    if (result.empty()) return;
    const std::vector<std::size_t> steps_a = broadcast_steps(a.shape, shape);
    const std::vector<std::size_t> steps_b = broadcast_steps(b.shape, shape);
    const std::size_t row = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
    const std::size_t step_a = shape.empty() ? 0 : steps_a.back();
    const std::size_t step_b = shape.empty() ? 0 : steps_b.back();
    std::vector<std::int64_t> index(shape.size(), 0);
    for (std::size_t begin = 0; begin < result.size(); begin += row) {
        std::size_t at_a = 0;
        std::size_t at_b = 0;
        for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) {
            at_a += static_cast<std::size_t>(index[axis]) * steps_a[axis];
            at_b += static_cast<std::size_t>(index[axis]) * steps_b[axis];
        }
        for (std::size_t i = 0; i < row; ++i)
            result[begin + i] = function(of_a[at_a + i * step_a], of_b[at_b + i * step_b]);
        for (std::size_t axis = shape.empty() ? 0 : shape.size() - 1; axis-- > 0;) {
            if (++index[axis] < shape[axis]) break;
            index[axis] = 0;
        }
    }
}

/// On two tensors of real numbers or of integers. `on_integers` says whether its result fits.
template <typename OnReals, typename OnIntegers>
Array arithmetic(const NodeCall& call, OnReals on_reals, OnIntegers on_integers) {
    const Array& a = call.any(0);
    const Array& b = call.any(1);
    call.require(a.real == b.real, "real numbers and integers");
    Array result = call.made(broadcast_shape(call, a.shape, b.shape), a.real);
    if (a.real) {
        combine(a, a.reals, b, b.reals, result.shape, result.reals, on_reals);
        return result;
    }
    const auto checked = [&](std::int64_t x, std::int64_t y) {
        std::int64_t value = 0;
        call.require(on_integers(x, y, value), "the result for " + std::to_string(x) + " and " + std::to_string(y));
        return value;
    };
    combine(a, a.integers, b, b.integers, result.shape, result.integers, checked);
    return result;
}

template <typename Function> Array logic(const NodeCall& call, Function function) {
    const Array& a = call.integers(0);
    const Array& b = call.integers(1);
    Array result = call.made(broadcast_shape(call, a.shape, b.shape), /*real=*/false);
    combine(a, a.integers, b, b.integers, result.shape, result.integers, function);
    return result;
}

/// Integers that a double holds exactly.
constexpr double kLargestInteger = 9007199254740992;

/// Folds the elements of the axes that input 1 names, or of all axes; they stay with the size 1.
template <typename T, typename Fold> std::vector<T> reduced(const NodeCall& call, const Array& x,
                                                            const std::vector<T>& values, T first, Shape& shape,
                                                            Fold fold) {
    if (call.integer("keepdims", 1) != 1) call.unsupported("axes that are removed");
    std::set<std::int64_t> axes;
    if (call.has(1)) {
        for (const std::int64_t axis : call.integers(1).integers)
            axes.insert(call.axis(axis, x.shape.size()));
    }
    shape = x.shape;
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
        if (axes.empty() || axes.contains(static_cast<std::int64_t>(axis))) shape[axis] = 1;
    call.require(!values.empty(), "no elements");
    const std::vector<std::size_t> steps = broadcast_steps(shape, x.shape);
    std::vector<T> result(call.made(shape, x.real).size(), first);
    std::vector<std::int64_t> index(x.shape.size(), 0);
    for (const T value : values) {
        std::size_t place = 0;
        for (std::size_t axis = 0; axis < index.size(); ++axis)
            place += static_cast<std::size_t>(index[axis]) * steps[axis];
        result[place] = fold(result[place], value);
        for (std::size_t axis = index.size(); axis-- > 0;) {
            if (++index[axis] < x.shape[axis]) break;
            index[axis] = 0;
        }
    }
    return result;
}

template <typename Fold> Array extreme(const NodeCall& call, std::int64_t first, Fold fold) {
    const Array& x = call.integers(0);
    Array result{.real = false};
    result.integers = reduced(call, x, x.integers, first, result.shape, fold);
    return result;
}

}  // namespace

Array run_add(const NodeCall& call) {
    return arithmetic(call, std::plus<float>(), [](std::int64_t a, std::int64_t b, std::int64_t& sum) {
        return !__builtin_add_overflow(a, b, &sum);
    });
}

Array run_sub(const NodeCall& call) {
    return arithmetic(call, std::minus<float>(), [](std::int64_t a, std::int64_t b, std::int64_t& difference) {
        return !__builtin_sub_overflow(a, b, &difference);
    });
}

Array run_mul(const NodeCall& call) {
    return arithmetic(call, std::multiplies<float>(), [](std::int64_t a, std::int64_t b, std::int64_t& product) {
        return !__builtin_mul_overflow(a, b, &product);
    });
}

/// Integers are rounded towards 0.
Array run_div(const NodeCall& call) {
    return arithmetic(call, std::divides<float>(), [](std::int64_t a, std::int64_t b, std::int64_t& quotient) {
        const bool fits = b != 0 && !(b == -1 && a == std::numeric_limits<std::int64_t>::min());
        if (fits) quotient = a / b;
        return fits;
    });
}

Array run_max(const NodeCall& call) {
    call.require(call.count() == 2, "expected two inputs");
    return arithmetic(
        call, [](float a, float b) { return std::max(a, b); },
        [](std::int64_t a, std::int64_t b, std::int64_t& most) {
            most = std::max(a, b);
            return true;
        });
}

Array run_and(const NodeCall& call) {
    return logic(call, std::logical_and<std::int64_t>());
}

Array run_or(const NodeCall& call) {
    return logic(call, std::logical_or<std::int64_t>());
}

Array run_less(const NodeCall& call) {
    return logic(call, std::less<std::int64_t>());
}

Array run_equal(const NodeCall& call) {
    return logic(call, std::equal_to<std::int64_t>());
}

Array run_not(const NodeCall& call) {
    Array result = call.integers(0);
    for (std::int64_t& value : result.integers)
        value = value == 0 ? 1 : 0;
    return result;
}

/// Real numbers lose their fractions as integers.
Array run_cast(const NodeCall& call) {
    const std::int64_t to = call.integer("to", 0);
    const bool real = to == 1 || to == 10 || to == 16;
    if (!real && to != 6 && to != 7) call.unsupported("casts to ONNX's type " + std::to_string(to));
    const Array& from = call.any(0);
    Array result = call.made(from.shape, real);
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (real) {
            result.reals[i] = from.real ? from.reals[i] : static_cast<float>(from.integers[i]);
        } else {
            const bool fits = !from.real || std::abs(from.reals[i]) < kLargestInteger;
            call.require(fits, "a number that no integer holds");
            result.integers[i] = from.real ? static_cast<std::int64_t>(from.reals[i]) : from.integers[i];
        }
    }
    return result;
}

Array run_clip(const NodeCall& call) {
    const Array& least = call.reals(1, 0);
    const Array& most = call.reals(2, 0);
    return each(call, [&](float x) { return std::min(std::max(x, least.reals[0]), most.reals[0]); });
}

Array run_identity(const NodeCall& call) {
    return call.any(0);
}

Array run_relu(const NodeCall& call) {
    return each(call, [](float x) { return x > 0 || std::isnan(x) ? x : 0; });
}

Array run_sigmoid(const NodeCall& call) {
    return each(call, [](float x) { return 1 / (1 + std::exp(-x)); });
}

Array run_tanh(const NodeCall& call) {
    return each(call, [](float x) { return std::tanh(x); });
}

Array run_erf(const NodeCall& call) {
    return each(call, [](float x) { return std::erf(x); });
}

Array run_floor(const NodeCall& call) {
    return each(call, [](float x) { return std::floor(x); });
}

Array run_sqrt(const NodeCall& call) {
    return each(call, [](float x) { return std::sqrt(x); });
}

Array run_reduce_min(const NodeCall& call) {
    return extreme(call, std::numeric_limits<std::int64_t>::max(),
                   [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}

Array run_reduce_max(const NodeCall& call) {
    return extreme(call, std::numeric_limits<std::int64_t>::min(),
                   [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
}

Array run_reduce_mean(const NodeCall& call) {
    const Array& x = call.reals(0);
    const std::vector<double> values(x.reals.begin(), x.reals.end());
    Shape shape;
    const std::vector<double> sums = reduced(call, x, values, 0.0, shape, std::plus<double>());
    Array result = call.made(shape);
    const double count = static_cast<double>(values.size()) / static_cast<double>(sums.size());
    std::ranges::transform(sums, result.reals.begin(), [&](double sum) { return static_cast<float>(sum / count); });
    return result;
}

}  // namespace cnntrain::exports
