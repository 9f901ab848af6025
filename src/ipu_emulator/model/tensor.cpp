#include <poplar/Tensor.hpp>

#include <algorithm>
#include <functional>
#include <numeric>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {

const TensorData& Access::data(const poplar::Tensor& t) {
    if (t.data_ == nullptr) throw poplar::tensor_creation_error("Tensor: used before it was assigned");
    return *t.data_;
}

std::size_t element_count(poplar::ArrayRef<std::size_t> shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

poplar::Tensor make_tensor(GraphData& graph, poplar::Type type, View view) {
    return Access::tensor(std::make_shared<const TensorData>(TensorData{&graph, type, std::move(view)}));
}

std::string shape_text(poplar::ArrayRef<std::size_t> shape) {
    std::string text = "[";
    for (const std::size_t extent : shape)
        text += (text.size() > 1 ? "," : "") + std::to_string(extent);
    return text + "]";
}

void check_writeable(const poplar::Tensor& t, const std::string& what) {
    if (t.containsConstant())
        throw poplar::graph_connection_error(what + ": the destination " + t.shapeToString() + " has constants");
    if (t.containsAliases()) {
        throw poplar::graph_connection_error(what + ": an element occurs twice in the destination " +
                                             t.shapeToString() + "; write to the tensor before it is broadcast");
    }
}

}  // namespace ipu_emulator

namespace poplar {

using namespace ipu_emulator;

namespace {

Tensor with_view(const Tensor& t, View view) {
    return make_tensor(*Access::data(t).graph, Access::data(t).type, std::move(view));
}

const View& view(const Tensor& t) {
    return Access::data(t).view;
}

[[noreturn]] void wrong(const std::string& where, const Tensor& t, const std::string& what) {
    throw index_error("Tensor::" + where + ": " + what + " of a tensor " + t.shapeToString());
}

void check_dim(const std::string& where, const Tensor& t, std::size_t dim) {
    if (dim >= t.rank()) wrong(where, t, "there is no dimension " + std::to_string(dim));
}

void check_range(const std::string& where, const Tensor& t, std::size_t begin, std::size_t end, std::size_t dim) {
    check_dim(where, t, dim);
    if (begin > end || end > view(t).shape()[dim]) {
        wrong(where, t,
              "there are no elements " + std::to_string(begin) + " to " + std::to_string(end) + " in dimension " +
                  std::to_string(dim));
    }
}

void check_permutation(const Tensor& t, ArrayRef<unsigned> permutation) {
    std::vector<unsigned> sorted = permutation.cloneAsVector();
    std::ranges::sort(sorted);
    bool good = sorted.size() == t.rank();
    for (unsigned i = 0; good && i < sorted.size(); ++i)
        good = sorted[i] == i;
    if (!good) wrong("dimShuffle", t, "expected each dimension once");
}

}  // namespace

Type Tensor::elementType() const {
    return Access::data(*this).type;
}

std::size_t Tensor::rank() const {
    return view(*this).shape().size();
}

std::size_t Tensor::dim(unsigned i) const {
    check_dim("dim", *this, i);
    return view(*this).shape()[i];
}

std::vector<std::size_t> Tensor::shape() const {
    return view(*this).shape();
}

std::size_t Tensor::numElements() const {
    return view(*this).elements();
}

std::string Tensor::shapeToString() const {
    return shape_text(view(*this).shape());
}

bool Tensor::containsAliases() const {
    return view(*this).has_aliases();
}

bool Tensor::containsConstant() const {
    const auto& variables = Access::data(*this).graph->variables;
    if (view(*this).elements() == 0) return false;
    if (view(*this).strided()) return variables[view(*this).variable()].content != Content::variable;
    return std::ranges::any_of(view(*this).runs(),
                               [&](const Run& run) { return variables[run.variable].content != Content::variable; });
}

Tensor Tensor::operator[](std::size_t i) const {
    return slice(i, i + 1, 0).squeeze({0});
}

Tensor Tensor::slice(std::size_t begin, std::size_t end, unsigned dimension) const {
    check_range("slice", *this, begin, end, dimension);
    return with_view(*this, view(*this).slice(begin, end, dimension));
}

Tensor Tensor::slice(const Interval& region, unsigned dimension) const {
    return slice(region.begin(), region.end(), dimension);
}

Tensor Tensor::flatten() const {
    return reshape({numElements()});
}

Tensor Tensor::flatten(unsigned dimBegin, unsigned dimEnd) const {
    if (dimBegin > dimEnd || dimEnd > rank()) wrong("flatten", *this, "dimensions are out of range");
    std::size_t merged = 1;
    for (unsigned dim = dimBegin; dim < dimEnd; ++dim)
        merged *= this->dim(dim);
    return reshapePartial(dimBegin, dimEnd, {merged});
}

Tensor Tensor::reshape(ArrayRef<std::size_t> shape) const {
    if (element_count(shape) != numElements())
        wrong("reshape", *this, "the shape " + shape_text(shape) + " does not have the elements");
    return with_view(*this, view(*this).reshape({shape.data(), shape.size()}));
}

Tensor Tensor::reshapePartial(unsigned beginIndex, unsigned endIndex, ArrayRef<std::size_t> newDims) const {
    if (beginIndex > endIndex || endIndex > rank()) wrong("reshapePartial", *this, "dimensions are out of range");
    const std::vector<std::size_t> old = shape();
    std::vector<std::size_t> shape(old.begin(), old.begin() + beginIndex);
    shape.insert(shape.end(), newDims.begin(), newDims.end());
    shape.insert(shape.end(), old.begin() + endIndex, old.end());
    return reshape(shape);
}

Tensor Tensor::dimShuffle(ArrayRef<unsigned> permutation) const {
    check_permutation(*this, permutation);
    return with_view(*this, view(*this).shuffle({permutation.data(), permutation.size()}));
}

Tensor Tensor::dimShufflePartial(ArrayRef<unsigned> source, ArrayRef<unsigned> destination) const {
    if (source.size() != destination.size()) wrong("dimShufflePartial", *this, "expected as many sources");
    constexpr unsigned kFree = ~0u;
    std::vector<unsigned> permutation(rank(), kFree);
    for (std::size_t i = 0; i < source.size(); ++i) {
        check_dim("dimShufflePartial", *this, source[i]);
        check_dim("dimShufflePartial", *this, destination[i]);
        permutation[destination[i]] = source[i];
    }
    std::size_t next = 0;
    for (unsigned dim = 0; dim < rank(); ++dim) {
        if (std::find(source.begin(), source.end(), dim) != source.end()) continue;
        while (next < rank() && permutation[next] != kFree)
            ++next;
        if (next < rank()) permutation[next] = dim;
    }
    return dimShuffle(permutation);
}

Tensor Tensor::dimRoll(unsigned dimIdx, unsigned newIdx) const {
    return dimShufflePartial({dimIdx}, {newIdx});
}

Tensor Tensor::transpose() const {
    std::vector<unsigned> permutation(rank());
    for (unsigned i = 0; i < permutation.size(); ++i)
        permutation[i] = static_cast<unsigned>(rank()) - 1 - i;
    return dimShuffle(permutation);
}

Tensor Tensor::expand(ArrayRef<std::size_t> indices) const {
    std::vector<std::size_t> before = indices.cloneAsVector();
    std::ranges::sort(before);
    std::vector<std::size_t> shape;
    std::size_t next = 0;
    for (std::size_t dim = 0; dim <= rank(); ++dim) {
        for (; next < before.size() && before[next] == dim; ++next)
            shape.push_back(1);
        if (dim < rank()) shape.push_back(view(*this).shape()[dim]);
    }
    if (next != before.size()) wrong("expand", *this, "there is no dimension " + std::to_string(before[next]));
    return reshape(shape);
}

Tensor Tensor::squeeze(ArrayRef<std::size_t> indices) const {
    std::vector<std::size_t> shape;
    for (const std::size_t dim : indices) {
        check_dim("squeeze", *this, dim);
        if (view(*this).shape()[dim] != 1)
            wrong("squeeze", *this, "dimension " + std::to_string(dim) + " is not of one element");
    }
    for (std::size_t dim = 0; dim < rank(); ++dim)
        if (std::find(indices.begin(), indices.end(), dim) == indices.end()) shape.push_back(view(*this).shape()[dim]);
    return reshape(shape);
}

Tensor Tensor::broadcast(unsigned N, unsigned dimension) const {
    check_dim("broadcast", *this, dimension);
    return with_view(*this, view(*this).broadcast(N, dimension));
}

Tensor Tensor::reverse(unsigned dimension) const {
    check_dim("reverse", *this, dimension);
    return with_view(*this, view(*this).reverse(dimension));
}

Tensor Tensor::subSample(unsigned stride, unsigned dimension) const {
    check_dim("subSample", *this, dimension);
    if (stride == 0) wrong("subSample", *this, "there is no stride of 0");
    return with_view(*this, view(*this).subsample(stride, dimension));
}

Tensor Tensor::reinterpret(const Type& type) const {
    if (type_size(type) != type_size(elementType())) {
        throw type_error("Tensor::reinterpret: " + type.toString() + " and " + elementType().toString() +
                         " differ in size");
    }
    return make_tensor(*Access::data(*this).graph, type, view(*this));
}

Tensor concat(ArrayRef<Tensor> tensors, unsigned dimension) {
    if (tensors.empty()) throw tensor_creation_error("concat: expected a tensor, got none");
    const Tensor& first = tensors[0];
    check_dim("concat", first, dimension);
    std::vector<View> views;
    for (const Tensor& t : tensors) {
        if (t.elementType() != first.elementType()) {
            throw type_error("concat: the types " + first.elementType().toString() + " and " +
                             t.elementType().toString() + " differ");
        }
        std::vector<std::size_t> expected = first.shape();
        if (dimension < t.rank()) expected[dimension] = t.dim(dimension);
        if (t.shape() != expected || Access::data(t).graph != Access::data(first).graph) {
            wrong("concat", t,
                  "another shape or graph than " + first.shapeToString() + " beside dimension " +
                      std::to_string(dimension));
        }
        views.push_back(view(t));
    }
    if (views.size() == 1) return first;
    return with_view(first, View::concat(views, dimension));
}

Tensor concat(const Tensor& first, const Tensor& second, unsigned dimension) {
    return concat({first, second}, dimension);
}

}  // namespace poplar
