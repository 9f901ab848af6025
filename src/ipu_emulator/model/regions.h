// A view made ready for repeated walks: no searching, no allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <poplar/Graph.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {

/// Memory of the variables of one replica: bases[variable].
using Bases = std::byte* const*;

class Regions {
public:
    Regions(const GraphData& graph, const TensorData& tensor);

    poplar::Type type() const { return type_; }
    std::size_t count() const { return count_; }
    std::size_t element_size() const { return size_; }
    /// The tensor's memory if its elements follow each other, else null.
    std::byte* contiguous(Bases bases) const { return contiguous_ ? bases[variable_] + offset_ * size_ : nullptr; }
    /// The tiles of its elements, in order.
    const std::vector<TileSpan>& spans() const { return spans_; }
    /// The span of an element.
    const TileSpan& span_of(std::size_t element) const;

    /// Elements [begin, begin + count) in order.
    void gather(Bases bases, std::size_t begin, std::size_t count, void* to) const;
    void scatter(Bases bases, std::size_t begin, std::size_t count, const void* from) const;

    /// False if both have no element in common.
    bool may_overlap(const Regions& other) const;
    /// visit(variable, element) for elements [begin, begin + count).
    void for_each(std::size_t begin, std::size_t count,
                  const std::function<void(std::uint32_t variable, std::size_t element)>& visit) const;

private:
    /// The first and last element of each variable.
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> extents() const;

    static constexpr std::size_t kMostLoops = 12;

    /// Visits runs of elements [begin, begin + count): visit(variable, offset, stride, count).
    template <class Visit> void walk(std::size_t begin, std::size_t count, Visit visit) const;

    poplar::Type type_;
    std::size_t size_;
    std::size_t count_;
    bool contiguous_ = false;
    std::uint32_t variable_ = 0;
    std::size_t offset_ = 0;
    std::vector<Loop> loops_;  // strided form; empty if runs_ is used
    std::vector<Run> runs_;
    std::vector<std::size_t> starts_;  // of runs_
    std::vector<TileSpan> spans_;
};

/// Maps a variable that nobody maps by hand, with the least sizes that libraries use: 128 bytes on a tile, grains of
/// 8 bytes.
void map_linearly(poplar::Graph& graph, const poplar::Tensor& t);

/// A new variable, mapped linearly.
poplar::Tensor new_tensor(poplar::Graph& graph, poplar::Type type, poplar::ArrayRef<std::size_t> shape,
                          const std::string& name);
/// A new variable without a mapping, its dimensions in memory in the order of the dimensions of `t`.
poplar::Tensor like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t, const std::string& name);
/// The same, mapped like `t` where t is mapped on this graph's tiles without gaps, else linearly.
poplar::Tensor new_tensor_like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t,
                               const std::string& name);

}  // namespace ipu_emulator
