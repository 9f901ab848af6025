// Changes of shape and selections of elements.
#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "cnntrain/base/error.h"
#include "exports/onnx/operators.h"

namespace cnntrain::exports {

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

/// Of lists.
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

/// 0: the input's size; -1: what is left.
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

}  // namespace cnntrain::exports
