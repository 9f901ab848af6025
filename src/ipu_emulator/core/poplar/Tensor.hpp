#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <poplar/ArrayRef.hpp>
#include <poplar/DebugContext.hpp>
#include <poplar/Interval.hpp>
#include <poplar/Type.hpp>

namespace ipu_emulator {
struct Access;
struct TensorData;
}  // namespace ipu_emulator

namespace poplar {

class Graph;

/// A view of elements of variables. Views never copy; errors of arguments are index_error.
class Tensor {
public:
    Tensor() = default;

    Type elementType() const;
    std::size_t rank() const;
    std::size_t dim(unsigned i) const;
    std::vector<std::size_t> shape() const;
    std::size_t numElements() const;
    std::string shapeToString() const;
    bool valid() const { return data_ != nullptr; }
    /// True if an element occurs twice.
    bool containsAliases() const;
    bool containsConstant() const;

    Tensor operator[](std::size_t i) const;
    Tensor slice(std::size_t begin, std::size_t end, unsigned dimension) const;
    Tensor slice(std::size_t begin, std::size_t end) const { return slice(begin, end, 0); }
    Tensor slice(const Interval& region, unsigned dimension = 0) const;
    Tensor flatten() const;
    /// Merges dimensions [dimBegin, dimEnd).
    Tensor flatten(unsigned dimBegin, unsigned dimEnd) const;
    Tensor reshape(ArrayRef<std::size_t> shape) const;
    /// Replaces dimensions [beginIndex, endIndex) by newDims.
    Tensor reshapePartial(unsigned beginIndex, unsigned endIndex, ArrayRef<std::size_t> newDims) const;
    /// Dimension i of the result is dimension permutation[i] of this tensor.
    Tensor dimShuffle(ArrayRef<unsigned> permutation) const;
    /// Moves dimensions source[i] to destination[i]; the others keep their order.
    Tensor dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const;
    Tensor dimRoll(unsigned dimIdx, unsigned newIdx = 0) const;
    /// Reverses the order of the dimensions.
    Tensor transpose() const;
    /// Inserts a dimension of one element before each dimension that indices names.
    Tensor expand(ArrayRef<std::size_t> indices) const;
    Tensor squeeze(ArrayRef<std::size_t> indices) const;
    /// Repeats the tensor N times along the dimension.
    Tensor broadcast(unsigned N, unsigned dimension) const;
    Tensor reverse(unsigned dimension) const;
    /// Every stride-th element of the dimension, from the first on.
    Tensor subSample(unsigned stride, unsigned dimension) const;
    /// The same bits as another type of the same size.
    Tensor reinterpret(const Type& type) const;

private:
    friend struct ipu_emulator::Access;
    explicit Tensor(std::shared_ptr<const ipu_emulator::TensorData> data) : data_(std::move(data)) {}

    std::shared_ptr<const ipu_emulator::TensorData> data_;
};

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension = 0);
Tensor concat(const Tensor& first, const Tensor& second, unsigned dimension = 0);

}  // namespace poplar
