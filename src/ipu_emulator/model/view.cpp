#include "ipu_emulator/model/view.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <optional>
#include <tuple>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {

std::size_t type_size(poplar::Type type) {
    return with_element(Access::id(type), [](auto element) { return sizeof element; });
}

std::vector<std::byte> converted(poplar::Type from, const void* values, std::size_t count, poplar::Type to,
                                 std::size_t elements) {
    std::vector<std::byte> result(elements * type_size(to));
    const auto* source = static_cast<const std::byte*>(values);
    const std::size_t step = count == 1 ? 0 : type_size(from);
    with_element(Access::id(from), [&](auto value) {
        with_element(Access::id(to), [&](auto element) {
            for (std::size_t i = 0; i < elements; ++i) {
                std::memcpy(&value, source + i * step, sizeof value);
                element = converted<decltype(element)>(value);
                std::memcpy(result.data() + i * sizeof element, &element, sizeof element);
            }
        });
    });
    return result;
}

namespace {

std::size_t product(std::span<const std::size_t> shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::size_t product(std::span<const Loop> loops) {
    std::size_t count = 1;
    for (const Loop& loop : loops)
        count *= loop.extent;
    return count;
}

/// Appends a loop inside of the others, merged with the last one if they are one walk.
void append_loop(std::vector<Loop>& loops, Loop loop) {
    if (loop.extent == 1) return;
    if (!loops.empty() && loops.back().stride == loop.stride * static_cast<std::ptrdiff_t>(loop.extent)) {
        loops.back() = {loops.back().extent * loop.extent, loop.stride};
    } else {
        loops.push_back(loop);
    }
}

struct Part {
    std::size_t offset;
    std::vector<Loop> loops;
};

/// Elements [begin, end) of a nest, if they are a nest.
std::optional<Part> slice_loops(std::span<const Loop> loops, std::size_t offset, std::size_t begin, std::size_t end) {
    Part part{offset, {}};
    while (!loops.empty()) {
        const std::size_t block = product(loops.subspan(1));
        const Loop outermost = loops.front();
        loops = loops.subspan(1);
        if (begin % block == 0 && end % block == 0) {
            part.offset = moved(part.offset, begin / block, outermost.stride);
            append_loop(part.loops, {(end - begin) / block, outermost.stride});
            for (const Loop& loop : loops)
                append_loop(part.loops, loop);
            return part;
        }
        if (begin / block != (end - 1) / block) return std::nullopt;
        part.offset = moved(part.offset, begin / block, outermost.stride);
        end -= begin / block * block;
        begin %= block;
    }
    return part;
}

/// Every step-th element of a nest, if they are a nest.
std::optional<std::vector<Loop>> subsample_loops(std::span<const Loop> loops, std::size_t step) {
    std::vector<Loop> result(loops.begin(), loops.end());
    for (std::size_t i = result.size(); i-- > 0;) {
        Loop& loop = result[i];
        if (step == 1) break;
        if (i == 0 || loop.extent % step == 0) {
            loop = {(loop.extent + step - 1) / step, loop.stride * static_cast<std::ptrdiff_t>(step)};
            step = 1;
        } else if (step % loop.extent == 0) {
            step /= loop.extent;
            loop.extent = 1;
        } else {
            return std::nullopt;
        }
    }
    std::vector<Loop> merged;
    for (const Loop& loop : result)
        append_loop(merged, loop);
    return merged;
}

/// Appends a run in the order of elements, merged with the last one if they are one walk.
void append_run(std::vector<Run>& runs, Run run) {
    if (run.count == 0) return;
    if (run.count == 1) run.stride = 1;
    if (!runs.empty() && runs.back().variable == run.variable) {
        Run& last = runs.back();
        const auto gap = static_cast<std::ptrdiff_t>(run.offset) - static_cast<std::ptrdiff_t>(last.at(last.count - 1));
        const bool first_fits = last.count == 1 || last.stride == gap;
        const bool second_fits = run.count == 1 || run.stride == gap;
        if (first_fits && second_fits) {
            last.stride = gap;
            last.count += run.count;
            return;
        }
    }
    runs.push_back(run);
}

}  // namespace

View::View(std::uint32_t variable, std::span<const std::size_t> shape)
    : shape_(shape.begin(), shape.end()), variable_(variable), dims_(shape.size()) {
    std::ptrdiff_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0;) {
        append_loop(dims_[i], {shape[i], stride});
        stride *= static_cast<std::ptrdiff_t>(shape[i]);
    }
}

std::size_t View::elements() const {
    return product(shape_);
}

View View::slice(std::size_t begin, std::size_t end, std::size_t dim) const {
    std::vector<std::size_t> shape = shape_;
    shape[dim] = end - begin;
    if (product(shape) == 0) return View(variable_, shape);
    if (!strided_) return taken(places().slice(begin, end, dim));
    auto part = slice_loops(dims_[dim], offset_, begin, end);
    if (!part) return as_runs().slice(begin, end, dim);
    View result = *this;
    result.shape_ = std::move(shape);
    result.offset_ = part->offset;
    result.dims_[dim] = std::move(part->loops);
    return result;
}

View View::reshape(std::span<const std::size_t> shape) const {
    View result = *this;
    result.shape_.assign(shape.begin(), shape.end());
    if (!strided_) return result;
    if (elements() == 0) return View(variable_, shape);
    std::vector<Loop> rest = loops();
    std::size_t next = 0;
    result.dims_.assign(shape.size(), {});
    for (std::size_t dim = 0; dim < shape.size(); ++dim) {
        std::size_t missing = shape[dim];
        while (missing > 1) {
            Loop& loop = rest[next];
            if (missing % loop.extent == 0) {
                append_loop(result.dims_[dim], loop);
                missing /= loop.extent;
                ++next;
            } else if (loop.extent % missing == 0) {
                loop.extent /= missing;
                append_loop(result.dims_[dim], {missing, loop.stride * static_cast<std::ptrdiff_t>(loop.extent)});
                missing = 1;
            } else {
                return as_runs().reshape(shape);
            }
        }
    }
    return result;
}

View View::shuffle(std::span<const unsigned> permutation) const {
    std::vector<std::size_t> shape;
    for (const unsigned dim : permutation)
        shape.push_back(shape_[dim]);
    if (product(shape) == 0) return View(variable_, shape);
    if (!strided_) return taken(places().shuffle(permutation));
    View result = *this;
    result.shape_ = std::move(shape);
    for (std::size_t i = 0; i < permutation.size(); ++i)
        result.dims_[i] = dims_[permutation[i]];
    return result;
}

View View::broadcast(std::size_t times, std::size_t dim) const {
    std::vector<std::size_t> shape = shape_;
    shape[dim] *= times;
    if (product(shape) == 0) return View(variable_, shape);
    if (!strided_) return taken(places().broadcast(times, dim));
    View result = *this;
    result.shape_ = std::move(shape);
    result.dims_[dim].clear();
    append_loop(result.dims_[dim], {times, 0});
    for (const Loop& loop : dims_[dim])
        append_loop(result.dims_[dim], loop);
    return result;
}

View View::reverse(std::size_t dim) const {
    if (elements() == 0) return *this;
    if (!strided_) return taken(places().reverse(dim));
    View result = *this;
    for (Loop& loop : result.dims_[dim]) {
        result.offset_ = moved(result.offset_, loop.extent - 1, loop.stride);
        loop.stride = -loop.stride;
    }
    return result;
}

View View::subsample(std::size_t step, std::size_t dim) const {
    std::vector<std::size_t> shape = shape_;
    shape[dim] = (shape[dim] + step - 1) / step;
    if (product(shape) == 0) return View(variable_, shape);
    if (!strided_) return taken(places().subsample(step, dim));
    auto loops = subsample_loops(dims_[dim], step);
    if (!loops) return as_runs().subsample(step, dim);
    View result = *this;
    result.shape_ = std::move(shape);
    result.dims_[dim] = std::move(*loops);
    return result;
}

View View::concat(std::span<const View> views, std::size_t dim) {
    View result;
    result.strided_ = false;
    result.shape_ = views.front().shape_;
    result.shape_[dim] = 0;
    for (const View& view : views)
        result.shape_[dim] += view.shape_[dim];
    if (result.elements() == 0) return View(views.front().variable_, result.shape_);
    std::vector<View> parts;
    for (const View& view : views)
        if (view.elements() != 0) parts.push_back(view.as_runs());
    const std::size_t outer = product(std::span(result.shape_).first(dim));
    for (View& part : parts)
        part.shape_ = {outer, part.elements() / outer};
    for (std::size_t i = 0; i < outer; ++i) {
        for (const View& part : parts) {
            const View block = outer == 1 ? part : part.slice(i, i + 1, 0);
            for (const Run& run : block.runs_)
                append_run(result.runs_, run);
        }
    }
    return result;
}

View View::taken(const View& places) const {
    std::vector<std::size_t> starts;
    std::size_t start = 0;
    for (const Run& run : runs_) {
        starts.push_back(start);
        start += run.count;
    }
    View result;
    result.strided_ = false;
    result.shape_ = places.shape_;
    const auto append = [&](std::size_t begin, std::size_t end) {
        auto i = static_cast<std::size_t>(std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin() - 1);
        for (; begin < end; ++i) {
            const Run& run = runs_[i];
            const std::size_t from = begin - starts[i];
            const std::size_t count = std::min(run.count - from, end - begin);
            append_run(result.runs_, {run.variable, run.at(from), run.stride, count});
            begin += count;
        }
    };
    for (const Run& place : places.runs()) {
        const std::size_t step = place.stride == 1 ? place.count : 1;
        for (std::size_t i = 0; i < place.count; i += step)
            append(place.at(i), place.at(i) + step);
    }
    return result;
}

View View::as_runs() const {
    if (!strided_) return *this;
    View result;
    result.strided_ = false;
    result.shape_ = shape_;
    result.runs_ = runs();
    return result;
}

std::vector<Run> View::runs() const {
    if (!strided_) return runs_;
    std::vector<Run> result;
    if (elements() == 0) return result;
    const std::vector<Loop> nest = loops();
    if (nest.empty()) return {{variable_, offset_, 1, 1}};
    const Loop innermost = nest.back();
    const auto outer = std::span(nest).first(nest.size() - 1);
    std::vector<std::size_t> index(outer.size(), 0);
    std::size_t offset = offset_;
    for (std::size_t n = product(outer); n > 0; --n) {
        append_run(result, {variable_, offset, innermost.stride, innermost.extent});
        for (std::size_t i = outer.size(); i-- > 0;) {
            offset = moved(offset, 1, outer[i].stride);
            if (++index[i] < outer[i].extent) break;
            offset = moved(offset, outer[i].extent, -outer[i].stride);
            index[i] = 0;
        }
    }
    return result;
}

std::vector<Loop> View::loops() const {
    std::vector<Loop> result;
    for (const auto& dim : dims_) {
        for (const Loop& loop : dim)
            append_loop(result, loop);
    }
    return result;
}

std::vector<std::ptrdiff_t> View::strides() const {
    std::vector<std::ptrdiff_t> result;
    if (!strided_) return result;
    for (const auto& dim : dims_) {
        if (dim.size() > 1) return {};
        result.push_back(dim.empty() ? 0 : dim.front().stride);
    }
    return result;
}

View View::dense(std::uint32_t variable) const {
    if (!strided_ || has_aliases()) return View(variable, shape_);
    View result = *this;
    result.variable_ = variable;
    result.offset_ = 0;
    std::vector<Loop*> by_stride;
    for (auto& dim : result.dims_) {
        for (Loop& loop : dim)
            by_stride.push_back(&loop);
    }
    std::ranges::stable_sort(by_stride,
                             [](const Loop* a, const Loop* b) { return std::abs(a->stride) < std::abs(b->stride); });
    std::ptrdiff_t stride = 1;
    for (Loop* loop : by_stride) {
        loop->stride = stride;
        stride *= static_cast<std::ptrdiff_t>(loop->extent);
    }
    return result;
}

bool View::contiguous() const {
    if (elements() == 0) return true;
    if (strided_) {
        const std::vector<Loop> nest = loops();
        return nest.empty() || (nest.size() == 1 && nest.front().stride == 1);
    }
    return runs_.size() == 1 && runs_.front().stride == 1;
}

bool View::has_aliases() const {
    if (strided_) {  // only broadcasts make an element occur twice
        return elements() != 0 && std::ranges::any_of(loops(), [](const Loop& loop) { return loop.stride == 0; });
    }
    std::vector<std::tuple<std::uint32_t, std::size_t, std::size_t>> intervals;
    for (const Run& run : runs_) {
        if (run.stride == 1 || run.stride == -1) {
            const std::size_t low = run.stride == 1 ? run.offset : run.at(run.count - 1);
            intervals.emplace_back(run.variable, low, low + run.count);
        } else {
            for (std::size_t i = 0; i < run.count; ++i)
                intervals.emplace_back(run.variable, run.at(i), run.at(i) + 1);
        }
    }
    std::ranges::sort(intervals);
    for (std::size_t i = 1; i < intervals.size(); ++i) {
        const auto& [variable, begin, end] = intervals[i];
        const auto& [before, unused, before_end] = intervals[i - 1];
        if (variable == before && begin < before_end) return true;
    }
    return false;
}

}  // namespace ipu_emulator
