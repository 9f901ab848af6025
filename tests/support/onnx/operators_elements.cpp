// Operators that work element by element, and reductions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <set>

#include "cnntrain/base/error.h"
#include "support/onnx/operators.h"

namespace cnntrain::weights {
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

/// Computes on two tensors of real numbers or of integers. `on_integers` says whether its result fits.
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

/// `first`: beyond all numbers, in the direction in which fold(a, b) prefers the other one.
template <typename Fold> Array extreme(const NodeCall& call, std::int64_t first, Fold fold) {
    const Array& x = call.any(0);
    Array result{.real = x.real};
    if (x.real) {
        result.reals = reduced(call, x, x.reals, static_cast<float>(first), result.shape, fold);
    } else {
        result.integers = reduced(call, x, x.integers, first, result.shape, fold);
    }
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

Array run_min(const NodeCall& call) {
    call.require(call.count() == 2, "expected two inputs");
    return arithmetic(
        call, [](float a, float b) { return std::min(a, b); },
        [](std::int64_t a, std::int64_t b, std::int64_t& least) {
            least = std::min(a, b);
            return true;
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
    if (!real && to != 2 && to != 6 && to != 7) call.unsupported("casts to ONNX's type " + std::to_string(to));
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

/// Numbers of uint8. They are kept as reals, as which the other operators read them.
Array run_quantize_linear(const NodeCall& call) {
    const float scale = call.reals(1, 0).reals[0];
    const auto zero = static_cast<float>(call.integers(2).integers[0]);
    return each(call, [&](float x) { return std::clamp(std::nearbyint(x / scale) + zero, 0.0F, 255.0F); });
}

/// One scale is for all numbers, or one for each index of the first axis.
Array run_dequantize_linear(const NodeCall& call) {
    const Array& numbers = call.any(0);
    const Array& scales = call.reals(1);
    call.require(scales.shape.empty() || call.integer("axis", 1) == 0, "scales along another axis than the first");
    const float zero = call.has(2) ? static_cast<float>(call.integers(2).integers[0]) : 0;
    Array result = call.made(numbers.shape);
    const std::size_t each = result.size() / scales.reals.size();
    for (std::size_t i = 0; i < result.size(); ++i) {
        const float number = numbers.real ? numbers.reals[i] : static_cast<float>(numbers.integers[i]);
        result.reals[i] = scales.reals[i / each] * (number - zero);
    }
    return result;
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

Array run_round(const NodeCall& call) {
    return each(call, [](float x) { return std::nearbyint(x); });
}

Array run_floor(const NodeCall& call) {
    return each(call, [](float x) { return std::floor(x); });
}

Array run_sqrt(const NodeCall& call) {
    return each(call, [](float x) { return std::sqrt(x); });
}

Array run_reduce_min(const NodeCall& call) {
    return extreme(call, std::numeric_limits<std::int64_t>::max(), [](auto a, auto b) { return std::min(a, b); });
}

Array run_reduce_max(const NodeCall& call) {
    return extreme(call, std::numeric_limits<std::int64_t>::min(), [](auto a, auto b) { return std::max(a, b); });
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

// Changes of shape and selections of elements.

namespace {

/// Element by element: result[i] = x[place(index of i)].
template <typename Place> void select(const Array& x, Array& result, Place place) {
    std::vector<std::int64_t> index(result.shape.size(), 0);
    for (std::size_t i = 0; i < result.size(); ++i) {
        const std::int64_t from = place(index);
        if (from >= 0) {
            if (x.real) {
                result.reals[i] = x.reals[at(from)];
            } else {
                result.integers[i] = x.integers[at(from)];
            }
        }
        for (std::size_t axis = index.size(); axis-- > 0;) {
            if (++index[axis] < result.shape[axis]) break;
            index[axis] = 0;
        }
    }
}

std::vector<std::int64_t> steps_of(const Shape& shape) {
    std::vector<std::int64_t> steps(shape.size(), 1);
    for (std::size_t i = shape.size(); i-- > 1;)
        steps[i - 1] = steps[i] * shape[i];
    return steps;
}

Array with_shape(const NodeCall& call, const Array& x, const Shape& shape) {
    Array result = x;
    result.shape = shape;
    call.require(call.made(shape, x.real).size() == x.size(), to_string(x.shape) + " as " + to_string(shape));
    return result;
}

}  // namespace

/// The sizes of the axes from "start" to "end".
Array run_shape(const NodeCall& call) {
    const Shape& shape = call.any(0).shape;
    const auto rank = std::ssize(shape);
    const auto place = [&](const char* attribute, std::int64_t fallback) {
        const std::int64_t value = call.integer(attribute, fallback);
        return std::clamp<std::int64_t>(value < 0 ? std::max(value, -rank) + rank : value, 0, rank);
    };
    const std::int64_t begin = place("start", 0);
    const std::int64_t count = std::max<std::int64_t>(place("end", rank) - begin, 0);
    Array result = call.made({count}, /*real=*/false);
    std::copy_n(shape.begin() + begin, count, result.integers.begin());
    return result;
}

/// Concatenates lists.
Array run_concat(const NodeCall& call) {
    Array result{.shape = {0}, .real = false};
    for (std::size_t i = 0; i < call.count(); ++i) {
        const Array& part = call.integers(i);
        if (part.shape.size() != 1 || call.integer("axis", 0) != 0) call.unsupported("tensors of several axes");
        result.shape[0] += part.shape[0];
        static_cast<void>(call.made(result.shape, /*real=*/false));
        result.integers.insert(result.integers.end(), part.integers.begin(), part.integers.end());
    }
    return result;
}

/// Reshapes; a size 0 means the input's size, -1 the size that is left.
Array run_reshape(const NodeCall& call) {
    const Array& x = call.any(0);
    Shape shape = call.integers(1).integers;
    std::int64_t known = 1;
    std::ptrdiff_t open = -1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        if (shape[i] == 0) {
            call.require(i < x.shape.size(),
                         "the shape copies axis " + std::to_string(i) + " of " + to_string(x.shape));
            shape[i] = x.shape[i];
        }
        call.require(shape[i] >= -1 && shape[i] < std::numeric_limits<std::int32_t>::max(),
                     "the shape " + to_string(shape));
        if (shape[i] == -1) {
            call.require(open < 0, "the shape leaves two axes open");
            open = static_cast<std::ptrdiff_t>(i);
        } else {
            known = std::min<std::int64_t>(known * std::max<std::int64_t>(shape[i], 1), std::int64_t{1} << 31);
        }
    }
    if (open >= 0) shape[static_cast<std::size_t>(open)] = static_cast<std::int64_t>(x.size()) / known;
    return with_shape(call, x, shape);
}

Array run_flatten(const NodeCall& call) {
    const Array& x = call.any(0);
    const std::int64_t axis = call.integer("axis", 1);
    call.require(axis >= 0 && axis <= std::ssize(x.shape), "axis " + std::to_string(axis));
    Shape shape = {1, 1};
    for (std::size_t i = 0; i < x.shape.size(); ++i)
        shape[i < at(axis) ? 0 : 1] *= x.shape[i];
    return with_shape(call, x, shape);
}

Array run_transpose(const NodeCall& call) {
    const Array& x = call.any(0);
    const std::vector<std::int64_t> order = call.list("perm", {});
    std::vector<std::int64_t> sorted = order;
    std::ranges::sort(sorted);
    std::vector<std::int64_t> all(x.shape.size());
    std::iota(all.begin(), all.end(), 0);
    call.require(sorted == all, "an order of other axes than those of " + to_string(x.shape));
    const std::vector<std::int64_t> steps = steps_of(x.shape);
    Shape shape;
    for (const std::int64_t axis : order)
        shape.push_back(x.shape[at(axis)]);
    Array result = call.made(shape, x.real);
    select(x, result, [&](const std::vector<std::int64_t>& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < index.size(); ++i)
            place += index[i] * steps[at(order[i])];
        return place;
    });
    return result;
}

Array run_unsqueeze(const NodeCall& call) {
    const Array& x = call.any(0);
    const std::vector<std::int64_t>& axes = call.integers(1).integers;
    const std::size_t rank = x.shape.size() + axes.size();
    std::set<std::int64_t> added;
    for (const std::int64_t axis : axes)
        call.require(added.insert(call.axis(axis, rank)).second, "an axis is added twice");
    Shape shape;
    auto next = x.shape.begin();
    for (std::size_t i = 0; i < rank; ++i)
        shape.push_back(added.contains(static_cast<std::int64_t>(i)) ? 1 : *next++);
    return with_shape(call, x, shape);
}

Array run_slice(const NodeCall& call) {
    const Array& x = call.any(0);
    const std::vector<std::int64_t>& begins = call.integers(1).integers;
    const std::vector<std::int64_t>& ends = call.integers(2).integers;
    const std::vector<std::int64_t>& axes = call.integers(3).integers;
    const std::vector<std::int64_t> ones(axes.size(), 1);
    const std::vector<std::int64_t>& strides = call.has(4) ? call.integers(4).integers : ones;
    call.require(begins.size() == axes.size() && ends.size() == axes.size() && strides.size() == axes.size(),
                 "expected as many begins, ends and steps as axes");
    Shape shape = x.shape;
    std::vector<std::int64_t> first(shape.size(), 0);
    std::vector<std::int64_t> step(shape.size(), 1);
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::size_t axis = at(call.axis(axes[i], shape.size()));
        if (begins[i] < 0 || ends[i] < 0 || strides[i] < 1) call.unsupported("places that count from the end");
        const std::int64_t begin = std::min(begins[i], x.shape[axis]);
        const std::int64_t end = std::min(ends[i], x.shape[axis]);
        first[axis] = begin;
        step[axis] = strides[i];
        shape[axis] = begin >= end ? 0 : (end - begin - 1) / strides[i] + 1;
    }
    const std::vector<std::int64_t> steps = steps_of(x.shape);
    Array result = call.made(shape, x.real);
    select(x, result, [&](const std::vector<std::int64_t>& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < index.size(); ++i)
            place += (first[i] + index[i] * step[i]) * steps[i];
        return place;
    });
    return result;
}

/// Zeros around.
Array run_pad(const NodeCall& call) {
    const Array& x = call.reals(0);
    const std::vector<std::int64_t>& pads = call.integers(1).integers;
    const std::size_t rank = x.shape.size();
    call.require(pads.size() == 2 * rank, "expected two paddings for each axis");
    if (call.has(2)) {
        const Array& value = call.reals(2);
        call.require(value.reals.size() == 1, "expected one value");
        if (value.reals.front() != 0) call.unsupported("another padding than zeros");
    }
    Shape shape = x.shape;
    for (std::size_t i = 0; i < rank; ++i) {
        for (const std::int64_t pad : {pads[i], pads[i + rank]})
            call.require(pad >= 0 && pad < (std::int64_t{1} << 31), "a padding of " + std::to_string(pad));
        shape[i] += pads[i] + pads[i + rank];
    }
    const std::vector<std::int64_t> steps = steps_of(x.shape);
    Array result = call.made(shape);
    select(x, result, [&](const std::vector<std::int64_t>& index) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < rank; ++i) {
            const std::int64_t from = index[i] - pads[i];
            if (from < 0 || from >= x.shape[i]) return std::int64_t{-1};
            place += from * steps[i];
        }
        return place;
    });
    return result;
}

Array run_gather(const NodeCall& call) {
    const Array& x = call.any(0);
    const Array& indices = call.integers(1);
    if (call.integer("axis", 0) != 0) call.unsupported("another axis than the first");
    call.require(!x.shape.empty() && x.shape[0] > 0, "expected rows");
    Shape shape = indices.shape;
    shape.insert(shape.end(), x.shape.begin() + 1, x.shape.end());
    Array result = call.made(shape, x.real);
    const std::size_t row = x.size() / at(x.shape[0]);
    for (std::size_t i = 0; i < indices.integers.size(); ++i) {
        const std::int64_t index = indices.integers[i];
        call.require(index >= 0 && index < x.shape[0],
                     "row " + std::to_string(index) + " of " + std::to_string(x.shape[0]));
        if (x.real) {
            std::copy_n(x.reals.begin() + static_cast<std::ptrdiff_t>(at(index) * row), row,
                        result.reals.begin() + static_cast<std::ptrdiff_t>(i * row));
        } else {
            std::copy_n(x.integers.begin() + static_cast<std::ptrdiff_t>(at(index) * row), row,
                        result.integers.begin() + static_cast<std::ptrdiff_t>(i * row));
        }
    }
    return result;
}

/// x[B,S,C], indices[B,M,1] -> [B,M,C]: batch_dims 1.
Array run_gather_nd(const NodeCall& call) {
    const Array& x = call.reals(0, 3);
    const Array& indices = call.integers(1);
    if (call.integer("batch_dims", 0) != 1 || indices.shape.size() != 3 || indices.shape[2] != 1)
        call.unsupported("other indices than one row of each sample");
    call.require(indices.shape[0] == x.shape[0], "indices " + to_string(indices.shape) + " of " + to_string(x.shape));
    Array result = call.made({x.shape[0], indices.shape[1], x.shape[2]});
    const std::size_t row = at(x.shape[2]);
    for (std::size_t i = 0; i < indices.integers.size(); ++i) {
        const std::int64_t index = indices.integers[i];
        call.require(index >= 0 && index < x.shape[1],
                     "row " + std::to_string(index) + " of " + std::to_string(x.shape[1]));
        const std::size_t sample = i / at(indices.shape[1]);
        std::copy_n(x.reals.begin() + static_cast<std::ptrdiff_t>((sample * at(x.shape[1]) + at(index)) * row), row,
                    result.reals.begin() + static_cast<std::ptrdiff_t>(i * row));
    }
    return result;
}

}  // namespace cnntrain::weights
