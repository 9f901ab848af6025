#pragma once

#include <cstddef>

namespace poplar {

/// Elements [begin, end) of a flattened tensor.
class Interval {
public:
    Interval() = default;
    Interval(std::size_t begin, std::size_t end) : begin_(begin), end_(end) {}

    std::size_t begin() const { return begin_; }
    std::size_t end() const { return end_; }
    std::size_t size() const { return end_ - begin_; }

    friend bool operator==(const Interval&, const Interval&) = default;

private:
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
};

}  // namespace poplar
