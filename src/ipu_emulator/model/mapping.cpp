#include "ipu_emulator/model/mapping.h"

#include <algorithm>

#include "ipu_emulator/model/graph_data.h"

namespace ipu_emulator {
namespace {

constexpr std::size_t kLeastBytes = 128;
constexpr std::size_t kGrainBytes = 8;

}  // namespace

poplar::Graph::TileToTensorMapping linear_mapping(unsigned tiles, std::size_t count, std::size_t minimum,
                                                  std::size_t grain, unsigned offset, bool ascending) {
    poplar::Graph::TileToTensorMapping mapping(tiles);
    const std::size_t step = std::max<std::size_t>(grain, 1);
    const std::size_t grains = (count + step - 1) / step;
    const std::size_t least = std::max<std::size_t>((minimum + step - 1) / step, 1);
    const std::size_t per_tile = std::max((grains + tiles - 1) / tiles, least);
    for (std::size_t i = 0; i * per_tile < grains; ++i) {
        const std::size_t begin = i * per_tile * step;
        const std::size_t end = std::min(begin + per_tile * step, count);
        const std::size_t position = (i + offset) % tiles;
        mapping[ascending ? position : tiles - 1 - position].emplace_back(begin, end);
    }
    return mapping;
}

poplar::Graph::TileToTensorMapping linear_mapping(unsigned tiles, std::size_t count, poplar::Type type, unsigned offset,
                                                  bool ascending) {
    const std::size_t size = type_size(type);
    return linear_mapping(tiles, count, kLeastBytes / size, kGrainBytes / size, offset, ascending);
}

void map_linearly(poplar::Graph& graph, const poplar::Tensor& t) {
    const auto tiles = static_cast<unsigned>(Access::tiles(graph).size());
    graph.setTileMapping(t, linear_mapping(tiles, t.numElements(), t.elementType()));
}

poplar::Tensor new_tensor(poplar::Graph& graph, poplar::Type type, poplar::ArrayRef<std::size_t> shape,
                          const std::string& name) {
    return graph.addVariable(type, shape, poplar::VariableMappingMethod::LINEAR, name);
}

poplar::Tensor like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t, const std::string& name) {
    Variable variable;
    variable.name = name;
    variable.type = type;
    variable.elements = t.numElements();
    GraphData& data = Access::data(graph);
    const std::uint32_t id = data.add(std::move(variable));
    return make_tensor(data, type, view_of(t).dense(id));
}

poplar::Tensor new_tensor_like(poplar::Graph& graph, poplar::Type type, const poplar::Tensor& t,
                               const std::string& name) {
    poplar::Tensor result = like(graph, type, t, name);
    GraphData& data = Access::data(graph);
    const std::vector<TileSpan> spans = data.spans(view_of(t));
    std::size_t mapped = 0;
    bool here = true;
    for (const TileSpan& span : spans) {
        mapped += span.end - span.begin;
        here = here && std::ranges::find(Access::tiles(graph), span.tile) != Access::tiles(graph).end();
    }
    const bool spread = spans.size() > 1 || !t.containsAliases();  // a broadcast scalar would all be on one tile
    if (mapped == t.numElements() && here && spread) {
        data.map(view_of(result), spans);
    } else {
        map_linearly(graph, result);
    }
    return result;
}

}  // namespace ipu_emulator
