#include <poplar/Graph.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <numeric>

#include <poplar/Program.hpp>
#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/graph_data.h"
#include "ipu_emulator/model/options.h"
#include "ipu_emulator/model/program_node.h"
#include "ipu_emulator/model/regions.h"
#include "ipu_emulator/model/view.h"

namespace ipu_emulator {

std::uint32_t GraphData::add(Variable variable) {
    variables.push_back(std::move(variable));
    return static_cast<std::uint32_t>(variables.size() - 1);
}

std::vector<TileSpan> GraphData::spans(const View& view) const {
    std::vector<TileSpan> result;
    const auto append = [&](std::size_t begin, std::size_t end, unsigned tile) {
        if (!result.empty() && result.back().tile == tile && result.back().end == begin) {
            result.back().end = end;
        } else {
            result.push_back({begin, end, tile});
        }
    };
    const auto span_of = [](const std::vector<TileSpan>& mapping, std::size_t element) {
        return std::upper_bound(mapping.begin(), mapping.end(), element,
                                [](std::size_t e, const TileSpan& span) { return e < span.end; });
    };
    std::size_t flat = 0;
    for (const Run& run : view.runs()) {
        const std::vector<TileSpan>& mapping = variables[run.variable].mapping;
        for (std::size_t i = 0; i < run.count;) {
            const std::size_t element = run.at(i);
            const auto span = span_of(mapping, element);
            const bool mapped = span != mapping.end() && span->begin <= element;
            // The range around the element that is on one tile, or on none.
            const std::size_t low = mapped ? span->begin : span == mapping.begin() ? 0 : std::prev(span)->end;
            const std::size_t high = mapped                  ? span->end
                                     : span == mapping.end() ? variables[run.variable].elements
                                                             : span->begin;
            std::size_t count = run.count - i;
            const auto step = static_cast<std::size_t>(std::abs(run.stride));
            if (run.stride > 0) count = std::min(count, (high - element + step - 1) / step);
            if (run.stride < 0) count = std::min(count, (element - low) / step + 1);
            if (mapped) append(flat, flat + count, span->tile);
            i += count;
            flat += count;
        }
    }
    return result;
}

namespace {

struct Piece {
    std::uint32_t variable;
    TileSpan span;
};

/// Spans of a view's flat elements as spans of variables, in order.
std::vector<Piece> variable_pieces(const View& view, const std::vector<TileSpan>& spans) {
    std::vector<Piece> pieces;
    std::size_t flat = 0;
    auto span = spans.begin();
    for (const Run& run : view.runs()) {
        for (std::size_t i = 0; i < run.count;) {
            while (span != spans.end() && span->end <= flat)
                ++span;
            const bool mapped = span != spans.end() && span->begin <= flat;
            std::size_t count = run.count - i;
            if (span != spans.end()) count = std::min(count, (mapped ? span->end : span->begin) - flat);
            if (mapped && (run.stride == 1 || run.stride == -1)) {
                const std::size_t low = std::min(run.at(i), run.at(i + count - 1));
                pieces.push_back({run.variable, {low, low + count, span->tile}});
            } else if (mapped) {
                for (std::size_t n = i; n < i + count; ++n)
                    pieces.push_back({run.variable, {run.at(n), run.at(n) + 1, span->tile}});
            }
            i += count;
            flat += count;
        }
    }
    std::ranges::stable_sort(pieces, [](const Piece& x, const Piece& y) {
        return std::pair(x.variable, x.span.begin) < std::pair(y.variable, y.span.begin);
    });
    return pieces;
}

/// Appends a span that begins after the others. Throws invalid_tile_mapping if it overlaps the last one elsewhere.
void append_span(std::vector<TileSpan>& spans, const TileSpan& next, const std::string& name) {
    if (spans.empty() || next.begin > spans.back().end ||
        (next.begin == spans.back().end && next.tile != spans.back().tile)) {
        spans.push_back(next);
        return;
    }
    if (next.tile != spans.back().tile) {
        throw poplar::invalid_tile_mapping("Graph::setTileMapping: an element of \"" + name + "\" is on the tiles " +
                                           std::to_string(spans.back().tile) + " and " + std::to_string(next.tile));
    }
    spans.back().end = std::max(spans.back().end, next.end);
}

/// `fresh`, and the parts of `old` that lie outside of it.
std::vector<TileSpan> replaced(const std::vector<TileSpan>& old, const std::vector<TileSpan>& fresh) {
    std::vector<TileSpan> all = fresh;
    auto cover = fresh.begin();
    for (TileSpan rest : old) {
        while (cover != fresh.end() && cover->end <= rest.begin)
            ++cover;
        for (auto it = cover; it != fresh.end() && it->begin < rest.end && rest.begin < rest.end; ++it) {
            if (it->begin > rest.begin) all.push_back({rest.begin, it->begin, rest.tile});
            rest.begin = std::max(rest.begin, it->end);
        }
        if (rest.begin < rest.end) all.push_back(rest);
    }
    std::ranges::sort(all, {}, &TileSpan::begin);
    return all;
}

}  // namespace

void GraphData::map(const View& view, const std::vector<TileSpan>& spans) {
    const std::vector<Piece> pieces = variable_pieces(view, spans);
    for (auto piece = pieces.begin(); piece != pieces.end();) {
        const std::uint32_t id = piece->variable;
        std::vector<TileSpan> fresh;
        for (; piece != pieces.end() && piece->variable == id; ++piece)
            append_span(fresh, piece->span, variables[id].name);
        variables[id].mapping = replaced(variables[id].mapping, fresh);
    }
}

}  // namespace ipu_emulator

namespace poplar {

using namespace ipu_emulator;

namespace {

std::shared_ptr<GraphData> new_data(const Target& target, unsigned replicas) {
    if (replicas == 0 || target.getNumIPUs() % replicas != 0) {
        throw graph_replication_error("Graph: " + std::to_string(target.getNumIPUs()) +
                                      " IPUs cannot be divided among " + std::to_string(replicas) + " replicas");
    }
    auto data = std::make_shared<GraphData>(target);
    data->replicas = replicas;
    data->tiles = target.getNumTiles() / replicas;
    data->tiles_per_ipu = target.getTilesPerIPU();
    return data;
}

std::vector<unsigned> all_tiles(unsigned count) {
    std::vector<unsigned> tiles(count);
    std::iota(tiles.begin(), tiles.end(), 0u);
    return tiles;
}

Tensor new_variable(GraphData& graph, Type type, ArrayRef<std::size_t> shape, const std::string& name,
                    Content content = Content::variable) {
    Variable variable;
    variable.name = name;
    variable.type = type;
    variable.elements = element_count(shape);
    variable.content = content;
    const std::uint32_t id = graph.add(std::move(variable));
    return make_tensor(graph, type, View(id, {shape.data(), shape.size()}));
}

}  // namespace

Graph::Graph(const Target& target, replication_factor replicationFactor)
    : data_(new_data(target, replicationFactor)),
      target_(target.getTargetType(), target.getNumIPUs() / replicationFactor, target.getTilesPerIPU()),
      tiles_(all_tiles(data_->tiles)) {}

Graph::Graph(const Device& device, replication_factor replicationFactor)
    : Graph(device.getTarget(), replicationFactor) {}

Graph::Graph(std::shared_ptr<GraphData> data, std::vector<unsigned> tiles)
    : data_(std::move(data)), target_(data_->target), tiles_(std::move(tiles)) {
    const auto count = static_cast<unsigned>(tiles_.size());
    const unsigned per_ipu = data_->tiles_per_ipu;
    const bool whole_ipus = count % per_ipu == 0;
    target_ = Target(data_->target.getTargetType(), whole_ipus ? count / per_ipu : 1, whole_ipus ? per_ipu : count);
}

unsigned Graph::getReplicationFactor() const {
    return data_->replicas;
}

Graph Graph::createVirtualGraph(unsigned lowerTile, unsigned upperTile) {
    if (lowerTile >= upperTile || upperTile > tiles_.size()) {
        throw invalid_tile_mapping("Graph::createVirtualGraph: there are no tiles " + std::to_string(lowerTile) +
                                   " to " + std::to_string(upperTile) + " in a graph of " +
                                   std::to_string(tiles_.size()));
    }
    return Graph(data_, std::vector<unsigned>(tiles_.begin() + lowerTile, tiles_.begin() + upperTile));
}

Tensor Graph::addVariable(const Type& type, ArrayRef<std::size_t> shape, const DebugContext& debugContext) {
    return new_variable(*data_, type, shape, debugContext.getPathName());
}

Tensor Graph::addConstantBytes(Type type, ArrayRef<std::size_t> shape, Type given, const void* values,
                               std::size_t count, const DebugContext& debugContext) {
    Tensor t = new_variable(*data_, type, shape, debugContext.getPathName(), Content::constant);
    const std::size_t elements = t.numElements();
    if (count != elements && count != 1) {
        throw tensor_creation_error("Graph::addConstant: " + std::to_string(count) + " values for a tensor " +
                                    t.shapeToString());
    }
    data_->variables.back().values = converted(given, values, count, type, elements);
    return t;
}

Tensor Graph::addReplicationIndexConstant(const DebugContext& debugContext) {
    return new_variable(*data_, UNSIGNED_INT, {}, debugContext.getPathName(), Content::replica_index);
}

Tensor Graph::clone(const Type& type, const Tensor& t, const DebugContext& debugContext) {
    Tensor result = like(*this, type, t, debugContext.getPathName());
    data_->map(view_of(result), data_->spans(view_of(t)));
    return result;
}

Tensor Graph::clone(const Tensor& t, const DebugContext& debugContext) {
    return clone(t.elementType(), t, debugContext);
}

void Graph::setTileMapping(const Tensor& t, unsigned tile) {
    TileToTensorMapping mapping(tile + 1);
    mapping[tile].emplace_back(0, t.numElements());
    setTileMapping(t, mapping);
}

void Graph::setTileMapping(const Tensor& t, const TileToTensorMapping& mapping) {
    std::vector<TileSpan> spans;
    for (std::size_t tile = 0; tile < mapping.size(); ++tile) {
        for (const Interval& interval : mapping[tile]) {
            if (interval.size() == 0) continue;
            if (tile >= tiles_.size() || interval.end() > t.numElements()) {
                throw invalid_tile_mapping("Graph::setTileMapping: elements to " + std::to_string(interval.end()) +
                                           " on tile " + std::to_string(tile) + "; the tensor " + t.shapeToString() +
                                           " and the graph of " + std::to_string(tiles_.size()) +
                                           " tiles do not have them");
            }
            spans.push_back({interval.begin(), interval.end(), tiles_[tile]});
        }
    }
    std::ranges::sort(spans, {}, &TileSpan::begin);
    for (std::size_t i = 1; i < spans.size(); ++i) {
        if (spans[i].begin < spans[i - 1].end) {
            throw invalid_tile_mapping("Graph::setTileMapping: element " + std::to_string(spans[i].begin) +
                                       " is on the tiles " + std::to_string(spans[i - 1].tile) + " and " +
                                       std::to_string(spans[i].tile));
        }
    }
    data_->map(view_of(t), spans);
}

Graph::TileToTensorMapping Graph::getTileMapping(const Tensor& t, bool requireComplete, bool allowExternal) const {
    TileToTensorMapping mapping(tiles_.size());
    std::size_t mapped = 0;
    for (const TileSpan& span : data_->spans(view_of(t))) {
        mapped += span.end - span.begin;
        const auto tile = std::ranges::find(tiles_, span.tile);
        if (tile != tiles_.end()) {
            mapping[static_cast<std::size_t>(tile - tiles_.begin())].emplace_back(span.begin, span.end);
        } else if (!allowExternal) {
            throw invalid_tile_mapping("Graph::getTileMapping: tile " + std::to_string(span.tile) +
                                       " is outside of this virtual graph");
        }
    }
    if (requireComplete && mapped != t.numElements()) {
        throw invalid_tile_mapping("Graph::getTileMapping: " + std::to_string(t.numElements() - mapped) +
                                   " elements of a tensor " + t.shapeToString() + " are on no tile");
    }
    return mapping;
}

void Graph::setInitialBytes(const Tensor& t, Type given, const void* values, std::size_t count) {
    if (count != t.numElements() && count != 1) {
        throw tensor_creation_error("Graph::setInitialValue: " + std::to_string(count) + " values for a tensor " +
                                    t.shapeToString());
    }
    check_writeable(t, "Graph::setInitialValue");
    const std::vector<std::byte> bytes = converted(given, values, count, t.elementType(), t.numElements());
    const std::size_t size = type_size(t.elementType());
    std::size_t flat = 0;
    for (const Run& run : view_of(t).runs()) {
        Variable& variable = data_->variables[run.variable];
        variable.values.resize(variable.elements * size);
        variable.initialised.resize(variable.elements);
        for (std::size_t i = 0; i < run.count; ++i, ++flat) {
            std::memcpy(&variable.values[run.at(i) * size], &bytes[flat * size], size);
            variable.initialised[run.at(i)] = true;
        }
    }
}

namespace {

void check_new_tensor(const std::map<std::string, Tensor>& known, const std::string& handle) {
    if (known.contains(handle))
        throw graph_object_creation_error("Graph: the handle \"" + handle + "\" names another tensor already");
}

}  // namespace

void Graph::createHostWrite(StringRef handle, const Tensor& t, bool) {
    check_writeable(t, "Graph::createHostWrite(" + handle.cloneAsString() + ")");
    check_new_tensor(data_->host_writes, handle.cloneAsString());
    data_->host_writes[handle.cloneAsString()] = t;
}

void Graph::createHostRead(StringRef handle, const Tensor& t, bool) {
    check_new_tensor(data_->host_reads, handle.cloneAsString());
    data_->host_reads[handle.cloneAsString()] = t;
}

namespace {

void check_new_handle(const GraphData& graph, const std::string& handle) {
    const bool stream = std::ranges::any_of(graph.streams, [&](const auto& s) { return s.stream.handle() == handle; });
    const bool buffer = std::ranges::any_of(graph.remote_buffers, [&](const auto& b) { return b.handle() == handle; });
    if (stream || buffer)
        throw graph_object_creation_error("Graph: there is a stream or remote buffer \"" + handle + "\" already");
}

}  // namespace

DataStream Graph::addHostToDeviceFIFO(StringRef handle, const Type& elementType, std::size_t numElements,
                                      ReplicatedStreamMode mode, const OptionFlags& options) {
    check_options("Graph::addHostToDeviceFIFO", options, {"bufferingDepth"});
    const double depth = number_option(options, "bufferingDepth", 1);
    if (depth < 1) throw invalid_option("Graph::addHostToDeviceFIFO: bufferingDepth expects 1 or more");
    check_new_handle(*data_, handle.cloneAsString());
    DataStream stream(data_.get(), data_->streams.size(), handle.cloneAsString(), elementType, numElements,
                      data_->replicas, mode);
    data_->streams.push_back({stream, true, static_cast<unsigned>(depth)});
    return stream;
}

DataStream Graph::addDeviceToHostFIFO(StringRef handle, const Type& elementType, std::size_t numElements,
                                      const OptionFlags& options) {
    check_options("Graph::addDeviceToHostFIFO", options, {"bufferingDepth"});
    check_new_handle(*data_, handle.cloneAsString());
    DataStream stream(data_.get(), data_->streams.size(), handle.cloneAsString(), elementType, numElements,
                      data_->replicas, ReplicatedStreamMode::REPLICATE);
    data_->streams.push_back({stream, false, 1});
    return stream;
}

RemoteBuffer Graph::addRemoteBuffer(StringRef handle, const Type& elementType, std::size_t numElements,
                                    std::size_t repeats, bool, bool) {
    check_new_handle(*data_, handle.cloneAsString());
    RemoteBuffer buffer(data_.get(), data_->remote_buffers.size(), handle.cloneAsString(), elementType, numElements,
                        repeats);
    data_->remote_buffers.push_back(buffer);
    return buffer;
}

Function Graph::addFunction(const Program& program) {
    data_->functions.push_back(used(program));
    return Function(data_->functions.size() - 1, data_.get());
}

}  // namespace poplar
