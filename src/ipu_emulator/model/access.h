// Access to the emulator's data in objects of the public headers. Programs cannot name these members.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Tensor.hpp>
#include <poplar/Type.hpp>

namespace ipu_emulator {

struct Access {
    static const std::shared_ptr<GraphData>& shared(const poplar::Graph& graph) { return graph.data_; }
    static GraphData& data(const poplar::Graph& graph) { return *graph.data_; }
    /// The graph's tiles in the top-level graph.
    static const std::vector<unsigned>& tiles(const poplar::Graph& graph) { return graph.tiles_; }
    /// Throws tensor_creation_error for a tensor that was never assigned.
    static const TensorData& data(const poplar::Tensor& t);
    static poplar::Tensor tensor(std::shared_ptr<const TensorData> data) { return poplar::Tensor(std::move(data)); }
    static TypeId id(poplar::Type type) { return type.id_; }

    /// The node of a Program or a formula.
    template <class Object> static const auto& node(const Object& object) { return object.node_; }
    /// The number of a Function, DataStream or RemoteBuffer in its graph, and the graph.
    template <class Object> static std::size_t index(const Object& object) { return object.index_; }
    template <class Object> static const GraphData* graph(const Object& object) { return object.graph_; }
    /// The keys of a PlanningCache.
    template <class Cache> static auto& keys(Cache& cache) { return *cache.keys_; }
};

}  // namespace ipu_emulator
