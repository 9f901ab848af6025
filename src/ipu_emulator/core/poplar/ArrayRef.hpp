#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <vector>

namespace poplar {

/// A view of elements that live elsewhere, used for arguments only.
template <class T> class ArrayRef {
public:
    constexpr ArrayRef() = default;
    constexpr ArrayRef(const T* data, std::size_t length) : data_(data), size_(length) {}
    constexpr ArrayRef(const T* first, const T* last) : data_(first), size_(static_cast<std::size_t>(last - first)) {}
    template <class Allocator> ArrayRef(const std::vector<T, Allocator>& elements)
        : data_(elements.data()), size_(elements.size()) {}
    template <std::size_t N> constexpr ArrayRef(const std::array<T, N>& elements) : data_(elements.data()), size_(N) {}
    template <std::size_t N> constexpr ArrayRef(const T (&elements)[N]) : data_(elements), size_(N) {}
    /// The list lives until the end of the call's full expression, as long as the argument is needed.
    constexpr ArrayRef(const std::initializer_list<T>& elements) : size_(elements.size()) { data_ = elements.begin(); }

    constexpr const T* data() const { return data_; }
    constexpr std::size_t size() const { return size_; }
    constexpr bool empty() const { return size_ == 0; }
    constexpr const T* begin() const { return data_; }
    constexpr const T* end() const { return data_ + size_; }
    constexpr const T& operator[](std::size_t i) const { return data_[i]; }
    std::vector<T> cloneAsVector() const { return std::vector<T>(begin(), end()); }

private:
    const T* data_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace poplar
