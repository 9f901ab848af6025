// Data that graphs, tensors and programs refer to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <poplar/DataStream.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplar/Tensor.hpp>

#include "ipu_emulator/model/access.h"
#include "ipu_emulator/model/view.h"

namespace ipu_emulator {

struct GraphData;

std::size_t type_size(poplar::Type type);
std::size_t element_count(poplar::ArrayRef<std::size_t> shape);

struct TensorData {
    GraphData* graph = nullptr;
    poplar::Type type = poplar::FLOAT;
    View view;
};

/// Elements [begin, end) of a variable or tensor lie on `tile` of the top-level graph.
struct TileSpan {
    std::size_t begin = 0;
    std::size_t end = 0;
    unsigned tile = 0;
};

enum class Content { variable, constant, replica_index };

struct Variable {
    std::string name;
    poplar::Type type = poplar::FLOAT;
    std::size_t elements = 0;
    Content content = Content::variable;
    std::vector<std::byte> values;       // of a constant, or initial ones; empty: none
    std::vector<bool> initialised;       // which elements have initial values; empty: none
    std::vector<TileSpan> mapping = {};  // in order, disjoint
};

struct Stream {
    poplar::DataStream stream;
    bool to_device = false;
    unsigned buffering_depth = 1;
};

struct GraphData {
    unsigned replicas = 1;
    unsigned tiles = 0;  // of one replica
    unsigned tiles_per_ipu = 0;
    poplar::Target target;  // of all replicas
    std::vector<Variable> variables;
    std::vector<Stream> streams;
    std::vector<poplar::RemoteBuffer> remote_buffers;
    std::vector<poplar::Program> functions;
    std::map<std::string, poplar::Tensor> host_writes;
    std::map<std::string, poplar::Tensor> host_reads;

    explicit GraphData(poplar::Target t) : target(t) {}

    std::uint32_t add(Variable variable);
    /// The tiles of a tensor's elements, in the order of the elements. Elements on no tile are left out.
    std::vector<TileSpan> spans(const View& view) const;
    void map(const View& view, const std::vector<TileSpan>& spans);
};

poplar::Tensor make_tensor(GraphData& graph, poplar::Type type, View view);
inline const View& view_of(const poplar::Tensor& t) {
    return Access::data(t).view;
}

/// "[2,3,4]".
std::string shape_text(poplar::ArrayRef<std::size_t> shape);

/// Throws graph_connection_error unless a program may write to t: no constants, no element twice.
void check_writeable(const poplar::Tensor& t, const std::string& what);

}  // namespace ipu_emulator
