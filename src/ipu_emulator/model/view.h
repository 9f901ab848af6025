// Views of variables' elements, as tensors hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ipu_emulator {

/// The offset `steps` strides further on.
inline std::size_t moved(std::size_t offset, std::size_t steps, std::ptrdiff_t stride) {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(offset) + static_cast<std::ptrdiff_t>(steps) * stride);
}

/// `extent` elements, `stride` apart.
struct Loop {
    std::size_t extent = 1;
    std::ptrdiff_t stride = 0;

    friend bool operator==(const Loop&, const Loop&) = default;
};

/// Elements offset, offset + stride, ... of a variable.
struct Run {
    std::uint32_t variable = 0;
    std::size_t offset = 0;
    std::ptrdiff_t stride = 1;
    std::size_t count = 0;

    std::size_t at(std::size_t i) const { return moved(offset, i, stride); }
    friend bool operator==(const Run&, const Run&) = default;
};

/// Elements of a tensor in row-major order, in one of two forms. Strided: one variable; each dimension is a nest of
/// loops (outermost first), so that merged dimensions need no equal strides. Runs: a list in the order of the elements,
/// for concatenations and for what does not fit the first form.
class View {
public:
    View() = default;
    /// All elements of a variable.
    View(std::uint32_t variable, std::span<const std::size_t> shape);

    const std::vector<std::size_t>& shape() const { return shape_; }
    std::size_t elements() const;
    bool strided() const { return strided_; }

    // Arguments are checked by the caller.
    View slice(std::size_t begin, std::size_t end, std::size_t dim) const;
    View reshape(std::span<const std::size_t> shape) const;
    View shuffle(std::span<const unsigned> permutation) const;
    View broadcast(std::size_t times, std::size_t dim) const;
    View reverse(std::size_t dim) const;
    View subsample(std::size_t step, std::size_t dim) const;
    static View concat(std::span<const View> views, std::size_t dim);

    /// The runs in the order of the elements, as few as possible.
    std::vector<Run> runs() const;
    /// All loops of a strided view, outermost first, as few as possible.
    std::vector<Loop> loops() const;
    std::uint32_t variable() const { return variable_; }
    std::size_t offset() const { return offset_; }
    /// The stride of each dimension of a strided view; empty if a dimension has none.
    std::vector<std::ptrdiff_t> strides() const;

    /// The same shape in a new variable without gaps. The dimensions of a strided view keep the order of its memory;
    /// runs and broadcasts get the order of the elements.
    View dense(std::uint32_t variable) const;

    bool contiguous() const;
    bool has_aliases() const;

    /// The same elements in the same form.
    friend bool operator==(const View&, const View&) = default;

private:
    /// The places of elements in row-major order, as a strided view of the same shape.
    View places() const { return View(0, shape_); }
    /// The elements of a view of runs at these places.
    View taken(const View& places) const;
    View as_runs() const;

    std::vector<std::size_t> shape_;
    bool strided_ = true;
    std::uint32_t variable_ = 0;
    std::size_t offset_ = 0;
    std::vector<std::vector<Loop>> dims_;
    std::vector<Run> runs_;
};

}  // namespace ipu_emulator
