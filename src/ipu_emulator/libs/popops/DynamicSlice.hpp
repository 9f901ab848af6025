#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Layout of a tensor's slices on tiles. Has no influence on results.
class SlicePlan {
public:
    SlicePlan() = default;
};

namespace embedding {

SlicePlan plan(const poplar::Graph& graph, const poplar::Type& dataType, std::size_t numEntries, std::size_t outputSize,
               const std::vector<std::size_t>& numLookups, const poplar::OptionFlags& options);

}  // namespace embedding

// An offset out of range reads as if it were 0. multi...: `t` [entries][width], `offsets` [n][1] UNSIGNED_INT, slices
// [n][1][width], dims {0}, sizes {1}; offsets out of range update nothing.

poplar::Tensor createSliceableTensor(poplar::Graph& graph, const poplar::Type& type,
                                     const std::vector<std::size_t>& shape, const std::vector<std::size_t>& dims,
                                     const std::vector<std::size_t>& sizes, const SlicePlan& plan,
                                     const poplar::OptionFlags& options, const poplar::DebugContext& debugContext = {});

/// The slice of `sizes` elements of `t` along `dims` that begins at `offset` [dims] UNSIGNED_INT.
poplar::Tensor dynamicSlice(poplar::Graph& graph, const poplar::Tensor& t, const poplar::Tensor& offset,
                            const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes,
                            poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                            const poplar::OptionFlags& options = {});
void dynamicUpdate(poplar::Graph& graph, const poplar::Tensor& t, const poplar::Tensor& s, const poplar::Tensor& offset,
                   const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes,
                   poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                   const poplar::OptionFlags& options = {});
poplar::Tensor multiSlice(poplar::Graph& graph, const poplar::Tensor& t, const poplar::Tensor& offsets,
                          const std::vector<std::size_t>& dims, const std::vector<std::size_t>& sizes,
                          poplar::program::Sequence& prog, const SlicePlan& plan, const poplar::OptionFlags& options,
                          const poplar::DebugContext& debugContext = {});
/// t[offset] += scale s; `scale` is a scalar of t's type, or FLOAT. Rows are summed in float and rounded once.
void multiUpdateAdd(poplar::Graph& graph, const poplar::Tensor& t, const poplar::Tensor& s,
                    const poplar::Tensor& offsets, const poplar::Tensor& scale, const std::vector<std::size_t>& dims,
                    const std::vector<std::size_t>& sizes, poplar::program::Sequence& prog, const SlicePlan& plan,
                    const poplar::OptionFlags& options, const poplar::DebugContext& debugContext = {});

}  // namespace popops
