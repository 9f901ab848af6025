#include <poputil/Broadcast.hpp>
#include <poputil/TileMapping.hpp>

#include "ipu_emulator/lowering/support.h"

namespace poputil {

using namespace ipu_emulator;
using poplar::Tensor;

namespace {

unsigned tiles_of(const poplar::Graph& graph) {
    return static_cast<unsigned>(Access::tiles(graph).size());
}

}  // namespace

std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(
    const poplar::Graph& graph,
    // NOLINTNEXTLINE(performance-unnecessary-value-param): Poplar's signature
    std::vector<std::size_t> shape, unsigned minElementsPerTile, unsigned grainSize, unsigned offset,
    bool ascendingOrder) {
    return linear_mapping(tiles_of(graph), element_count(shape), minElementsPerTile, grainSize, offset, ascendingOrder);
}

std::vector<std::vector<poplar::Interval>> calcLinearTileMapping(const poplar::Graph& graph, const Tensor& t,
                                                                 unsigned offset, bool ascendingOrder) {
    return linear_mapping(tiles_of(graph), t.numElements(), t.elementType(), offset, ascendingOrder);
}

void mapTensorLinearly(poplar::Graph& graph, const Tensor& t, unsigned minElementsPerTile, unsigned grainSize) {
    mapTensorLinearlyWithOffset(graph, t, minElementsPerTile, grainSize, 0);
}

void mapTensorLinearly(poplar::Graph& graph, const Tensor& t) {
    map_linearly(graph, t);
}

void mapTensorLinearlyWithOffset(poplar::Graph& graph, const Tensor& t, unsigned minElementsPerTile, unsigned grainSize,
                                 unsigned offset, bool ascendingOrder) {
    graph.setTileMapping(
        t, calcLinearTileMapping(graph, t.shape(), minElementsPerTile, grainSize, offset, ascendingOrder));
}

void mapTensorLinearlyWithOffset(poplar::Graph& graph, const Tensor& t, unsigned offset, bool ascendingOrder) {
    graph.setTileMapping(t, calcLinearTileMapping(graph, t, offset, ascendingOrder));
}

Tensor cloneToIpu(poplar::Graph& graph, const Tensor& t, unsigned dstIPU, const poplar::DebugContext& debugContext,
                  poplar::TensorCloneMethod) {
    const unsigned per_ipu = graph.getTarget().getTilesPerIPU();
    require(dstIPU < graph.getTarget().getNumIPUs(), "poputil::cloneToIpu",
            "there is no IPU " + std::to_string(dstIPU) + " among " + std::to_string(graph.getTarget().getNumIPUs()));
    const auto mapping = graph.getTileMapping(t);
    poplar::Graph::TileToTensorMapping moved(std::size_t{per_ipu} * (dstIPU + 1));
    unsigned source = ~0u;
    for (unsigned tile = 0; tile < mapping.size(); ++tile) {
        if (mapping[tile].empty()) continue;
        require(source == ~0u || source == tile / per_ipu, "poputil::cloneToIpu", "the tensor is on several IPUs");
        source = tile / per_ipu;
        moved[std::size_t{dstIPU} * per_ipu + tile % per_ipu] = mapping[tile];
    }
    Tensor result = like(graph, t.elementType(), t, op_name(debugContext, "cloneToIpu"));
    graph.setTileMapping(result, moved);
    return result;
}

Tensor createIpuCopy(poplar::Graph& graph, const Tensor& t, unsigned dstIpu, Tensor& copySrc, Tensor& copyDst,
                     const poplar::DebugContext& debugContext, poplar::TensorCloneMethod method) {
    copySrc = t;
    copyDst = cloneToIpu(graph, t, dstIpu, debugContext, method);
    return copyDst;
}

Tensor copyToIpu(poplar::Graph& graph, const Tensor& t, poplar::program::Sequence& prog, unsigned dstIPU,
                 const poplar::DebugContext& debugContext, poplar::TensorCloneMethod method) {
    Tensor result = cloneToIpu(graph, t, dstIPU, debugContext, method);
    prog.add(poplar::program::Copy(t, result, false, debugContext));
    return result;
}

Tensor createBroadcastOperand(poplar::Graph& graph, const Tensor& fullTensor, const poplar::Type& type, unsigned dim,
                              bool, const poplar::DebugContext& debugContext) {
    return new_tensor(graph, type, {fullTensor.dim(dim)}, op_name(debugContext, "broadcastOperand"));
}

}  // namespace poputil
