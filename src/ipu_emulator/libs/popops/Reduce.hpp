#pragma once

#include <cstddef>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popops/Operation.hpp>

namespace popops {

/// `update` adds the result to what the output holds; `scale`, a scalar FLOAT, multiplies the result before.
struct ReduceParams {
    ReduceParams() = default;
    ReduceParams(Operation op_, bool update_ = false) : op(op_), update(update_) {}
    ReduceParams(Operation op_, bool update_, const poplar::Tensor& scale_)
        : op(op_), update(update_), useScale(true), scale(scale_) {}
    ReduceParams(Operation, bool, float) = delete;

    Operation op = Operation::ADD;
    bool update = false;
    bool useScale = false;
    poplar::Tensor scale;
};

/// Combines the elements along `dims`; the result has the other dimensions. Sums are float, whatever the type.
poplar::Tensor reduce(poplar::Graph& graph, const poplar::Tensor& in, const poplar::Type& outType,
                      const std::vector<std::size_t>& dims, ReduceParams params, poplar::program::Sequence& prog,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
poplar::Tensor reduce(poplar::Graph& graph, const poplar::Tensor& in, const std::vector<std::size_t>& dims,
                      ReduceParams params, poplar::program::Sequence& prog,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
void reduceWithOutput(poplar::Graph& graph, const poplar::Tensor& in, const poplar::Tensor& out,
                      const std::vector<std::size_t>& dims, ReduceParams params, poplar::program::Sequence& prog,
                      const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});

}  // namespace popops
